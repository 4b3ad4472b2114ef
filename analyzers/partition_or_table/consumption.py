"""The inferred grade: judge a throttled cell without a stated cause by consumption.

The client's seconds (seconds.py) come first if they represent the resource. Otherwise CloudWatch's minutes
are compared with the provisioned capacity (minutes.py) or an on-demand table's limits (on_demand.py).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from keyheat.analysis.rules import CHANGED, NEITHER, RULES, WHOSE, Thresholds
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.analysis.track import Cells, EvidenceTrack
from keyheat.numbers import consumed_units, whole
from keyheat.words import WRITE

from . import on_demand
from .bounds import LOWER, Bank, banks, not_a_partition
from .minutes import Minute, Reading
from .minutes import opinion as minute_opinion
from .opinion import Opinion, undecided
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
AS_BEFORE: Final = 1.1  # times the load served before: up to here it is the same load
MOMENT: Final = 0.9  # factor: the moment of a change is unknown
MAYBE_INDEX: Final = 0.8  # factor: an index whose events were not collected may have throttled a write

Throttled = Mapping[int, Sequence[tuple[int, int]]]
"""The client's throttled seconds by cell: (second, throttles)."""


@dataclass(frozen=True, kw_only=True)
class Consumption:
    """One track prepared for opinions: consumption by second, and each reading of the capacity."""

    timeline: EvidenceTimeline
    track: EvidenceTrack
    numbers: Thresholds
    readings: tuple[Reading, ...]
    rates: SecondRates
    throttled: Throttled
    pinned_to_maximum: float  # share of all throttled seconds at exactly the on-demand maximum
    too_few: float  # share of all throttled seconds with too few units for a full partition
    _minutes: dict[tuple[int, float], ThrottledMinute] = field(default_factory=dict, compare=False)

    @property
    def unattributed(self) -> Cells:
        """Throttled requests by cell that no resource's events account for: perhaps the table's."""
        return self.timeline.unattributed.get(self.track.direction, {}) if self.track.index is None else {}

    def opinion(self, cell: int, start_s: int, end_s: int) -> Opinion:
        """Judge the part of a cell from `start_s` up to `end_s` without stated causes."""
        seconds = self.seconds(cell)
        if not seconds:
            return self.by_minute(cell)
        rated = smoothed([s for s in seconds if start_s <= s.second < end_s])
        if not rated:
            unknown = undecided("undetermined-no-provisioned", "The provisioned throughput is unknown.")
            return self.settled(unknown)
        heaviest = max(rated, key=lambda second: second.throttles)
        agreeing = [second for second in rated if second.constraint == heaviest.constraint]
        return self.by_seconds(agreeing)

    def by_seconds(self, seconds: Sequence[ThrottledSecond]) -> Opinion:
        """Judge throttled seconds that share a constraint."""
        return self.settled(by_seconds(seconds, self.track, self.numbers))

    def by_minute(self, cell: int) -> Opinion:
        """Judge one cell by CloudWatch's minute, ignoring the client's seconds."""
        track = self.track
        on_demand_then = track.on_demand_at(cell)
        if on_demand_then:
            return self.settled(on_demand.by_minutes(self.timeline, track, cell, self.numbers))
        if on_demand_then is None and track.on_demand is False:
            because = "CloudWatch published no provisioned capacity then: perhaps the table was on-demand."
            return undecided("undetermined-no-provisioned", because)
        return self.settled(_by_minutes(self.readings, cell))

    def seconds(self, cell: int) -> list[ThrottledSecond]:
        """The client's throttled seconds in a cell; none if they do not represent the resource."""
        track = self.track
        moments = [moment for moment in self.throttled.get(cell, ()) if moment[0] in self.rates.by_second]
        on_demand_then = track.on_demand_at(cell)
        if not moments or (on_demand_then is None and track.on_demand is False):
            return []
        if on_demand_then:
            return [self._on_demand_second(cell, at, count) for at, count in moments]
        # Where several resources throttled writes, a second's throttles have no known resource.
        writes = [t for t in self.timeline.tracks if t.direction == track.direction == WRITE]
        if sum(t.throttled(cell) for t in writes) > 1:
            return []
        seconds = (self._provisioned_second(cell, at, count) for at, count in moments)
        return [second for second in seconds if second is not None]

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
        if track.index is None and track.direction == WRITE and indexes and track.events is None:
            if self.full_indexes and (opinion.constraint == "partition" or opinion.rule == NEITHER):
                which = f"index {self.full_indexes[0]}"
                if len(self.full_indexes) > 1:
                    which = f"the indexes {' and '.join(self.full_indexes)}"
                return undecided(
                    WHOSE,
                    f"The provisioned capacity of {which} was used up, and the throttle events of the table "
                    "and its indexes are unknown: perhaps an index throttled the writes.",
                )
            because = "An index may be the cause: its throttle events are unknown."
            opinion = opinion.weaker(MAYBE_INDEX, because)
        return opinion.decided(self.numbers.inferred.decide_at)

    @cached_property
    def full_indexes(self) -> tuple[str, ...]:
        """Indexes with unknown throttle events that used their provisioned rate in a throttled cell."""
        least = self.numbers.inferred.at_provisioned_low
        return tuple(
            index.resource
            for index in self.timeline.indexes(WRITE)
            if index.events is None and any(index.share_used(cell) >= least for cell in self.throttled)
        )

    def _on_demand_second(self, cell: int, at: int, throttles: int) -> ThrottledSecond:
        demand = on_demand.use(self.timeline, self.track, cell, self.rates.by_second[at], self.numbers)
        limit = demand.maximum or demand.quota * (demand.rate / demand.total if demand.total else 1.0)
        around = self._around(cell, at, limit, None, self.pinned_to_maximum if demand.maximum else 0.0)
        rule, bound = on_demand.rule_of(around, maximum=demand.maximum is not None)
        rate = self.rates.measured.get(at, 0.0) + around.minute.others_per_s
        return ThrottledSecond(at, throttles, rate, limit, rule, bound)

    def _provisioned_second(self, cell: int, at: int, throttles: int) -> ThrottledSecond | None:
        judged = []
        for reading in self.readings:
            if capacity := reading.provisioned.at(at):
                bank = reading.banks_by_second.get(at)
                around = self._around(cell, at, capacity, bank, reading.pinned_seconds)
                judged.append((around, *rule_of(around)))
        if not judged:
            return None
        judged = [entry for entry in judged if not (entry[0].bank and entry[0].bank.overdrawn)] or judged
        judged = [entry for entry in judged if entry[1] != NEITHER] or judged  # some limit was reached
        if len({RULES[rule].constraint for _, rule, _ in judged} - {"undetermined"}) > 1:
            likely = [entry for entry in judged if entry[1] == "seconds-at-provisioned"]
            judged = likely if len(likely) == 1 else [(judged[0][0], CHANGED, None)]
        confidence = self.numbers.confidence.rules
        around, rule, bound = min(judged, key=lambda entry: confidence.get(entry[1], 0.0))
        rate = self.rates.measured.get(at, 0.0) + around.minute.others_per_s
        return ThrottledSecond(at, throttles, rate, around.capacity, rule, bound)

    def _around(self, cell: int, at: int, capacity: float, bank: Bank | None, pinned: float) -> AroundSecond:
        minute = self._minutes.get((cell, capacity))
        if minute is None:
            seconds = [second for second, _ in self.throttled[cell]]
            minute = throttled_minute(self.rates, seconds, cell, self.track, capacity)
            self._minutes[cell, capacity] = minute
        return AroundSecond(
            second=at, track=self.track, used=self.rates, minute=minute, capacity=capacity, bank=bank,
            pinned=pinned, too_few=self.too_few,
        )  # fmt: skip


def _by_minutes(readings: Sequence[Reading], cell: int) -> Opinion:
    """Judge one cell by its average, of a minute or longer."""
    minutes = [minute for reading in readings if (minute := reading.minute(cell)) is not None]
    if not minutes:
        track = readings[0].track
        if (rate := track.consumed_per_s(cell)) is None:
            because = "The consumed units of the throttled time are unknown."
            return undecided("undetermined-no-consumed", because)
        because = (
            f"{consumed_units(rate, track.direction)} were consumed, but the provisioned capacity is unknown."
        )
        return undecided("undetermined-no-provisioned", because)
    if (lowered_opinion := _lowered_within(minutes)) is not None:
        return lowered_opinion
    possible = [minute for minute in minutes if not minute.bank.overdrawn] or minutes
    judged = [(minute, minute_opinion(minute)) for minute in possible]
    judged = [pair for pair in judged if pair[1].rule != NEITHER] or judged  # some limit was reached
    at_provisioned = [opinion for minute, opinion in judged if minute.at]
    if len(at_provisioned) == 1:  # exactly the provisioned capacity of one reading: hardly by chance
        return at_provisioned[0]
    opinions = [opinion for _, opinion in judged]
    agreed = {opinion.constraint for opinion in opinions}
    rates = [minute.capacity for minute in minutes]
    is_between = min(rates) < minutes[0].rate < max(rates)  # as where the change came within this minute
    unclear = agreed == {"undetermined"} and len(set(rates)) > 1
    if len(agreed) == 1 and not unclear and not (is_between and agreed == {"partition"}):
        return min(opinions, key=lambda opinion: opinion.confidence)
    provisioned = " or ".join(map(whole, sorted(set(rates))))
    used = consumed_units(possible[0].rate, possible[0].track.direction)
    changed = "provisioned: that changed at an unknown moment of these minutes"
    return undecided(CHANGED, f"{used} were consumed, and {provisioned} were {changed}.")


def _lowered_within(minutes: Sequence[Minute]) -> Opinion | None:
    """The capacity was lowered within these five minutes, below a load that was served before."""
    late, early = minutes[0], minutes[-1]
    before = late.reading.minute(late.cell - late.track.step_s)
    if early.capacity > LOWER * late.capacity or before is None or before.events:
        return None
    if late.rate + late.events / late.track.step_s > AS_BEFORE * before.rate or late.rate < early.capacity:
        return None
    served = consumed_units(before.rate, late.track.direction)
    opinion = early.says(
        "minutes-burst-spent",
        f". Within these five minutes that was lowered from {whole(late.capacity)}; just before, {served} "
        "were served without a throttle.",
    )
    return opinion.weaker(MOMENT, "When it was lowered is unknown.")


def consumption(timeline: EvidenceTimeline, track: EvidenceTrack, numbers: Thresholds) -> Consumption:
    """Prepare a track for opinions."""
    used = rates(timeline, track, numbers.inferred.client_share)
    throttled = _throttled(timeline, track)
    by_cell, seconds = (track.consumed or {}).items(), used.by_second.items()
    measured = used.measured.items()
    counted = [(cell, at) for cell, moments in throttled.items() for at, _ in moments if at in used.measured]
    few = 0  # seconds without a full partition, if others consumed evenly
    for cell, second in counted:
        others = 2 * used.others.get(cell, 0.0) / track.step_s
        few += not_a_partition(used.two(second), others, track.ceiling).holds
    return Consumption(
        timeline=timeline,
        track=track,
        numbers=numbers,
        readings=tuple(
            Reading(
                track=track,
                provisioned=provisioned,
                banks=banks(by_cell, provisioned, track, step_s=track.step_s, measured=by_cell),
                banks_by_second=banks(seconds, provisioned, track, step_s=1, measured=measured),
                pinned_seconds=pinned_share([at for _, at in counted], used, provisioned.at),
                numbers=numbers,
            )
            for provisioned in track.provisioned.readings or (track.provisioned,)
        ),
        rates=used,
        throttled=throttled,
        pinned_to_maximum=pinned_share([at for _, at in counted], used, track.maximum.at)
        if track.on_demand
        else 0.0,
        too_few=few / len(counted) if counted else 0.0,
    )


def pinned_share(
    throttled: Sequence[int], used: SecondRates, limit_at: Callable[[int], float | None]
) -> float:
    """Return the share of throttled seconds in which exactly the limit was consumed, within 2 %."""
    limits = [(used.measured[at], limit) for at in throttled if (limit := limit_at(at))]
    exact = sum(abs(units - limit) <= 0.02 * limit + used.item_units for units, limit in limits)
    return exact / len(limits) if limits else 0.0


def _throttled(timeline: EvidenceTimeline, track: EvidenceTrack) -> Throttled:
    """The client's throttled seconds by cell; it counts writes that an index throttled as the table's."""
    rows = track.reasons
    if track.index is not None and track.direction == WRITE and not rows:
        table = timeline.track(None, WRITE)
        rows = table.reasons if table else {}
    by_cell: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for second, reasons in sorted(rows.items()):
        cell = track.cell_of(second)
        if rows is track.reasons or track.throttled(cell):
            by_cell[cell].append((second, sum(reasons.values())))
    return by_cell
