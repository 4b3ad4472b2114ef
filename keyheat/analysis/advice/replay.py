"""Evidence as a demand that the simulator can replay: requests, the table as it was, and what is assumed."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any, Final

from keyheat.analysis.advice.demand import one_key_per_s
from keyheat.analysis.heat import RunHeat, heats_of, hot_keys_of, index_heats_of
from keyheat.analysis.rules import NOT_GROWN
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.analysis.verdict import going_on, groups
from keyheat.intake.tables import NotTaken, source_of_facts
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.partitions import provisioned_partitions, warm_partitions
from keyheat.model.resources import ON_DEMAND_START, highest
from keyheat.numbers import percent, some
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, RUN
from keyheat.runs.client import ClientFiles, read_client_files
from keyheat.runs.formats import Diagnosis, Evidence, HotKey, Label, read_diagnosis
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.table_facts import IndexFacts, TableFacts
from keyheat.scenario.scenario import RECORDED, Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.spec.part import name_from
from keyheat.simulator.flow import Flow, IndexFlow, Recorded
from keyheat.simulator.masses import Masses, even_masses, masses_of_shares
from keyheat.words import READ, WRITE, Capacity, Direction, Resource, index_of

NEVER_S: Final = 1e9  # longer than any replay
NOT_NAMED: Final = "(one key, not named)"
OPERATIONS: Final[dict[Direction, str]] = {READ: "Query", WRITE: "PutItem"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A diagnosed incident of a table that others load, as it is replayed."""

    evidence: Evidence
    diagnosis: Diagnosis
    client: ClientFiles | None
    arranged: EvidenceTimeline
    labels: tuple[Label, ...]  # of what is still to be cured
    heaviest: Label | None  # of those; None: nothing throttled
    direction: Direction  # that throttled the most; writes where nothing did
    heats: tuple[RunHeat, ...]

    def hot_keys(self, least: float) -> tuple[HotKey, ...]:
        """The keys of the table and its indexes with at least a share of that direction's requests."""
        return hot_keys_of((heat for heat in self.heats if heat.direction == self.direction), least)


def read_incident(folder: Path) -> Incident:
    """Read a folder of `keyheat diagnose`. Raises `FileProblem`."""
    diagnosis = read_diagnosis(folder / FILES[DIAGNOSIS])
    evidence = read_evidence(folder / FILES[EVIDENCE])
    return incident_of(
        evidence, diagnosis, read_client_files(folder) if (folder / FILES[RUN]).exists() else None
    )


def incident_of(evidence: Evidence, diagnosis: Diagnosis, client: ClientFiles | None = None) -> Incident:
    """A diagnosed incident of evidence, and of the client's files if there are any."""
    arranged = timeline(evidence)
    by_limit = going_on(groups(diagnosis.labels), arranged)
    heaviest = by_limit[0].heaviest if by_limit else None
    direction = heaviest.direction if heaviest else WRITE
    heats = (*heats_of(evidence, client), *index_heats_of(evidence, client))
    if not any(heat.hottest for heat in heats):  # what the diagnosis names is known all the same
        by_side: defaultdict[Resource, list[HotKey]] = defaultdict(list)
        for key in (*diagnosis.hot_keys, *diagnosis.hot_index_keys):
            by_side[Resource(key.index, key.direction or direction)].append(key)
        heats = tuple(RunHeat(of.direction, tuple(keys), (), of.index) for of, keys in by_side.items())
    return Incident(
        evidence=evidence, diagnosis=diagnosis, client=client, arranged=arranged, heaviest=heaviest,
        labels=tuple(label for group in by_limit for label in group.labels),
        direction=direction, heats=heats,
    )  # fmt: skip


def demanded(arranged: EvidenceTimeline, heats: Sequence[RunHeat], first_s: int, seconds: int) -> Recorded:
    """Return the demand on the table and its indexes in `seconds` from `first_s` on."""
    kinds = [
        (track, _keys(heats, track.direction, track.index), _entries(arranged, track, heats))
        for track in arranged.tracks
        if track.index is None or track.direction == "read"
    ]

    def flow(track: EvidenceTrack, keys: Masses, entries: Sequence[IndexFlow], second: int) -> Flow | None:
        requests, units = _asked_units(arranged, track, second)
        if not requests:
            return None
        writes = tuple(replace(entry, units=entry.units * units) for entry in entries)
        return Flow(
            operation=OPERATIONS[track.direction], direction=track.direction, requests=requests,
            units=units, keys=keys, index=track.index, index_writes=writes,
        )  # fmt: skip

    return Recorded(
        tuple(
            tuple(sent for kind in kinds if (sent := flow(*kind, second)) is not None)
            for second in range(first_s, first_s + seconds)
        )
    )


def _asked_units(arranged: EvidenceTimeline, track: EvidenceTrack, second: int) -> tuple[float, float]:
    """Return the requests within a second, throttled ones included, and the units of each."""
    if track.seconds:
        row = track.seconds.get(second)
        if row is None:
            return 0.0, 1.0
        accepted = max(0, row.attempts - row.throttled)
        return float(row.attempts), row.consumed / accepted if accepted and row.consumed else 1.0
    cell = track.cell_of(second)
    peak = track.peak_ratio(cell)  # what came within a part of the cell is replayed within it
    lasts_s = min(1.0, max(0.0, track.step_s / peak - (second - cell)))
    units_per_s = _units(arranged, track, cell) / track.step_s * peak * lasts_s
    return units_per_s / track.units_of_refused, track.units_of_refused


def asked_per_s(arranged: EvidenceTimeline, second: float) -> dict[Resource, float]:
    """Return the units/s at scale 1 that were asked for around a time, throttled ones included."""
    return {
        Resource(track.index, track.direction): _units(arranged, track, cell) / track.step_s / arranged.scale
        for track in arranged.tracks
        if (cell := track.cell_of(second)) in (track.consumed or {})
    }


def _units(arranged: EvidenceTimeline, track: EvidenceTrack, cell: int) -> float:
    """Return the units of a cell that were consumed or throttled."""
    return (track.consumed or {}).get(cell, 0.0) + _throttled(arranged, track, cell)


def _throttled(arranged: EvidenceTimeline, track: EvidenceTrack, cell: int) -> float:
    """Return throttled units in a cell; writes that an index throttled are the table's, too."""
    of_table = track.index is None and track.direction == WRITE
    by_indexes = arranged.refused_by_indexes(cell) if of_table else 0.0
    return track.refused_units(cell) + track.units_of_refused * by_indexes


def _keys(heats: Sequence[RunHeat], direction: Direction, index: str | None) -> Masses:
    """Return the hottest keys with their shares of the requests; of an index if its keys were counted."""
    heat = next((heat for heat in heats if (heat.direction, heat.index) == (direction, index)), None)
    return _masses(tuple((key.key, key.share) for key in heat.hottest if key.share > 0) if heat else ())


@lru_cache(maxsize=64)  # masses are compared by identity: so demands on the same keys are equal
def _masses(shares: tuple[tuple[str, float], ...]) -> Masses:
    if not shares:
        return even_masses()
    even = max(0.0, 1.0 - sum(share for _key, share in shares))
    return masses_of_shares(dict(shares), even=even, within="random")


def _entries(
    arranged: EvidenceTimeline, track: EvidenceTrack, heats: Sequence[RunHeat]
) -> tuple[IndexFlow, ...]:
    """Return what the table's writes put into each index: index units per unit that the table let through.

    What the table's own limits refused never reached an index; what another index refused neither.
    """
    served = sum((track.consumed or {}).values())
    requested = served + track.units_of_refused * sum(map(arranged.refused_by_indexes, track.consumed or ()))
    if track.index is not None or track.direction != "write" or not served:
        return ()
    flows = []
    for index in arranged.indexes(WRITE):
        cells = index.consumed or ()
        units = sum(_units(arranged, index, cell) for cell in cells)
        units /= requested if any(map(index.refused, cells)) else served
        if index.index is not None and units > 0:
            keys = _keys(heats, WRITE, index.index)
            flows.append(IndexFlow(index=index.index, units=units, keys=keys))
    return tuple(flows)


def measured_share(arranged: EvidenceTimeline, seconds: range) -> float | None:
    """Return throttles per attempt in a stretch of time, by the client, else by CloudWatch."""
    attempts = throttled = 0.0
    for track in arranged.tracks:
        if track.seconds:
            rows = [row for second, row in track.seconds.items() if second in seconds and track.index is None]
            attempts += sum(row.attempts for row in rows)
            throttled += sum(row.throttled for row in rows)
        elif track.index is None or track.direction == READ:
            each = track.units_of_refused
            for cell in {track.cell_of(second) for second in seconds}:
                requests = _throttled(arranged, track, cell) / each
                attempts += requests + (track.consumed or {}).get(cell, 0.0) / each
                throttled += requests
    return throttled / attempts if attempts else None


def as_it_behaved(arranged: EvidenceTimeline, heaviest: Label, first_s: int) -> Behaviour:
    """Return the table's behaviour, starting with the burst that was spent until it throttled.

    A partition that throttled for longer than DynamoDB takes to split one was not split: no split helps it.
    """
    track = arranged.track(index_of(heaviest.resource), heaviest.direction)
    has_per_s = track.provisioned.at(first_s) if track else None
    lasted_s = (heaviest.end - heaviest.start).total_seconds()
    if heaviest.constraint == "partition" and lasted_s > DEFAULT.split_heat_s[1]:
        return replace(DEFAULT, split_heat_s=(NEVER_S, NEVER_S))
    if track is None or not has_per_s or heaviest.constraint != "table":
        return DEFAULT
    last_s = int(heaviest.start.timestamp())
    if track.seconds:
        rows = [track.seconds.get(second) for second in range(first_s, last_s + 1)]
        consumed = [(row.consumed if row else 0.0, 1) for row in rows]
    else:
        cells = range(track.cell_of(first_s), last_s + 1, track.step_s)
        rates = map(track.consumed_per_s, cells)
        consumed = [(rate, track.step_s) for rate in rates if rate is not None]
    full = max(DEFAULT.burst_s * has_per_s, DEFAULT.burst_floor_units)
    saved = 0.0
    for per_s, lasts_s in reversed(consumed):
        saved = min(full, max(0.0, saved + (per_s - has_per_s) * lasts_s))
    return replace(DEFAULT, burst_at_start_share=saved / full)


def assumed_share(arranged: EvidenceTimeline, label: Label) -> float | None:
    """Return the key share that would throttle a partition as in a label; None for another limit.

    None also where all partitions of an on-demand table were full: its keys are used evenly. The other keys,
    used evenly, take their part of that partition.
    """
    index = index_of(label.resource)
    track = arranged.track(index, label.direction)
    if track is None or label.constraint != "partition" or label.rule == NOT_GROWN:
        return None
    per_s = one_key_per_s(track, label)
    if per_s is None:
        return None
    partition_share = per_s[0] / per_s[1]
    # It begins with the partitions that its capacity of then gave it.
    at_s, scale = moment_of(label).timestamp(), arranged.scale
    tracks = (arranged.track(index, side) for side in (READ, WRITE))
    read, write = (track.provisioned.at(at_s) or 0 if track else 0 for track in tracks)
    pair = Capacity(read=read / scale, write=write / scale)
    even = 1 / (provisioned_partitions(pair) if read or write else warm_partitions(ON_DEMAND_START))
    return (partition_share - even) / (1 - even) if even < partition_share else partition_share


def with_assumed_key(
    heats: Sequence[RunHeat], arranged: EvidenceTimeline, label: Label
) -> tuple[RunHeat, ...]:
    """Add the one key that would throttle a partition as in a label, if none of its resource is named."""
    share = assumed_share(arranged, label)
    if share is None or _named(heats, label):
        return tuple(heats)
    key = HotKey(key=NOT_NAMED, share=share, throttles=0, units_per_s=0.0)
    return (RunHeat(label.direction, (key,), (), index_of(label.resource)), *heats)


def _named(heats: Sequence[RunHeat], label: Label) -> list[HotKey]:
    """The keys of a label's side with a known share."""
    side = label.direction, index_of(label.resource)
    mine = (heat for heat in heats if (heat.direction, heat.index) == side)
    return [key for heat in mine for key in heat.hottest if key.share > 0]


def assumptions(
    arranged: EvidenceTimeline, heats: Sequence[RunHeat], label: Label, first_s: int, seconds: int
) -> Iterator[str]:
    """State the assumptions for replaying the demand in the evidence, in sentences."""
    first, end = (datetime.fromtimestamp(at, UTC) for at in (first_s, first_s + seconds))
    track = arranged.track(None, label.direction)
    even = "" if track and track.seconds else f", each {track.cell_name if track else 'minute'}'s evenly"
    yield f"Assumed: the demand of {first:%F %R} to {end:%R} UTC{even}; each throttled request was sent once."
    hot = _named(heats, label)
    share = percent(sum(key.share for key in hot))
    rest = "keys are used evenly"
    if hot and hot[0].key == NOT_NAMED:
        rest = f"no key is named, and one key takes {share} of the requests; beside it, {rest}"
    elif hot:
        rest = f"beside {some(len(hot), 'key')} named, with {share} of the requests, {rest}"
    yield f"Assumed: {rest}. Capacity stays as it was at {moment_of(label):%R} UTC."
    if track is not None and track.units_per_request is None and not track.seconds:
        least = "one unit" if track.units_of_refused == 1 else "half a unit"
        yield f"Assumed: a throttled request takes {least}, since the evidence does not count requests."


def moment_of(label: Label) -> datetime:
    """The moment whose capacity a replay keeps: when throttles began, of a partition when they ended.

    A partition's limit is the same under each capacity that was tried.
    """
    return label.end - timedelta(seconds=1) if label.constraint == "partition" else label.start


def as_it_was(table: TableFacts, arranged: EvidenceTimeline, second: float) -> TableFacts:
    """Return the table with the mode, capacity and maxima that CloudWatch published for a time."""

    def then(owner: TableFacts | IndexFacts, index: str | None) -> dict[str, Any]:
        tracks = [arranged.track(index, side) for side in (READ, WRITE)]
        has = [track.provisioned.at(second) if track else None for track in tracks]
        most = [track.maximum.at(second) if track else None for track in tracks]
        return {
            "provisioned": _published(has, arranged.scale, owner.provisioned, owner.provisioned_now),
            "max_on_demand": _published(most, arranged.scale, owner.max_on_demand),
        }

    was = table.model_copy(update=then(table, None))
    mode = was.billing_mode
    if mode is None and was.provisioned:
        mode = "PROVISIONED"
    elif mode is None:
        switched = table.on_demand_since is not None and table.on_demand_since.timestamp() <= second
        mode = "PAY_PER_REQUEST" if was.max_on_demand or switched else None
    indexes = tuple(index.model_copy(update=then(index, index.name)) for index in table.indexes)
    return was.model_copy(update={"billing_mode": mode, "indexes": indexes})


def with_partitions_seen(table: TableFacts, arranged: EvidenceTimeline) -> TableFacts:
    """The table with at least the partitions that its busiest cell took, which its capacity may not tell."""
    taken: dict[Direction, float | None] = dict.fromkeys(Direction)
    for track in arranged.tracks:
        rates = [rate for cell in track.consumed or () if (rate := track.consumed_per_s(cell))]
        if rates and track.index is None:
            taken[track.direction] = ceil(max(rates) / arranged.scale)
    warm = Capacity(read=taken[READ], write=taken[WRITE])
    return table.model_copy(update={"warm": highest(table.warm or Capacity(), warm)})


def _published(
    units: Sequence[float | None], scale: float, otherwise: Capacity | None, now: Capacity | None = None
) -> Capacity | None:
    """Return units/s at scale 1 that CloudWatch published for a time, `otherwise` without any.

    A direction that was not published is taken to be as it is `now`.
    """
    if all(value is None for value in units):
        return otherwise
    described = otherwise or now or Capacity()
    pairs = zip((described.read, described.write), units, strict=True)
    read, write = (known if value is None else value / scale for known, value in pairs)
    return Capacity(read=read, write=write)


def as_it_is_now(table: TableFacts) -> TableFacts:
    """The table with the capacity that DescribeTable says, whenever it was set."""
    indexes = tuple(
        index.model_copy(update={"provisioned": index.provisioned_now or index.provisioned})
        for index in table.indexes
    )
    return table.model_copy(
        update={"provisioned": table.provisioned_now or table.provisioned, "indexes": indexes}
    )


def scenario_of_table(table: TableFacts, seconds: int, *, scale: float = 1.0) -> Scenario | None:
    """Turn a described table into a scenario; None if its capacity is unknown."""
    try:
        raw = {
            "format": "keyheat.scenario/1", "name": name_from(table.name),
            "question": "What if the demand that was seen met this table?", "loadtest": RECORDED,
            "table": {**source_of_facts(table).fields, "on_end": "delete"}, "keys": {"kind": "uniform"},
            "load": {"duration_s": seconds}, "local": {"scale": scale},
        }  # fmt: skip
        return scenario_from_dict(raw, "evidence")
    except (NotTaken, ScenarioError):
        return None
