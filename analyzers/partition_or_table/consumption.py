"""The last grade: what consumption says of a throttled cell where no cause was stated.

The client's seconds are asked first (seconds.py), where they speak for the resource. Else it is CloudWatch's
minutes, held against what is provisioned (minutes.py) or against an on-demand table's limits (on_demand.py).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from keyheat.analysis.rules import CHANGED, NEITHER, RULES, WHOSE
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTimeline, EvidenceTrack
from keyheat.evidence.settings import Steps, partition_ceiling
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

NO_CLOUDWATCH: Final = 0.95  # factor: nothing but the client's own record, and others may use the table too
CLIENT_ALONE: Final = 0.7  # factor: the client counts throttles, and CloudWatch was not asked for its events
MAYBE_INDEX: Final = 0.8  # factor: a write may have been refused for an index that nobody asked about
NEAR_S: Final = 2  # seconds on both sides of a throttled one that are looked at
LAST_S: Final = 2**53  # later than any evidence

Throttled = Mapping[int, Sequence[tuple[int, int]]]
"""The client's throttled seconds by cell: (second, throttles)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to read what was provisioned: one is enough, unless it was changed at an unknown moment."""

    provisioned: Steps
    by_minute: MinuteReading
    banks: Mapping[int, Bank]  # by second
    pinned: float  # share of all throttled seconds in which just what is provisioned was consumed


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """One track made ready for opinions: what was consumed by second, of what, in each way to read that."""

    timeline: EvidenceTimeline
    track: EvidenceTrack
    numbers: Thresholds
    ways: tuple[Way, ...]
    full_indexes: tuple[str, ...]  # those at what is provisioned while it throttled, their events not known
    rates: SecondRates
    throttled: Throttled
    pinned_to_maximum: float  # share of all throttled seconds at just the on-demand maximum
    too_few: float  # share of all throttled seconds with too few units for a full partition
    _minutes: dict[tuple[int, float], ThrottledMinute] = field(default_factory=dict, compare=False)

    def opinion(self, cell: int, start_s: int = 0, end_s: int = LAST_S) -> Opinion:
        """What the evidence without stated causes says of one cell, or of the part within two seconds."""
        seconds = self.seconds(cell)
        if seconds:
            return self.settled(self._majority([s for s in seconds if start_s <= s.second < end_s]))
        return self.by_minute(cell)

    def by_minute(self, cell: int) -> Opinion:
        """What CloudWatch's minute says of one cell, whatever the client's seconds do."""
        track = self.track
        on_demand_then = track.on_demand_at(cell)
        if on_demand_then:
            return self.settled(on_demand.by_minutes(self.timeline, track, cell, self.numbers))
        if on_demand_then is None and track.on_demand is False:
            because = "What was provisioned then was not published: perhaps the table was on-demand."
            return undecided("undetermined-no-provisioned", because)
        return self.settled(minutes.by_minutes(tuple(way.by_minute for way in self.ways), cell))

    def seconds(self, cell: int) -> list[ThrottledSecond]:
        """The client's throttled seconds in a cell; none where they do not speak for the resource."""
        track = self.track
        known = [found for found in self.throttled.get(cell, ()) if found[0] in self.rates.by_second]
        paid = track.on_demand_at(cell)
        if not known or (not paid and self._shared(cell)):
            return []
        if paid is None and track.on_demand is False:
            return []
        look = self._on_demand_second if paid else self._provisioned_second
        return [second for at, count in known if (second := look(cell, at, count)) is not None]

    def settled(self, opinion: Opinion) -> Opinion:
        """The opinion after what is not known is taken off; `undetermined` where too little is left."""
        track = self.track
        if opinion.rule.startswith("seconds") and track.consumed is None:
            opinion = opinion.weaker(NO_CLOUDWATCH, "This rests on the client's own record alone.")
        elif track.client_alone and not opinion.rule.startswith("seconds"):
            because = "Only the client counts these throttles: CloudWatch was not asked for throttle events."
            opinion = opinion.weaker(CLIENT_ALONE, because)
        # A write refused for an index looks like the table's unless CloudWatch counts events there.
        indexes = self.timeline.indexes(track.direction)
        if track.index is None and track.direction == "write" and indexes and track.events is None:
            if self.full_indexes and (opinion.constraint == "partition" or opinion.rule == NEITHER):
                return undecided(WHOSE, _full(self.full_indexes))
            opinion = opinion.weaker(
                MAYBE_INDEX, "An index may be the cause: its throttle events are not known."
            )
        return decided(opinion, self.numbers.inferred.decide_at)

    def _shared(self, cell: int) -> bool:
        """Whether several resources refused writes: then nobody knows whose a second's throttles are."""
        tracks = self.timeline.tracks if self.track.direction == "write" else ()
        return sum(t.throttled(cell) for t in tracks if t.direction == "write") > 1

    def _majority(self, seconds: Sequence[ThrottledSecond]) -> Opinion:
        if not seconds:
            return undecided("undetermined-no-provisioned", "What was provisioned is not known.")
        said = smoothed(seconds)
        heaviest = max(said, key=lambda second: second.throttles)
        own = [second for second in said if second.constraint == heaviest.constraint]
        return by_seconds(own, self.track.direction, self.numbers)

    def _on_demand_second(self, cell: int, at: int, throttles: int) -> ThrottledSecond:
        use = on_demand.use(self.timeline, self.track, cell, self.rates.by_second[at], self.numbers)
        limit = use.maximum or use.quota * self._part_at(at, use.rate / use.total if use.total else 1.0)
        around = self._near(cell, at, limit, None, self.pinned_to_maximum if use.maximum else 0.0)
        rule, bound = on_demand.rule_of(around, maximum=use.maximum is not None)
        rate = self.rates.own.get(at, 0.0) + around.others_per_s
        return ThrottledSecond(at, throttles, rate, limit, rule, bound)

    def _provisioned_second(self, cell: int, at: int, throttles: int) -> ThrottledSecond | None:
        found = [
            (around, *rule_of(around))
            for way in self.ways
            if (around := self._around(way, cell, at)) is not None
        ]
        if not found:
            return None
        found = [one for one in found if not (one[0].bank and one[0].bank.overdrawn)] or found
        found = [one for one in found if one[1] != NEITHER] or found  # something was at its limit
        if len({RULES[rule].constraint for _, rule, _ in found} - {"undetermined"}) > 1:
            likely = [one for one in found if one[1] == "seconds-at-provisioned"]
            found = likely if len(likely) == 1 else [(found[0][0], CHANGED, None)]
        around, rule, bound = min(found, key=lambda one: self._sure(one[1]))
        rate = self.rates.own.get(at, 0.0) + around.others_per_s
        return ThrottledSecond(at, throttles, rate, around.capacity, rule, bound, around.ceiling)

    def _sure(self, rule: str) -> float:
        return self.numbers.confidence.rules.get(rule, 0.0)

    def _around(self, way: Way, cell: int, at: int) -> AroundSecond | None:
        capacity = way.provisioned.at(at)
        return self._near(cell, at, capacity, way.banks.get(at), way.pinned) if capacity else None

    def _near(self, cell: int, at: int, capacity: float, bank: Bank | None, pinned: float) -> AroundSecond:
        own, minute = self.rates.own, self._minute(cell, capacity)
        near = [own.get(s, 0.0) for s in range(at - NEAR_S, at + NEAR_S + 1) if s in minute.throttled]
        return AroundSecond(
            capacity=capacity,
            ceiling=partition_ceiling(self.track.direction, self.timeline.scale),
            in_chunks_below=DEFAULT.nodes_below_units_per_s * self.timeline.scale,
            rate=sum(near) / len(near),
            most=self.rates.most(at),
            two=self.rates.two(at),
            minute=minute,
            request_units=self.rates.item_units,
            bank=bank,
            pinned=pinned,
            too_few=self.too_few,
            rests=self.track.index is not None and self.track.direction == "write",
        )

    def _minute(self, cell: int, capacity: float) -> ThrottledMinute:
        found = self._minutes.get((cell, capacity))
        if found is None:
            ceiling = partition_ceiling(self.track.direction, self.timeline.scale)
            seconds = [second for second, _ in self.throttled[cell]]
            found = throttled_minute(self.rates, seconds, cell, self.track.step_s, capacity, ceiling)
            self._minutes[cell, capacity] = found
        return found

    def _part_at(self, second: int, in_the_minute: float) -> float:
        """The resource's part of what it and those that share its quota consumed then, by the client."""
        tracks = [track for track in self.timeline.tracks if track.direction == self.track.direction]
        rows = [(track.seconds or {}).get(second) for track in tracks]
        total = sum(row.consumed for row in rows if row is not None)
        own = self.rates.own.get(second, 0.0)
        return own / total if self.track.seconds and own and total else in_the_minute


def consumption(timeline: EvidenceTimeline, track: EvidenceTrack, numbers: Thresholds) -> Consumption:
    """Make a track ready for opinions."""
    used = rates(timeline, track, numbers.inferred.client_share)
    throttled = _throttled(timeline, track)
    return Consumption(
        timeline=timeline,
        track=track,
        numbers=numbers,
        ways=tuple(
            _way(timeline, track, numbers, provisioned, used, throttled)
            for provisioned in track.provisioned.readings or (track.provisioned,)
        ),
        full_indexes=_full_indexes(timeline, track, throttled, numbers),
        rates=used,
        throttled=throttled,
        pinned_to_maximum=pinned_share(throttled, used, track.maximum.at) if track.on_demand else 0.0,
        too_few=_too_few(throttled, used, track, partition_ceiling(track.direction, timeline.scale)),
    )


def _way(
    timeline: EvidenceTimeline,
    track: EvidenceTrack,
    numbers: Thresholds,
    provisioned: Steps,
    used: SecondRates,
    throttled: Throttled,
) -> Way:
    extra, ceiling = _extra(timeline, track), partition_ceiling(track.direction, timeline.scale)
    by_cell = (track.consumed or {}).items()
    highest = highest_of(track)
    chunks = DEFAULT.nodes_below_units_per_s * timeline.scale
    seconds = used.by_second.items()
    banks = burst.banks(seconds, provisioned, step_s=1, extra=extra, own=used.own, highest=highest)
    in_minutes = burst.banks(by_cell, provisioned, step_s=track.step_s, extra=extra, highest=highest)
    return Way(
        provisioned=provisioned,
        by_minute=MinuteReading(track, provisioned, in_minutes, ceiling, chunks, numbers),
        banks=banks,
        pinned=pinned_share(throttled, used, provisioned.at),
    )


def pinned_share(
    throttled: Mapping[int, Sequence[tuple[int, int]]],
    used: SecondRates,
    limit_at: Callable[[int], float | None],
) -> float:
    """The part of the throttled seconds in which just the limit was consumed, within 2 %."""
    known = exact = 0
    for second in (second for moments in throttled.values() for second, _ in moments):
        limit = limit_at(second)
        if second not in used.own or not limit:
            continue
        known += 1
        exact += abs(used.own[second] - limit) <= 0.02 * limit + used.item_units
    return exact / known if known else 0.0


def _too_few(throttled: Throttled, used: SecondRates, track: EvidenceTrack, ceiling: float) -> float:
    """The part of the throttled seconds in which no partition was full, if others consumed evenly."""
    known = few = 0
    for cell, moments in throttled.items():
        others = 2 * used.others.get(cell, 0.0) / track.step_s
        for second in (at for at, _ in moments if at in used.own):
            known += 1
            few += not_a_partition(used.two(second), others, ceiling).holds
    return few / known if known else 0.0


def highest_of(track: EvidenceTrack) -> Callable[[float], float | None]:
    """The most that can have been provisioned at a second, however a change within a period is read."""
    readings = track.provisioned.readings or (track.provisioned,)

    def highest(second: float) -> float | None:
        if track.on_demand_at(second):
            return None
        return max((rate for one in readings if (rate := one.at(second)) is not None), default=None)

    return highest


def _full_indexes(
    timeline: EvidenceTimeline, track: EvidenceTrack, throttled: Iterable[int], numbers: Thresholds
) -> tuple[str, ...]:
    """Indexes without known throttle events that used up what is provisioned in a cell that throttled."""
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
        f"All that is provisioned for {which} was consumed, and the throttle events of the table and its "
        "indexes are not known: perhaps an index refused the writes."
    )


def _extra(timeline: EvidenceTimeline, track: EvidenceTrack) -> Extra:
    """What a bucket holds beyond its 300 s, at the scale of a local table."""
    waits = track.index is not None and track.direction == "write"
    return Extra(
        floor_units=DEFAULT.burst_floor_units * timeline.scale,
        buffer_units=DEFAULT.index_buffer_units * timeline.scale if waits else 0.0,
    )


def _throttled(timeline: EvidenceTimeline, track: EvidenceTrack) -> Throttled:
    """The client's throttled seconds by cell. A write that an index refused is the table's to the client."""
    rows = track.reasons
    if track.index is not None and track.direction == "write" and not rows:
        table = timeline.track(None, WRITE)
        rows = table.reasons if table else {}
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for second, reasons in sorted(rows.items()):
        cell = track.cell_of(second)
        if rows is track.reasons or track.throttled(cell):
            found[cell].append((second, sum(reasons.values())))
    return found
