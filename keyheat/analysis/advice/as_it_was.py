"""The table of an incident as a scenario, and the assumptions for replaying its demand."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from keyheat.analysis.heat import RunHeat, heats_of, index_heats_of
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.evidence.settings import partition_ceiling
from keyheat.numbers import percent, some
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Diagnosis, Evidence, HotKey, IndexFacts, Label, TableFacts
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.words import READ, WRITE, Capacity, Direction, Resource, index_of


def as_it_was(table: TableFacts, arranged: EvidenceTimeline, second: float) -> TableFacts:
    """Return the table with the mode and the capacity that CloudWatch published for a time."""
    capacity = _capacity_at(arranged, None, second, table.provisioned)
    indexes = tuple(
        index.model_copy(
            update={"provisioned": _capacity_at(arranged, index.name, second, index.provisioned)}
        )
        for index in table.indexes
    )
    mode = table.billing_mode or ("PROVISIONED" if capacity else None)
    return table.model_copy(update={"billing_mode": mode, "provisioned": capacity, "indexes": indexes})


def _capacity_at(
    arranged: EvidenceTimeline, index: str | None, second: float, otherwise: Capacity | None
) -> Capacity | None:
    tracks = {side: arranged.track(index, side) for side in (READ, WRITE)}
    units = {side: track.provisioned.at(second) if track else None for side, track in tracks.items()}
    if all(value is None for value in units.values()):
        return otherwise
    read, write = (None if value is None else value / arranged.scale for value in units.values())
    return Capacity(read=read, write=write)


def heats_known(
    evidence: Evidence, client: ClientFiles | None, diagnosis: Diagnosis, direction: Direction
) -> tuple[RunHeat, ...]:
    """Return the hot keys of evidence, else of its diagnosis; `direction` is for keys without one."""
    heats = (*heats_of(evidence, client), *index_heats_of(evidence, client))
    if any(heat.hottest for heat in heats):
        return heats
    by_side: defaultdict[Resource, list[HotKey]] = defaultdict(list)
    for key in (*diagnosis.hot_keys, *diagnosis.hot_index_keys):
        by_side[Resource(key.index, key.direction or direction)].append(key)
    return tuple(RunHeat(of.direction, tuple(keys), (), of.index) for of, keys in by_side.items())


def assumed_share(arranged: EvidenceTimeline, label: Label) -> float | None:
    """Return the key share that would throttle a partition as in a label; None for another limit."""
    track = arranged.track(index_of(label.resource), label.direction)
    if track is None or label.constraint != "partition":
        return None
    cells = range(track.cell_of(label.start.timestamp()), int(label.end.timestamp()), track.step_s)
    worst = max(cells, key=track.refused)
    used, refused = track.consumed_per_s(worst), track.refused_units(worst) / track.step_s
    if used is None or not used + refused:
        return None
    return min(1.0, (partition_ceiling(label.direction, arranged.scale) + refused) / (used + refused))


def assumptions(
    arranged: EvidenceTimeline, heats: Sequence[RunHeat], label: Label, first_s: int, seconds: int
) -> Iterator[str]:
    """State the assumptions for replaying the demand in the evidence, in sentences."""
    first, end = (datetime.fromtimestamp(at, UTC) for at in (first_s, first_s + seconds))
    track = arranged.track(None, label.direction)
    even = "" if track and track.seconds else f", each {track.cell_name if track else 'minute'}'s evenly"
    yield f"Assumed: the demand of {first:%F %R} to {end:%R} UTC{even}; each throttled request was sent once."
    side = label.direction, index_of(label.resource)
    hot = [
        key for heat in heats if (heat.direction, heat.index) == side for key in heat.hottest if key.share > 0
    ]
    share = percent(sum(key.share for key in hot))
    rest = "keys are used evenly"
    if hot:
        rest = f"beside {some(len(hot), 'key')} named, with {share} of the requests, {rest}"
    yield f"Assumed: {rest}. Capacity stays as it was at {label.start:%R} UTC."
    if track is not None and track.units_per_request is None and not track.seconds:
        yield "Assumed: a request takes one unit, since the evidence does not count requests."


def scenario_of_table(table: TableFacts, seconds: int, *, scale: float = 1.0) -> Scenario | None:
    """Turn a described table into a scenario; None if its capacity is unknown."""
    if table.billing_mode is None:
        return None
    capacities = [table.provisioned, *(index.provisioned for index in table.indexes)]
    if table.billing_mode == "PROVISIONED" and None in capacities:
        return None
    raw = {
        "format": "keyheat.scenario/1",
        "name": "evidence",
        "question": "What if the demand that was seen met this table?",
        "loadtest": "evidence",
        "table": {"name": table.name, "billing_mode": table.billing_mode, **_capacities(table)},
        "keys": {"kind": "uniform"},
        "load": {"duration_s": seconds},
        "local": {"scale": scale},
    }
    raw["table"]["indexes"] = [  # type: ignore[index]
        {"name": index.name, "partition_key": f"of_{number}", **_capacities(index)}
        for number, index in enumerate(table.indexes)
    ]
    try:
        return scenario_from_dict(raw, "evidence")
    except ScenarioError:
        return None


def _capacities(facts: TableFacts | IndexFacts) -> dict[str, Any]:
    pairs = {"provisioned": facts.provisioned, "max_on_demand": facts.max_on_demand, "warm": facts.warm}
    return {name: _whole(pair) for name, pair in pairs.items() if pair is not None}


def _whole(pair: Capacity) -> dict[str, int]:
    """Round units to whole ones, at least one."""
    sides = {"read": pair.read, "write": pair.write}
    return {side: max(1, round(rate)) for side, rate in sides.items() if rate is not None}
