"""How a minute becomes "table" or "partition": the inferred grade for provisioned capacity, by CloudWatch.

Inequalities exclude limits first (bounds.py). The rest is weighed by average consumption against provisioned
capacity, and by the other throttled minutes; the first of these rules decides:

    rule           consumed   and                                   throttled by
    _too_few       little     -                                     the table: no partition can have been full
    _in_chunks     -          next to nothing is provisioned        the table: it gets capacity in chunks
    _later         -          later, more than the refill is used   a partition: the table was not empty
    _at            equal      -                                     the table
    _spent_before  below      burst spent by estimate               the table, in a partly loaded minute
    _pinned        -          other minutes are at provisioned      the table, in this minute as well
    _above         above      burst spent by estimate               the table, from then on
                   above      all that was saved since the last     the table, by a job that empties its burst
                   above      the next throttled minute is, too     a partition: burst was still granted
    _below         below      little is provisioned                 the table: burst must fill a partition
                   far below  much is provisioned                   a partition, most likely
                   below      else                                  undetermined: perhaps without burst

A cell is a minute, or a longer period of an old window. Its average hides what happened within it, so the
client's seconds come first (seconds.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from keyheat.analysis.rules import AT_CEILING, Thresholds
from keyheat.analysis.track import EvidenceTrack
from keyheat.evidence.settings import Steps
from keyheat.model import limits
from keyheat.numbers import of_provisioned, span, units, whole

from .bounds import (
    BELOW,
    Bank,
    Bound,
    later_spent,
    lowered,
    not_a_partition,
    of_whole_partitions,
)
from .opinion import Opinion, leaning, neither, opinion_of, undecided

LONG: Final = 0.7  # factor: an average of an hour hides minutes at the table's limit
PINNED: Final = 0.3  # least share of throttled minutes at provisioned that shows the table's limit
ALL_SAVED: Final = 0.02  # relative difference of what was consumed from what was provisioned meanwhile
LEAST_TIMES: Final = 3  # throttled minutes that took all that was saved since the last: hardly by chance
HALF: Final = 0.5  # of provisioned: below it, only a load with long pauses meets the table's limit
MOVED: Final = 1.15  # times the refill: part of a minute may be counted in the next one
FEW_PARTITIONS: Final = 2  # times one partition's ceiling: up to here the table may be the limit as well
LITTLE_MORE: Final = 0.7  # factor: 12 of 17 such cases in wide worlds were a partition's, 194 of 197 above


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One reading of a resource's provisioned capacity; there are two if it changed at an unknown moment."""

    track: EvidenceTrack
    provisioned: Steps
    banks: Mapping[int, Bank]  # by cell
    banks_by_second: Mapping[int, Bank]
    pinned_seconds: float  # share of all throttled seconds at exactly the provisioned rate
    numbers: Thresholds

    def pinned(self, capacity: float) -> bool:
        """Whether the table's limit shows: many throttled minutes were at exactly their provisioned rate.

        Only of minutes with as much or more: a demand that fills less says nothing of this capacity.
        """
        alike = [each for each in self._pinned if each >= capacity]
        return bool(alike) and self._pinned[min(alike)]

    @cached_property
    def _pinned(self) -> Mapping[float, bool]:
        cells = [cell for cell, events in (self.track.events or {}).items() if events]
        minutes = [minute for cell in cells if (minute := self.minute(cell)) is not None]
        minutes.sort(key=lambda minute: -minute.capacity)
        result, at = {}, 0
        for number, minute in enumerate(minutes, start=1):
            at += minute.at and not minute.whole_partitions
            result[minute.capacity] = at > 0 and at >= PINNED * number
        return result

    @cached_property
    def emptied(self) -> frozenset[int]:
        """The throttled cells, apart from each other, that took all that was saved since the one before."""
        step_s, cells = self.track.step_s, sorted(filter(self.track.throttled, self.track.events or {}))
        result: set[int] = set()
        for before, cell in pairwise(cells):
            between = range(before + step_s, cell + step_s, step_s)
            minutes = [minute for each in between if (minute := self.minute(each)) is not None]
            if 1 < len(minutes) == len(between):
                used, saved = (sum(getattr(each, of) for each in minutes) for of in ("rate", "capacity"))
                result |= {before, cell} if abs(used - saved) <= ALL_SAVED * saved else set()
        return frozenset(result if len(result) >= LEAST_TIMES else ())

    def minute(self, cell: int) -> "Minute | None":
        """Return one cell; None if consumption or capacity is unknown."""
        rate, capacity = self.track.consumed_per_s(cell), self.provisioned.at(cell)
        bank = self.banks.get(cell)
        return Minute(self, cell, rate, capacity, bank) if rate is not None and capacity and bank else None


@dataclass(frozen=True, slots=True)
class Minute:
    """One cell with its measurements."""

    reading: Reading
    cell: int
    rate: float  # consumed units/s, in the mean
    capacity: float  # provisioned units/s
    bank: Bank

    @property
    def track(self) -> EvidenceTrack:
        return self.reading.track

    @property
    def share(self) -> float:
        return self.rate / self.capacity

    @property
    def at(self) -> bool:
        """Whether exactly the provisioned capacity was consumed."""
        inferred = self.reading.numbers.inferred
        return inferred.at_provisioned_low <= self.share <= inferred.at_provisioned_high

    @property
    def most_provisioned(self) -> float:
        """The highest capacity of all readings: only more than that was burst for certain."""
        provisioned = self.track.provisioned
        return max(reading.at(self.cell) or 0.0 for reading in (provisioned, *provisioned.readings))

    @property
    def used(self) -> float:
        return self.rate * self.track.step_s

    @property
    def spent_after(self) -> bool:
        return self.bank.spent_after(self.reading.numbers.inferred.burst_spent_share)

    @property
    def whole_partitions(self) -> bool:
        """Whether a number of partitions at their ceiling serve the rate."""
        return of_whole_partitions(self.rate, self.track.ceiling, self.capacity)

    @property
    def pinned(self) -> bool:
        return self.reading.pinned(self.capacity)

    @property
    def conclusive(self) -> bool:
        """Whether a rate at provisioned names the table: no whole partitions serve it, or it was lowered."""
        return not self.whole_partitions or lowered(self.reading.provisioned, self.cell)

    @property
    def events(self) -> float:
        return (self.track.events or {}).get(self.cell, 0.0)

    def near(self, offset: int) -> "Minute | None":
        """Return the cell before (-1) or after (+1) if it throttled, too."""
        cell = self.cell + offset * self.track.step_s
        return self.reading.minute(cell) if self.track.throttled(cell) else None

    def says(self, rule: str, because: str) -> Opinion:
        """Return a rule's opinion that starts with this cell's numbers."""
        return opinion_of(rule, f"{self.consumed}{because}", self.reading.numbers)

    @property
    def consumed(self) -> str:
        """The consumption as the beginning of a sentence; a label quotes its heaviest minute."""
        used = of_provisioned(self.rate, self.capacity, self.track.direction)
        return f"In the {self.track.cell_name} with the most throttles, {used} were consumed on average"


def opinion(minute: Minute) -> Opinion:
    """Judge a minute, or a longer period, by its average: the first rule with an opinion decides."""
    return next(opinion for rule in IN_ORDER if (opinion := rule(minute)) is not None)


def _too_few(minute: Minute) -> Opinion | None:
    if not not_a_partition(minute.used, 0.0, minute.track.ceiling).holds:
        return None
    if minute.capacity >= minute.track.in_chunks_below and minute.used < BELOW * minute.capacity:
        return neither(minute.consumed, minute.track.ceiling, minute.track.direction)
    few = f": {whole(minute.used)} units in all, fewer than one partition serves within a second"
    return minute.says("minutes-too-few-units", f"{few}.")


def _in_chunks(minute: Minute) -> Opinion | None:
    if minute.capacity >= minute.track.in_chunks_below:
        return None
    full_s = minute.used / minute.track.ceiling
    filled = f"all units together fill a partition for at most {full_s:.1f} s of {minute.track.step_s}"
    chunks = "so small a table gets its capacity and its burst in chunks, with pauses between them"
    return minute.says("minutes-in-chunks", f": {chunks}, and {filled}.")


def _later(minute: Minute) -> Opinion | None:
    later = later_spent(minute.bank.shown_after, MOVED * minute.capacity, 0.0, minute.track.step_s)
    if not later.holds:
        return None
    rule = "minutes-below-provisioned" if minute.share < 1 else "minutes-burst-in-hand"
    return minute.says(rule, f". {later_words(later)}.")


def later_words(later: Bound) -> str:
    """Show both sides of the bound for "the table was not empty"."""
    return (
        f"Burst was left: afterwards {whole(later.more)} units above the capacity were consumed, and at most "
        f"{whole(later.less)} can have been refilled while it throttled"
    )


def _at(minute: Minute) -> Opinion | None:
    if not minute.at:
        return None
    if minute.spent_after:
        return minute.says("minutes-at-provisioned", ", and the burst was spent.")
    if not minute.pinned and not minute.whole_partitions:
        return minute.says("minutes-at-once", f", in few of the throttled {minute.track.cell_name}s.")
    if not minute.conclusive:
        ambiguous = ". By estimate burst was left, and partitions at their limit serve exactly this rate, too"
        return undecided(AT_CEILING, f"{minute.consumed}{ambiguous}.")
    return minute.says("minutes-at-provisioned", ".")


def _spent_before(minute: Minute) -> Opinion | None:
    if minute.share >= 1 or not minute.bank.spent_before(minute.reading.numbers.inferred.burst_spent_share):
        return None
    partly = ", after the burst was spent: a partly loaded period at the table's limit"
    return minute.says("minutes-burst-spent", f"{partly}.")


def _pinned(minute: Minute) -> Opinion | None:
    if not minute.pinned:
        return None
    others = f"other throttled {minute.track.cell_name}s are at exactly the provisioned rate"
    if minute.share < 1:
        return leaning(f"{minute.consumed}; {others}.", "table")
    return minute.says("minutes-burst-spent", f"; {others}.")


def _above(minute: Minute) -> Opinion | None:
    if minute.share < 1:
        return None
    if minute.cell in minute.reading.emptied:
        saved = f": with the calm {minute.track.cell_name}s since the one before, just what was provisioned"
        return minute.says("minutes-burst-spent", f"{saved}, so all that was saved.")
    before, after = minute.near(-1), minute.near(1)
    ran_out = minute.spent_after or (after is not None and after.at and after.conclusive)
    while_burst_lasted = 0.0  # throttles, estimated from the minute before
    if before is not None and before.rate > minute.capacity:
        share = (minute.rate - minute.capacity) / (before.rate - minute.capacity)
        while_burst_lasted = min(1.0, share) * before.events
    if ran_out and while_burst_lasted <= HALF * minute.events:
        within = f": the burst was spent within the {minute.track.cell_name}"
        return minute.says("minutes-burst-spent", f"{within}.")
    if after is not None and after.rate > after.most_provisioned and not after.at:
        granted = f": the table still granted burst in the next {minute.track.cell_name}"
        return minute.says("minutes-burst-estimated", f"{granted}.")
    return leaning(f"{minute.consumed}: whether the burst ran out before is unknown.", "partition")


def _below(minute: Minute) -> Opinion:
    partition = units(minute.track.ceiling, minute.track.direction)
    if minute.capacity < minute.track.ceiling:
        small = f". Less is provisioned than the {partition} that a partition serves: only burst can fill one"
        return leaning(f"{minute.consumed}{small}.", "table")
    burst = f", with an estimated {minute.bank.likely_after:,.0f} units of burst left"
    rule = "minutes-below-estimated" if minute.share < HALF else "minutes-near-provisioned"
    opinion = minute.says(rule, f"{burst}, if it was granted.")
    if minute.share < HALF and minute.capacity < FEW_PARTITIONS * minute.track.ceiling:
        few = f"Little more is provisioned than the {partition} that a partition serves."
        opinion = opinion.weaker(LITTLE_MORE, few)
    if minute.track.step_s <= limits.BURST_S:
        return opinion
    return opinion.weaker(LONG, f"An average of {span(minute.track.step_s)} shows no bursts of minutes.")


IN_ORDER: Final[tuple[Callable[[Minute], Opinion | None], ...]] = (
    _too_few, _in_chunks, _later, _at, _spent_before, _pinned, _above, _below,
)  # fmt: skip
