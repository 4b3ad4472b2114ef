"""The inferred grade: judge a throttled cell without a stated cause by consumption.

The client's seconds (seconds.py) come first if they represent the resource. Otherwise CloudWatch's minutes
are compared with the provisioned capacity (minutes.py) or an on-demand table's limits (on_demand.py).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from keyheat.analysis.rules import CHANGED, NEITHER, RULES, WHOSE
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.analysis.track import EvidenceTrack
from keyheat.evidence.settings import Steps
from keyheat.model.behaviour import DEFAULT
from keyheat.words import WRITE

from . import burst, minutes, on_demand
from .bounds import not_a_partition
from .burst import Bank, Extra
from .minutes import MinuteReading
from .opinion import Opinion, decided, undecided
from .seconds import (
    AroundSecond,
    SecondRates,
    ThrottledMinute,
    ThrottledSecond,
    by_seconds,
    rates,
    rule_of,
    smoothed,
    throttled_minute,
)

NO_CLOUDWATCH: Final = 0.95  # factor: the client's record only; others may use the table too
CLIENT_ALONE: Final = 0.7  # factor: the client counts throttles, CloudWatch's events were not collected
MAYBE_INDEX: Final = 0.8  # factor: an index whose events were not collected may have throttled a write
NEAR_S: Final = 2  # seconds on both sides of a throttled one that are compared
LAST_S: Final = 2**53  # later than any evidence

Throttled = Mapping[int, Sequence[tuple[int, int]]]
"""The client's throttled seconds by cell: (second, throttles)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One reading of the provisioned capacity; there are two if it changed at an unknown moment."""

    provisioned: Steps
    by_minute: MinuteReading
    banks: Mapping[int, Bank]  # by second
    pinned: float  # share of all throttled seconds at exactly the provisioned rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """One track prepared for opinions: consumption by second, and each reading of the capacity."""

    timeline: EvidenceTimeline
    track: EvidenceTrack
    numbers: Thresholds
    readings: tuple[Reading, ...]
    full_indexes: tuple[str, ...]  # at their provisioned rate while it throttled, with unknown events
    rates: SecondRates
    throttled: Throttled
    pinned_to_maximum: float  # share of all throttled seconds at exactly the on-demand maximum
    too_few: float  # share of all throttled seconds with too few units for a full partition
    _minutes: dict[tuple[int, float], ThrottledMinute] = field(default_factory=dict, compare=False)

    def opinion(self, cell: int, start_s: int = 0, end_s: int = LAST_S) -> Opinion:
        """Judge one cell, or its part from `start_s` up to `end_s`, without stated causes."""
        seconds = self.seconds(cell)
        if seconds:
            return self.settled(self._majority([s for s in seconds if start_s <= s.second < end_s]))
        return self.by_minute(cell)

    def by_minute(self, cell: int) -> Opinion:
        """Judge one cell by CloudWatch's minute, ignoring the client's seconds."""
        track = self.track
        on_demand_then = track.on_demand_at(cell)
        if on_demand_then:
            return self.settled(on_demand.by_minutes(self.timeline, track, cell, self.numbers))
        if on_demand_then is None and track.on_demand is False:
            because = "CloudWatch published no provisioned capacity then: perhaps the table was on-demand."
            return undecided("undetermined-no-provisioned", because)
        return self.settled(minutes.by_minutes(tuple(each.by_minute for each in self.readings), cell))

    def seconds(self, cell: int) -> list[ThrottledSecond]:
        """The client's throttled seconds in a cell; none if they do not represent the resource."""
        track = self.track
        moments = [moment for moment in self.throttled.get(cell, ()) if moment[0] in self.rates.by_second]
        paid = track.on_demand_at(cell)
        if not moments or (not paid and self._shared(cell)):
            return []
        if paid is None and track.on_demand is False:
            return []
        look = self._on_demand_second if paid else self._provisioned_second
        return [second for at, count in moments if (second := look(cell, at, count)) is not None]

    def settled(self, opinion: Opinion) -> Opinion:
        """Lower an opinion's confidence for what is unknown; `undetermined` if too little remains."""
        track = self.track
        if opinion.rule.startswith("seconds") and track.consumed is None:
            opinion = opinion.weaker(NO_CLOUDWATCH, "This rests on the client's own record only.")
        elif track.client_alone and not opinion.rule.startswith("seconds"):
            because = "Only the client counts them: CloudWatch's throttle events were not collected."
            opinion = opinion.weaker(CLIENT_ALONE, because)
        # A write that an index throttled looks like the table's unless CloudWatch counts events there.
        indexes = self.timeline.indexes(track.direction)
        if track.index is None and track.direction == "write" and indexes and track.events is None:
            if self.full_indexes and (opinion.constraint == "partition" or opinion.rule == NEITHER):
                return undecided(WHOSE, _full(self.full_indexes))
            opinion = opinion.weaker(
                MAYBE_INDEX, "An index may be the cause: its throttle events are unknown."
            )
        return decided(opinion, self.numbers.inferred.decide_at)

    def _shared(self, cell: int) -> bool:
        """Whether several resources throttled writes: a second's throttles then have no known resource."""
        tracks = self.timeline.tracks if self.track.direction == "write" else ()
        return sum(t.throttled(cell) for t in tracks if t.direction == "write") > 1

    def _majority(self, seconds: Sequence[ThrottledSecond]) -> Opinion:
        if not seconds:
            return undecided("undetermined-no-provisioned", "The provisioned throughput is unknown.")
        rated = smoothed(seconds)
        heaviest = max(rated, key=lambda second: second.throttles)
        agreeing = [second for second in rated if second.constraint == heaviest.constraint]
        return by_seconds(agreeing, self.track.direction, self.numbers)

    def _on_demand_second(self, cell: int, at: int, throttles: int) -> ThrottledSecond:
        demand = on_demand.use(self.timeline, self.track, cell, self.rates.by_second[at], self.numbers)
        limit = demand.maximum or demand.quota * self._part_at(
            at, demand.rate / demand.total if demand.total else 1.0
        )
        around = self._near(cell, at, limit, None, self.pinned_to_maximum if demand.maximum else 0.0)
        rule, bound = on_demand.rule_of(around, maximum=demand.maximum is not None)
        rate = self.rates.measured.get(at, 0.0) + around.others_per_s
        return ThrottledSecond(at, throttles, rate, limit, rule, bound)

    def _provisioned_second(self, cell: int, at: int, throttles: int) -> ThrottledSecond | None:
        judged = [
            (around, *rule_of(around))
            for reading in self.readings
            if (around := self._around(reading, cell, at)) is not None
        ]
        if not judged:
            return None
        judged = [entry for entry in judged if not (entry[0].bank and entry[0].bank.overdrawn)] or judged
        judged = [entry for entry in judged if entry[1] != NEITHER] or judged  # some limit was reached
        if len({RULES[rule].constraint for _, rule, _ in judged} - {"undetermined"}) > 1:
            likely = [entry for entry in judged if entry[1] == "seconds-at-provisioned"]
            judged = likely if len(likely) == 1 else [(judged[0][0], CHANGED, None)]
        around, rule, bound = min(judged, key=lambda entry: self._sure(entry[1]))
        rate = self.rates.measured.get(at, 0.0) + around.others_per_s
        return ThrottledSecond(at, throttles, rate, around.capacity, rule, bound, around.ceiling)

    def _sure(self, rule: str) -> float:
        return self.numbers.confidence.rules.get(rule, 0.0)

    def _around(self, reading: Reading, cell: int, at: int) -> AroundSecond | None:
        capacity = reading.provisioned.at(at)
        return self._near(cell, at, capacity, reading.banks.get(at), reading.pinned) if capacity else None

    def _near(self, cell: int, at: int, capacity: float, bank: Bank | None, pinned: float) -> AroundSecond:
        units_at, minute = self.rates.measured, self._minute(cell, capacity)
        near = [units_at.get(s, 0.0) for s in range(at - NEAR_S, at + NEAR_S + 1) if s in minute.throttled]
        return AroundSecond(
            capacity=capacity,
            ceiling=self.track.ceiling,
            in_chunks_below=self.track.in_chunks_below,
            rate=sum(near) / len(near),
            most=self.rates.most(at),
            two=self.rates.two(at),
            minute=minute,
            request_units=self.rates.item_units,
            bank=bank,
            pinned=pinned,
            too_few=self.too_few,
            catches_up=self.track.index is not None and self.track.direction == "write",
        )

    def _minute(self, cell: int, capacity: float) -> ThrottledMinute:
        minute = self._minutes.get((cell, capacity))
        if minute is None:
            seconds = [second for second, _ in self.throttled[cell]]
            minute = throttled_minute(self.rates, seconds, cell, self.track, capacity)
            self._minutes[cell, capacity] = minute
        return minute

    def _part_at(self, second: int, default: float) -> float:
        """The resource's share of the consumption of all that share its quota, by the client."""
        tracks = [track for track in self.timeline.tracks if track.direction == self.track.direction]
        rows = [(track.seconds or {}).get(second) for track in tracks]
        total = sum(row.consumed for row in rows if row is not None)
        client_units = self.rates.measured.get(second, 0.0)
        return client_units / total if self.track.seconds and client_units and total else default


def consumption(timeline: EvidenceTimeline, track: EvidenceTrack, numbers: Thresholds) -> Consumption:
    """Prepare a track for opinions."""
    used = rates(timeline, track, numbers.inferred.client_share)
    throttled = _throttled(timeline, track)
    return Consumption(
        timeline=timeline,
        track=track,
        numbers=numbers,
        readings=tuple(
            _reading(track, numbers, provisioned, used, throttled)
            for provisioned in track.provisioned.readings or (track.provisioned,)
        ),
        full_indexes=_full_indexes(timeline, track, throttled, numbers),
        rates=used,
        throttled=throttled,
        pinned_to_maximum=pinned_share(throttled, used, track.maximum.at) if track.on_demand else 0.0,
        too_few=_too_few(throttled, used, track),
    )


def _reading(
    track: EvidenceTrack,
    numbers: Thresholds,
    provisioned: Steps,
    used: SecondRates,
    throttled: Throttled,
) -> Reading:
    extra, highest = _extra(track), highest_of(track)
    by_cell, seconds = (track.consumed or {}).items(), used.by_second.items()
    banks = burst.banks(seconds, provisioned, step_s=1, extra=extra, certain=used.measured, highest=highest)
    in_minutes = burst.banks(by_cell, provisioned, step_s=track.step_s, extra=extra, highest=highest)
    return Reading(
        provisioned=provisioned,
        by_minute=MinuteReading(track, provisioned, in_minutes, numbers),
        banks=banks,
        pinned=pinned_share(throttled, used, provisioned.at),
    )


def pinned_share(
    throttled: Mapping[int, Sequence[tuple[int, int]]],
    used: SecondRates,
    limit_at: Callable[[int], float | None],
) -> float:
    """Return the share of throttled seconds in which exactly the limit was consumed, within 2 %."""
    counted = exact = 0
    for second in (second for moments in throttled.values() for second, _ in moments):
        limit = limit_at(second)
        if second not in used.measured or not limit:
            continue
        counted += 1
        exact += abs(used.measured[second] - limit) <= 0.02 * limit + used.item_units
    return exact / counted if counted else 0.0


def _too_few(throttled: Throttled, used: SecondRates, track: EvidenceTrack) -> float:
    """Return the share of throttled seconds without a full partition, if others consumed evenly."""
    counted = few = 0
    for cell, moments in throttled.items():
        others = 2 * used.others.get(cell, 0.0) / track.step_s
        for second in (at for at, _ in moments if at in used.measured):
            counted += 1
            few += not_a_partition(used.two(second), others, track.ceiling).holds
    return few / counted if counted else 0.0


def highest_of(track: EvidenceTrack) -> Callable[[float], float | None]:
    """Return the highest possible provisioned rate by cell or second, over all readings of a change.

    None where it was on demand, be it for a part of the cell.
    """
    setting, last_s = track.provisioned, track.step_s - 1
    return lambda at: None if track.on_demand_at(at + last_s) else setting.highest_at(at)


def _full_indexes(
    timeline: EvidenceTimeline, track: EvidenceTrack, throttled: Iterable[int], numbers: Thresholds
) -> tuple[str, ...]:
    """Indexes with unknown throttle events that used their provisioned rate in a throttled cell."""
    if track.index is not None or track.direction != "write":
        return ()
    least, cells = numbers.inferred.at_provisioned_low, tuple(throttled)

    def full(index: EvidenceTrack, cell: int) -> bool:
        rate, capacity = index.consumed_per_s(cell), index.provisioned.at(cell)
        return rate is not None and bool(capacity) and rate >= least * (capacity or 0.0)

    unknown = (index for index in timeline.indexes(WRITE) if index.events is None)
    return tuple(index.resource for index in unknown if any(full(index, cell) for cell in cells))


def _full(indexes: Sequence[str]) -> str:
    which = f"index {indexes[0]}" if len(indexes) == 1 else f"the indexes {' and '.join(indexes)}"
    return (
        f"The provisioned capacity of {which} was used up, and the throttle events of the table and its "
        "indexes are unknown: perhaps an index throttled the writes."
    )


def _extra(track: EvidenceTrack) -> Extra:
    """Return the bucket depth beyond 300 s, at the scale of a local table."""
    waits = track.index is not None and track.direction == "write"
    return Extra(
        floor_units=DEFAULT.burst_floor_units * track.scale,
        buffer_units=DEFAULT.index_buffer_units * track.scale if waits else 0.0,
    )


def _throttled(timeline: EvidenceTimeline, track: EvidenceTrack) -> Throttled:
    """The client's throttled seconds by cell; it counts writes that an index throttled as the table's."""
    rows = track.reasons
    if track.index is not None and track.direction == "write" and not rows:
        table = timeline.track(None, WRITE)
        rows = table.reasons if table else {}
    by_cell: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for second, reasons in sorted(rows.items()):
        cell = track.cell_of(second)
        if rows is track.reasons or track.throttled(cell):
            by_cell[cell].append((second, sum(reasons.values())))
    return by_cell
