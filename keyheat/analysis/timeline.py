"""Evidence arranged as one track for each resource and direction."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Final

from keyheat.analysis.track import Cells, EvidenceTrack, with_writes_asked
from keyheat.evidence.settings import LARGEST, Steps, since_throttled, steps
from keyheat.model import limits
from keyheat.model.resources import TABLE_QUOTA, Cause, parse_reason
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, SecondCount, Series
from keyheat.runs.table_facts import IndexFacts, TableFacts
from keyheat.words import READ, WRITE, Capacity, Direction, has_capacity_model

EXTREMES: Final = ("Minimum", "Maximum")
UNNAMED_INDEX: Final = "(an index)"  # a reason names an index, but not which of several


MANY_MORE: Final = 2.0  # times CloudWatch's events: a count beyond that has throttles of something else
MOST_UNITS: Final = {
    READ: limits.PAGE_BYTES / limits.READ_UNIT_BYTES, WRITE: limits.MAX_ITEM_BYTES / limits.WRITE_UNIT_BYTES
}  # fmt: skip
"""Units of the largest single request."""
ALMOST_ALL: Final = 0.98  # of the throttle events: hardly another operation was throttled
FEW: Final = 10.0  # throttles; of so few, CloudWatch may have counted some in another minute


def far_exceeds(count: float, published: float, *, of_items: bool = False) -> bool:
    """Whether CloudWatch's throttle events cannot account for another count of the same time.

    An SDK's retries are events too, so that a log holds fewer than there were, and a request that is
    throttled is at least one event. `of_items`: counted item by item, which CloudWatch may count as a batch.
    """
    most = limits.BATCH_WRITE_ITEMS if of_items else MANY_MORE
    return count > (max(FEW, most * published) if published else 0)


@dataclass(frozen=True)
class EvidenceTimeline:
    """All tracks, and the account's quota for the table with its indexes."""

    tracks: tuple[EvidenceTrack, ...]
    quota: Capacity
    step_s: int
    scale: float  # of a local table; the settings here are multiplied already
    requests: Mapping[Direction, Cells]  # throttled requests by cell, of the table with its indexes

    def quota_of(self, direction: Direction) -> float:
        """The account's quota for the table with its indexes, units/s; the default if unknown."""
        return self.quota.of(direction) or (TABLE_QUOTA.of(direction) or 0.0) * self.scale

    def track(self, index: str | None, direction: Direction) -> EvidenceTrack | None:
        """The track of one resource and direction."""
        return self._by_key.get((index, direction))

    def refused_by_indexes(self, cell: int) -> float:
        """Writes of a cell that indexes refused: each that is full counts them, so only the most are."""
        return max((index.refused(cell) for index in self.indexes(WRITE)), default=0)

    @cached_property
    def _by_key(self) -> "Mapping[TrackKey, EvidenceTrack]":
        return {(track.index, track.direction): track for track in self.tracks}

    @cached_property
    def unattributed(self) -> Mapping[Direction, Cells]:
        """Throttled requests that neither throttle events nor a client's record account for, by cell.

        CloudWatch may count events of a minute in the next one.
        """
        requests: dict[Direction, dict[int, float]] = {}
        for direction, cells in self.requests.items():
            logged = {
                track.cell_of(second)
                for track in self.tracks
                if track.direction == direction
                for second in track.reasons
            }
            requests[direction] = {
                cell: count - self.published(direction, (cell,))
                for cell, count in cells.items()
                if logged.isdisjoint((cell, cell + self.step_s))
                and far_exceeds(count, self.published(direction, (cell, cell + self.step_s)))
            }
        return requests

    def published(self, direction: Direction, cells: Iterable[int]) -> float:
        """CloudWatch's throttle events in some cells, of the table and its indexes."""
        tracks = [track for track in self.tracks if track.direction == direction]
        return sum(track.published(cell) for cell in cells for track in tracks)

    def indexes(self, direction: Direction) -> tuple[EvidenceTrack, ...]:
        """The tracks of the global secondary indexes."""
        return tuple(t for t in self.tracks if t.index is not None and t.direction == direction)


@dataclass(frozen=True, eq=False)
class _Same:
    """Evidence as a cache key by identity: comparing its rows takes longer than arranging them."""

    evidence: Evidence

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.evidence is self.evidence

    def __hash__(self) -> int:
        return id(self.evidence)


def timeline(evidence: Evidence) -> EvidenceTimeline:
    """Arrange evidence by resource and direction; cached, since every step of a diagnosis needs it."""
    return _arranged(_Same(evidence))


@lru_cache(maxsize=1)
def _arranged(same: _Same) -> EvidenceTimeline:
    evidence = same.evidence
    step_s = _step_s(evidence.series)
    account = evidence.account
    by_key = _by_key(evidence.series)
    reasons = _reasons(evidence)
    names = _index_names(evidence, reasons)
    facts: dict[str | None, IndexFacts | TableFacts] = {index.name: index for index in evidence.table.indexes}
    facts[None] = evidence.table
    seconds = _seconds(evidence)
    requests, totals = _requests(evidence, step_s), totals_of(evidence.series)
    tracks = tuple(
        _track(
            evidence, facts.get(index), index, direction, step_s, by_key, reasons, seconds, requests,
            totals, indexed=bool(names),
        )
        for index in (None, *names)
        for direction in Direction
    )  # fmt: skip
    quota = Capacity(read=account.table_read, write=account.table_write) if account else None
    return EvidenceTimeline(
        with_writes_asked(tracks), _scaled(quota, evidence.scale), step_s, evidence.scale, requests
    )


TrackKey = tuple[str | None, Direction]
SeriesName = tuple[str, str | None, str]  # metric, index, and which extreme
Totals = Sequence[tuple[Series, float]]  # series with the sums of their values


def _track(
    evidence: Evidence,
    facts: IndexFacts | TableFacts | None,
    index: str | None,
    direction: Direction,
    step_s: int,
    by_key: Mapping[SeriesName, Series],
    reasons: Mapping[TrackKey, Mapping[int, Mapping[str | None, int]]],
    seconds: Mapping[TrackKey, Mapping[int, SecondCount]] | None,
    requests: Mapping[Direction, Cells],
    totals: Totals,
    *,
    indexed: bool,
) -> EvidenceTrack:
    def cells(name: str) -> Cells | None:
        series = by_key.get((name, index, ""))
        return _cells(series, step_s) if series else None

    def setting(name: str, fact: Capacity | None) -> Steps:
        average, least, most = (by_key.get((name, index, kind)) for kind in ("", *EXTREMES))
        always = fact.of(direction) if fact else None
        return steps(average, least, most, always, evidence.scale, throttled)

    counted = has_capacity_model(evidence.endpoint)
    consumed = cells(metrics.consumed(direction)) if counted else None
    events = cells(metrics.throttle_events(direction))
    if events is None and index is None and facts and facts.keys and not indexed:
        events = requests.get(direction)  # nothing else can have refused them
    causes = {cause.constraint: cells(metrics.cause_events(direction, cause)) for cause in Cause}
    by_capacity = causes["table"] if causes["table"] is not None else events
    throttled = {
        cell: units / step_s for cell, units in (consumed or {}).items() if (by_capacity or {}).get(cell)
    }
    provisioned = setting(metrics.provisioned(direction), facts.provisioned if facts else None)
    units, alone, whole = _units_of_all(totals if counted else (), direction, index)
    switched = evidence.table.on_demand_since
    return EvidenceTrack(
        index=index,
        direction=direction,
        step_s=step_s,
        reasons=reasons.get((index, direction), {}),
        seconds=None if seconds is None or not counted else seconds.get((index, direction), {}),
        consumed=consumed,
        events=events,
        causes={constraint: counts for constraint, counts in causes.items() if counts is not None},
        provisioned=since_throttled(provisioned, throttled),
        maximum=setting(metrics.on_demand_maximum(direction), facts.max_on_demand if facts else None),
        maximum_asked=(metrics.on_demand_maximum(direction), index, "") in by_key,
        warm=_scaled(facts.warm if facts else None, evidence.scale).of(direction),
        on_demand=_on_demand(evidence, provisioned),
        described=bool(facts and facts.keys),
        units_per_request=units,
        alone=alone,
        throttled_request_units={
            cell: count * whole for cell, count in requests.get(direction, {}).items() if whole
        },
        scale=evidence.scale,
        on_demand_since_s=switched.timestamp() if switched and switched > evidence.window.start else None,
    )


def totals_of(series: Iterable[Series]) -> Totals:
    """The sums that tell the mean units of a request."""
    counted = {metrics.LATENCY, metrics.FAILED_CONDITIONS, metrics.THROTTLED_REQUESTS}
    counted |= {name(side) for name in (metrics.consumed, metrics.throttle_events) for side in Direction}
    return [(item, sum(value for _at, value in item.points)) for item in series if item.metric in counted]


def units_per_request(
    totals: Totals, direction: Direction, index: str | None
) -> tuple[float | None, float | None, float | None]:
    """The mean units of an accepted request: as counted, if nothing else was sent, and of transactions.

    Each is None if unknown: the first where some operation's requests were not counted; all where there are
    batches, whose parts CloudWatch does not count; all but the last where there are transactions. A read of
    an index is one request; a write is one of the table and of each index.
    """
    units = requests = transactions = batches = 0.0
    uncounted = {*metrics.SINGLE_REQUESTS[direction]}
    for item, total in totals:
        operation = (item.operation, item.dimension)
        if item.metric == metrics.LATENCY and item.statistic == "SampleCount":
            if operation in metrics.SINGLE_REQUESTS[direction]:
                uncounted.discard(operation)
                requests += total
            elif operation in metrics.TRANSACTIONS[direction]:
                transactions += total
            elif operation in metrics.REQUESTS_OF_PARTS[direction]:
                batches += total
        elif item.whole and item.metric == metrics.consumed(direction) and item.statistic == "Sum":
            units += total if direction == "read" or item.index == index else 0.0
        elif item.metric == metrics.FAILED_CONDITIONS and direction == "write":
            requests += total  # these consume units as well
    sent = requests + transactions
    each = units / sent if units and sent and not batches else None
    alone = None if transactions else each
    return (None, alone, each if transactions else None) if uncounted else (alone, alone, each)


def _units_of_all(
    totals: Totals, direction: Direction, index: str | None
) -> tuple[float | None, tuple[str, ...], float | None]:
    """The mean units of an accepted request, the operations that are assumed to be all that were sent, and
    the mean with transactions.

    None is assumed where each was counted, or where those that were have all throttles: a limit refuses every
    operation alike. Nor is it where one request would take more than DynamoDB lets it.
    """
    units, alone, whole = units_per_request(totals, direction, index)
    if units is not None or alone is None or alone > MOST_UNITS[direction]:
        return units, (), whole
    counted: set[str] = set()
    throttled: defaultdict[str | None, float] = defaultdict(float)
    events = 0.0
    for item, total in totals:
        if metrics.direction_of(item.operation, item.dimension) == direction:
            if (item.metric, item.statistic) == (metrics.LATENCY, "SampleCount") and item.operation and total:
                counted.add(item.operation)
            elif item.metric == metrics.THROTTLED_REQUESTS:
                throttled[item.operation] += total
        elif item.metric == metrics.throttle_events(direction) and item.whole:
            events += total if direction == "read" or item.index is None else 0.0
    are_all = sum(throttled[operation] for operation in counted) >= ALMOST_ALL * events > 0
    return alone, () if are_all else tuple(sorted(counted)), whole


def _scaled(rates: Capacity | None, scale: float) -> Capacity:
    """Return rates at the scale of a local table."""
    read, write = (
        None if rate is None else min(rate, LARGEST) * scale
        for rate in ((rates.read, rates.write) if rates else (None, None))
    )
    return Capacity(read=read, write=write)


def _on_demand(evidence: Evidence, provisioned: Steps) -> bool | None:
    """Whether the table is on-demand; None if neither facts nor series show it."""
    if evidence.table.billing_mode is not None:
        return evidence.table.billing_mode == "PAY_PER_REQUEST"
    return False if any(provisioned.values) or provisioned.always else None


def _requests(evidence: Evidence, step_s: int) -> dict[Direction, Cells]:
    """Throttled requests of all operations, by direction and cell."""
    by_direction: defaultdict[Direction, Counter[int]] = defaultdict(Counter)
    for series in evidence.series:
        direction = metrics.direction_of(series.operation, series.dimension)
        if series.metric == metrics.THROTTLED_REQUESTS and direction is not None:
            by_direction[direction].update(_cells(series, step_s))
    return dict(by_direction)


def _step_s(series: Iterable[Series]) -> int:
    """Return the coarsest period of the series that are summed per cell."""
    added = [s.period_s for s in series if s.statistic == "Sum" and s.whole]
    return min(max(added, default=limits.MINUTE_S), metrics.LONGEST_PERIOD_S)


def _by_key(series: Iterable[Series]) -> dict[SeriesName, Series]:
    """Series of the table and its indexes by name; a setting's extremes do not replace its average."""
    return {(s.metric, s.index, s.statistic if s.statistic in EXTREMES else ""): s for s in series if s.whole}


def _cells(series: Series, step_s: int) -> Cells:
    cells: defaultdict[int, float] = defaultdict(float)
    for at, value in dict(series.points).items():
        cells[int(at.timestamp() // step_s) * step_s] += min(value, LARGEST)
    return dict(cells)


def _index_names(evidence: Evidence, reasons: Iterable[TrackKey]) -> tuple[str, ...]:
    """Every index that the evidence names, in the order of the table's description."""
    names = dict.fromkeys(index.name for index in evidence.table.indexes)
    parts = (evidence.series, evidence.seconds or ())
    mentioned = [*(index for index, _ in reasons), *(row.index for rows in parts for row in rows)]
    names.update(dict.fromkeys(index for index in mentioned if index is not None))
    return tuple(names)


def _reasons(evidence: Evidence) -> dict[TrackKey, dict[int, dict[str | None, int]]]:
    """Throttles by second and reason; without rows, the seconds' counts, without a reason."""
    by_track: dict[TrackKey, dict[int, dict[str | None, int]]] = {}

    def add(index: str | None, direction: Direction, second: int, reason: str | None, count: int) -> None:
        at = by_track.setdefault((index, direction), {}).setdefault(second, {})
        at[reason] = at.get(reason, 0) + min(count, int(LARGEST))

    sole = evidence.table.indexes[0].name if len(evidence.table.indexes) == 1 else UNNAMED_INDEX
    for row in evidence.throttles or ():
        if row.count:
            parsed = parse_reason(row.reason) if row.reason and row.index is None else None
            # Clients may have recorded the reason of an index without the resource.
            index = sole if parsed is not None and parsed[0] else row.index
            add(index, row.direction, int(row.second.timestamp()), row.reason, row.count)
    explained = {direction for _, direction in by_track}
    bare = [s for s in evidence.seconds or () if s.throttled and s.direction not in explained]
    of_indexes = Counter[tuple[datetime, Direction]]()
    for second in bare:
        if second.index is not None:
            of_indexes[second.second, second.direction] += second.throttled
    for second in bare:
        # The client counts a write that an index throttled on the table's row as well.
        also = of_indexes[second.second, second.direction] if second.index is None else 0
        if second.throttled > also:
            moment = int(second.second.timestamp())
            add(second.index, second.direction, moment, None, second.throttled - also)
    return by_track


def _seconds(evidence: Evidence) -> dict[TrackKey, dict[int, SecondCount]] | None:
    if evidence.seconds is None:
        return None
    by_track: dict[TrackKey, dict[int, SecondCount]] = {}
    for row in evidence.seconds:
        by_track.setdefault((row.index, row.direction), {})[int(row.second.timestamp())] = row
        if max(row.consumed, row.attempts, row.throttled) > LARGEST:
            most = int(LARGEST)
            bounded = {"attempts": min(row.attempts, most), "throttled": min(row.throttled, most)}
            bounded_row = row.model_copy(update={"consumed": min(row.consumed, LARGEST), **bounded})
            by_track[row.index, row.direction][int(row.second.timestamp())] = bounded_row
    return by_track
