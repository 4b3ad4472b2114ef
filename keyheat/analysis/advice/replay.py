"""Evidence as a demand that the simulator can replay: requests, the table as it was, and what is assumed."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from keyheat.analysis.advice.demand import one_key_per_s
from keyheat.analysis.advice.table_then import as_it_was, moment_of
from keyheat.analysis.heat import RunHeat, heats_of, hot_keys_of, index_heats_of
from keyheat.analysis.rules import NOT_GROWN
from keyheat.analysis.timeline import EvidenceTimeline, timeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.analysis.verdict import going_on, groups
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.partitions import provisioned_partitions, warm_partitions
from keyheat.model.resources import ON_DEMAND_START
from keyheat.numbers import percent, some
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, RUN
from keyheat.runs.client import ClientFiles, read_client_files
from keyheat.runs.formats import Diagnosis, Evidence, HotKey, Label, read_diagnosis
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.table_facts import TableFacts
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

    @property
    def table(self) -> TableFacts:
        """The table as it was when the heaviest throttling began."""
        at = moment_of(self.heaviest) if self.heaviest else self.evidence.window.start
        return as_it_was(self.evidence.table, self.arranged, at.timestamp())

    def hot_keys(self, least: float) -> tuple[HotKey, ...]:
        """The keys of the table and its indexes with at least a share of that direction's requests."""
        return hot_keys_of((heat for heat in self.heats if heat.direction == self.direction), least)


def read_incident(folder: Path) -> Incident:
    """Read a folder of `keyheat diagnose`. Raises `FileProblem`."""
    diagnosis = read_diagnosis(folder / FILES[DIAGNOSIS])
    evidence = read_evidence(folder / FILES[EVIDENCE])
    client = read_client_files(folder) if (folder / FILES[RUN]).exists() else None
    arranged = timeline(evidence)
    by_limit = going_on(groups(diagnosis.labels), arranged)
    heaviest = by_limit[0].heaviest if by_limit else None
    direction = heaviest.direction if heaviest else WRITE
    return Incident(
        evidence=evidence, diagnosis=diagnosis, client=client, arranged=arranged, heaviest=heaviest,
        labels=tuple(label for group in by_limit for label in group.labels),
        direction=direction, heats=heats_known(evidence, client, diagnosis, direction),
    )  # fmt: skip


def demanded(arranged: EvidenceTimeline, heats: Sequence[RunHeat], first_s: int, seconds: int) -> Recorded:
    """Return the demand on the table and its indexes in `seconds` from `first_s` on."""
    kinds = [
        (arranged, track, _keys(heats, track.direction, track.index), _entries(arranged, track, heats))
        for track in arranged.tracks
        if track.index is None or track.direction == "read"
    ]
    return Recorded(
        tuple(
            tuple(flow for kind in kinds if (flow := _flow(*kind, second)) is not None)
            for second in range(first_s, first_s + seconds)
        )
    )


def _flow(
    arranged: EvidenceTimeline,
    track: EvidenceTrack,
    keys: Masses,
    entries: tuple[IndexFlow, ...],
    second: int,
) -> Flow | None:
    requests, units = _asked_units(arranged, track, second)
    if not requests:
        return None
    return Flow(
        operation=OPERATIONS[track.direction],
        direction=track.direction,
        requests=requests,
        units=units,
        keys=keys,
        index=track.index,
        index_writes=tuple(replace(entry, units=entry.units * units) for entry in entries),
    )


def _asked_units(arranged: EvidenceTimeline, track: EvidenceTrack, second: int) -> tuple[float, float]:
    """Return the requests within a second, throttled ones included, and the units of each."""
    row = (track.seconds or {}).get(second)
    if track.seconds:
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
    rates = {}
    for track in arranged.tracks:
        cell = track.cell_of(second)
        if cell in (track.consumed or {}):
            per_s = _units(arranged, track, cell) / track.step_s / arranged.scale
            rates[Resource(track.index, track.direction)] = per_s
    return rates


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
    heat = next(
        (candidate for candidate in heats if (candidate.direction, candidate.index) == (direction, index)),
        None,
    )
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

    What the table's own limits refused never reached an index.
    """
    table_units = sum(
        units + track.units_of_refused * arranged.refused_by_indexes(cell)
        for cell, units in (track.consumed or {}).items()
    )
    if track.index is not None or track.direction != "write" or not table_units:
        return ()
    flows = []
    for index in arranged.indexes(WRITE):
        units = sum(_units(arranged, index, cell) for cell in index.consumed or ()) / table_units
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
    full = max(DEFAULT.burst_s * has_per_s, DEFAULT.burst_floor_units)
    saved = 0.0
    for per_s, lasts_s in reversed(_consumed_until(track, first_s, int(heaviest.start.timestamp()))):
        saved = min(full, max(0.0, saved + (per_s - has_per_s) * lasts_s))
    return replace(DEFAULT, burst_at_start_share=saved / full)


def _consumed_until(track: EvidenceTrack, first_s: int, last_s: int) -> list[tuple[float, int]]:
    """Return (units/s, seconds) up to `last_s`: by the client's seconds, else by cells."""
    if track.seconds:
        rows = (track.seconds.get(second) for second in range(first_s, last_s + 1))
        return [(row.consumed if row else 0.0, 1) for row in rows]
    rates = (track.consumed_per_s(cell) for cell in range(track.cell_of(first_s), last_s + 1, track.step_s))
    return [(rate, track.step_s) for rate in rates if rate is not None]


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
    even = 1 / _partitions(arranged, index, label)
    return (partition_share - even) / (1 - even) if even < partition_share else partition_share


def _partitions(arranged: EvidenceTimeline, index: str | None, label: Label) -> int:
    """Return how many partitions a replayed table or index begins with, by its capacity of then."""
    tracks = {side: arranged.track(index, side) for side in (READ, WRITE)}
    at_s = moment_of(label).timestamp()
    read, write = (track.provisioned.at(at_s) if track else None for track in tracks.values())
    if not read and not write:
        return warm_partitions(ON_DEMAND_START)
    return provisioned_partitions(
        Capacity(read=(read or 0) / arranged.scale, write=(write or 0) / arranged.scale)
    )


def with_assumed_key(
    heats: Sequence[RunHeat], arranged: EvidenceTimeline, label: Label
) -> tuple[RunHeat, ...]:
    """Add the one key that would throttle a partition as in a label, if none of its resource is named."""
    index = index_of(label.resource)
    mine = [heat for heat in heats if (heat.direction, heat.index) == (label.direction, index)]
    share = assumed_share(arranged, label)
    if share is None or any(key.share > 0 for heat in mine for key in heat.hottest):
        return tuple(heats)
    key = HotKey(key=NOT_NAMED, share=share, throttles=0, units_per_s=0.0)
    return (RunHeat(label.direction, (key,), (), index), *heats)


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
    if hot and hot[0].key == NOT_NAMED:
        rest = f"no key is named, and one key takes {share} of the requests; beside it, {rest}"
    elif hot:
        rest = f"beside {some(len(hot), 'key')} named, with {share} of the requests, {rest}"
    yield f"Assumed: {rest}. Capacity stays as it was at {moment_of(label):%R} UTC."
    if track is not None and track.units_per_request is None and not track.seconds:
        least = "one unit" if track.units_of_refused == 1 else "half a unit"
        yield f"Assumed: a throttled request takes {least}, since the evidence does not count requests."
