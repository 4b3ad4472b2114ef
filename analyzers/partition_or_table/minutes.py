"""The inferred grade for provisioned capacity, by CloudWatch's minutes (or longer periods of old windows).

What throttled a minute? What cannot have been is excluded first (bounds.py); the rest is weighed by the
average, consumed against provisioned, and by what the other throttled minutes show:

    consumed     shown                                   throttled by
    little       any                                     the table: no partition can have been full
    any          spent later, more than comes in         a partition: the table was not empty
    any          throttled minutes at provisioned        the table, in the others as well
    equal        none                                    the table
    above        the next throttled minute is, too       a partition: the table went on giving burst
    above        burst spent by estimate                 the table, from then on
    below        little provisioned                      the table: a partition would take burst to be full
    far below    much provisioned                        a partition, most likely
    below        else                                    nobody knows: burst may not have come

A minute's average hides what happened within it, so the client's seconds are asked first (seconds.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from keyheat.analysis.rules import AT_CEILING, CHANGED, NEITHER
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.timeline import EvidenceTrack
from keyheat.evidence.settings import Steps
from keyheat.model import limits
from keyheat.numbers import consumed_units, of_provisioned, span, units, whole

from .bounds import BELOW, Bound, later_spent, later_words, not_a_partition
from .burst import LOWER, Bank, lowered, of_whole_partitions
from .opinion import Opinion, leaning, neither, opinion_of, undecided

AS_BEFORE: Final = 1.1  # times what was served before: so little more is the same load
LONG: Final = 0.7  # factor: minutes at the table's limit show in no average of an hour
MOMENT: Final = 0.9  # factor: the moment of a change is not known
PINNED: Final = 0.3  # of all throttled minutes: so many at what is provisioned show the table's limit
HALF: Final = 0.5  # of what is provisioned: less takes long pauses within the minute to be the table's limit
MOVED: Final = 1.15  # times what comes in: a part of a minute may be counted in the next one
FEW_PARTITIONS: Final = 2  # times one partition's ceiling: of so little the table may be the limit as well
LITTLE_MORE: Final = 0.7  # factor: 12 of 17 of these in wide worlds were a partition's, and 194 of 197 above


@dataclass(frozen=True)
class MinuteReading:
    """One resource by minutes, with what was provisioned read in one way."""

    track: EvidenceTrack
    provisioned: Steps
    banks: Mapping[int, Bank]
    ceiling: float  # of one partition, units/s
    in_chunks_below: float  # units/s of a table whose capacity is handed out in chunks
    numbers: Thresholds

    @cached_property
    def pinned(self) -> bool:
        """Whether throttled minutes show the table's limit: many are at just what is provisioned."""
        cells = [cell for cell, events in (self.track.events or {}).items() if events]
        found = [minute for cell in cells if (minute := self.minute(cell)) is not None]
        told = [minute for minute in found if not minute.whole_partitions]
        return bool(told) and sum(minute.at for minute in told) >= PINNED * len(found)

    def minute(self, cell: int) -> "Minute | None":
        """One cell; None where consumption or capacity is not known."""
        rate, capacity, bank = (
            self.track.consumed_per_s(cell), self.provisioned.at(cell), self.banks.get(cell)
        )  # fmt: skip
        if rate is None or not capacity or bank is None:
            return None
        return Minute(self, cell, rate, capacity, bank)


@dataclass(frozen=True, slots=True)
class Minute:
    """One cell with what is known of it."""

    reading: MinuteReading
    cell: int
    rate: float  # consumed units/s, in the mean
    capacity: float  # provisioned units/s
    bank: Bank

    @property
    def numbers(self) -> Thresholds:
        return self.reading.numbers

    @property
    def track(self) -> EvidenceTrack:
        return self.reading.track

    @property
    def share(self) -> float:
        return self.rate / self.capacity

    @property
    def at(self) -> bool:
        """Whether what is provisioned was consumed, no more and no less."""
        inferred = self.numbers.inferred
        return inferred.at_provisioned_low <= self.share <= inferred.at_provisioned_high

    @property
    def used(self) -> float:
        return self.rate * self.track.step_s

    @property
    def spent_after(self) -> bool:
        return self.bank.spent_after(self.numbers.inferred.burst_spent_share)

    @property
    def whole_partitions(self) -> bool:
        """Whether the rate is what a number of partitions serves at their ceiling."""
        return of_whole_partitions(self.rate, self.reading.ceiling, self.capacity)

    @property
    def held(self) -> bool:
        """Whether a rate at what is provisioned tells: no partitions serve it, or it was lowered to it."""
        return not self.whole_partitions or lowered(self.reading.provisioned, self.cell)

    @property
    def partition(self) -> Bound:
        return not_a_partition(self.used, 0.0, self.reading.ceiling)

    @property
    def later(self) -> Bound:
        return later_spent(self.bank.shown_after, MOVED * self.capacity, 0.0, self.track.step_s)

    @property
    def events(self) -> float:
        return (self.track.events or {}).get(self.cell, 0.0)

    def near(self, way: int) -> "Minute | None":
        """The cell before (-1) or after (+1), where it throttled, too."""
        cell = self.cell + way * self.track.step_s
        return self.reading.minute(cell) if self.track.throttled(cell) else None

    def says(self, rule: str, because: str) -> Opinion:
        """An opinion with this cell's numbers in front."""
        return opinion_of(rule, f"{self.consumed}{because}", self.numbers)

    @property
    def consumed(self) -> str:
        """What was consumed, as the beginning of a sentence; of a label's minutes the heaviest one speaks."""
        used = of_provisioned(self.rate, self.capacity, self.track.direction)
        return f"In the {self.track.cell_name} that throttled most, {used} were consumed on average"


def by_minutes(readings: tuple[MinuteReading, ...], cell: int) -> Opinion:
    """What a minute's average (or that of a longer period) says of one cell."""
    minutes = [minute for reading in readings if (minute := reading.minute(cell)) is not None]
    if not minutes:
        return _unknown(readings[0].track, cell)
    if (found := _lowered_within(minutes)) is not None:
        return found
    possible = [minute for minute in minutes if not minute.bank.overdrawn] or minutes
    told = [(minute, _opinion(minute)) for minute in possible]
    told = [one for one in told if one[1].rule != NEITHER] or told  # something was at its limit
    at = [opinion for minute, opinion in told if minute.at]
    if len(at) == 1:  # what is provisioned in one reading was consumed, hardly by chance
        return at[0]
    opinions = [opinion for _, opinion in told]
    if len({opinion.constraint for opinion in opinions}) == 1:
        return min(opinions, key=lambda opinion: opinion.confidence)
    return _changed(possible)


def _lowered_within(minutes: list[Minute]) -> Opinion | None:
    """The capacity was lowered at some moment of these five minutes, and a load that was served is not."""
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
    return opinion.weaker(MOMENT, "When it was lowered is not known.")


def _opinion(minute: Minute) -> Opinion:
    return next(opinion for rule in IN_ORDER if (opinion := rule(minute)) is not None)


def _unknown(track: EvidenceTrack, cell: int) -> Opinion:
    used = track.consumed_per_s(cell)
    if used is None:
        return undecided(
            "undetermined-no-consumed", "The consumed units of the throttled time are not known."
        )
    return undecided(
        "undetermined-no-provisioned",
        f"{consumed_units(used, track.direction)} were consumed, but what is provisioned is not known.",
    )


def _changed(minutes: list[Minute]) -> Opinion:
    rates = " or ".join(whole(minute.capacity) for minute in minutes)
    return undecided(
        CHANGED,
        f"{consumed_units(minutes[0].rate, minutes[0].track.direction)} were consumed, and {rates} were "
        "provisioned: that was changed within these five minutes, and nobody knows when.",
    )


def _too_few(minute: Minute) -> Opinion | None:
    if not minute.partition.holds:
        return None
    if minute.capacity >= minute.reading.in_chunks_below and minute.used < BELOW * minute.capacity:
        return neither(minute.consumed, minute.reading.ceiling, minute.track.direction)
    few = f": {whole(minute.used)} units in all, fewer than one partition serves within a second"
    return minute.says("minutes-too-few-units", f"{few}.")


def _in_chunks(minute: Minute) -> Opinion | None:
    if minute.capacity >= minute.reading.in_chunks_below:
        return None
    full_s = minute.used / minute.reading.ceiling
    took = f"all that was consumed would fill a partition for {full_s:.1f} s of {minute.track.step_s}"
    chunks = "so small a table is given its capacity and its burst in chunks, with pauses between them"
    return minute.says("minutes-in-chunks", f": {chunks}, and {took} at most.")


def _later(minute: Minute) -> Opinion | None:
    if not minute.later.holds:
        return None
    rule = "minutes-below-provisioned" if minute.share < 1 else "minutes-burst-in-hand"
    return minute.says(rule, f". {later_words(minute.later)}.")


def _at(minute: Minute) -> Opinion | None:
    if not minute.at:
        return None
    if minute.spent_after:
        return minute.says("minutes-at-provisioned", ", and the burst was spent.")
    if not minute.reading.pinned and not minute.whole_partitions:
        return minute.says("minutes-at-once", f", in few of the throttled {minute.track.cell_name}s.")
    if not minute.held:
        held = ". Burst is left by estimate, and whole partitions serve just as much"
        return undecided(AT_CEILING, f"{minute.consumed}{held}.")
    return minute.says("minutes-at-provisioned", ".")


def _spent_before(minute: Minute) -> Opinion | None:
    if minute.share >= 1 or not minute.bank.spent_before(minute.numbers.inferred.burst_spent_share):
        return None
    partly = ", after the burst was spent: a partly loaded period at the table's limit"
    return minute.says("minutes-burst-spent", f"{partly}.")


def _pinned(minute: Minute) -> Opinion | None:
    if not minute.reading.pinned:
        return None
    others = f"other throttled {minute.track.cell_name}s are at just what is provisioned"
    if minute.share < 1:
        return leaning(f"{minute.consumed}; {others}.", "table")
    return minute.says("minutes-burst-spent", f"; {others}.")


def _above(minute: Minute) -> Opinion | None:
    if minute.share < 1:
        return None
    after = minute.near(1)
    ran_out = minute.spent_after or (after is not None and after.at and after.held)
    if ran_out and _while_burst_lasted(minute) <= HALF * minute.events:
        within = f": the burst was spent within the {minute.track.cell_name}"
        return minute.says("minutes-burst-spent", f"{within}.")
    if after is not None and after.share > 1 and not after.at:
        return minute.says(
            "minutes-burst-estimated",
            f": the table was still giving burst in the next {minute.track.cell_name}.",
        )
    return leaning(f"{minute.consumed}: whether the burst ran out before is not known.", "partition")


def _while_burst_lasted(minute: Minute) -> float:
    """Throttles that fit to the part of the minute in which there was burst, as in the minute before."""
    before = minute.near(-1)
    if before is None or before.rate <= minute.capacity:
        return 0.0
    part = (minute.rate - minute.capacity) / (before.rate - minute.capacity)
    return min(1.0, part) * before.events


def _below(minute: Minute) -> Opinion:
    one = units(minute.reading.ceiling, minute.track.direction)
    if minute.capacity < minute.reading.ceiling:
        small = f". Less is provisioned than the {one} that a partition serves, so that it would take burst"
        return leaning(f"{minute.consumed}{small}.", "table")
    left = f", with {minute.bank.likely_after:,.0f} units of burst in hand by estimate"
    rule = "minutes-below-estimated" if minute.share < HALF else "minutes-near-provisioned"
    opinion = minute.says(rule, f"{left}, if it came.")
    if minute.share < HALF and minute.capacity < FEW_PARTITIONS * minute.reading.ceiling:
        few = f"Little more is provisioned than the {one} that a partition serves."
        opinion = opinion.weaker(LITTLE_MORE, few)
    if minute.track.step_s <= limits.BURST_S:
        return opinion
    return opinion.weaker(LONG, f"An average of {span(minute.track.step_s)} shows no bursts of minutes.")


IN_ORDER: Final[tuple[Callable[[Minute], Opinion | None], ...]] = (
    _too_few,
    _in_chunks,
    _later,
    _at,
    _spent_before,
    _pinned,
    _above,
    _below,
)
"""The first that has an opinion decides."""
