"""The inferred grade for provisioned capacity: consumed against provisioned.

    consumed / provisioned   burst          throttled by
    well below               in hand        a partition: the table had room
    well below               just spent     the table: the minute is only partly loaded, at its limit
    about equal              spent          the table
    above                    spent by then  the table
    above                    in hand        a partition: the table was still giving more than is provisioned

A minute's average hides bursts within the minute, so the client's seconds are looked at first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyzers.burst import Bank
from analyzers.facts import partition_ceiling
from analyzers.formats import Constraint, Direction
from analyzers.numbers import of_provisioned, percent, some, units
from analyzers.opinions import Opinion, undecided
from analyzers.thresholds import Thresholds
from analyzers.timeline import Track

FIRST_CELL = 0.85  # factor: nothing shows what the burst was before the first known minute
ALONE = 0.9  # factor: a single throttled minute may hold a short burst that its average hides


@dataclass(frozen=True, slots=True)
class Second:
    """One throttled second as the client saw it: what was consumed around it, of what."""

    second: int
    throttles: int
    rate: float  # units/s
    capacity: float  # units/s
    bank: Bank | None

    def says(self, numbers: Thresholds) -> Constraint:
        """What was the limit in this second."""
        if self.rate < numbers.inferred.at_provisioned_low * self.capacity:
            return "partition"
        spent = self.bank is not None and self.bank.spent_before(numbers.inferred.burst_spent_share / 10)
        within = self.rate <= numbers.inferred.at_provisioned_high * self.capacity
        return "table" if spent or within else "partition"


def by_seconds(
    seconds: Sequence[Second], constraint: Constraint, share: float, direction: Direction, numbers: Thresholds
) -> Opinion:
    """The opinion of throttled seconds that say one constraint; `share`: of all throttles of that time."""
    total = sum(second.throttles for second in seconds)
    rate = sum(second.rate * second.throttles for second in seconds) / total
    capacity = sum(second.capacity * second.throttles for second in seconds) / total
    held = "" if share == 1 else f" with {percent(share)} of the throttles of that time"
    rule = "at-provisioned" if constraint == "table" else "below-provisioned"
    burst = ""
    if constraint == "partition" and rate > capacity:
        rule, burst = "burst-in-hand", ", with burst still in hand by estimate"
    return Opinion(
        rule=f"seconds-{rule}",
        constraint=constraint,
        confidence=numbers.confidence.seconds * (0.7 + 0.3 * share),
        because=f"In {some(len(seconds), 'throttled second')}{held}, "
        f"{of_provisioned(rate, capacity, direction)} were consumed{burst}.",
    )


def by_minutes(track: Track, cell: int, bank: Mapping[int, Bank], numbers: Thresholds) -> Opinion:
    """What a minute's average (or that of a longer period) says of one cell."""
    used, capacity = track.consumed_per_s(cell), track.provisioned.at(cell)
    if used is None:
        return undecided(
            "undetermined-no-consumed", "The consumed units of the throttled time are not known."
        )
    if not capacity:
        return undecided(
            "undetermined-no-provisioned",
            f"{units(used, track.direction)} were consumed, but what is provisioned is not known.",
        )
    numbers_said = f"On average, {of_provisioned(used, capacity, track.direction)} were consumed"
    share, held = used / capacity, bank[cell]
    if share < numbers.inferred.at_provisioned_low:
        opinion = _below(track, cell, held, numbers, numbers_said, share)
    elif share <= numbers.inferred.at_provisioned_high:
        opinion = _at(track, used, held, numbers, numbers_said)
    else:
        opinion = _above(track, cell, held, numbers, numbers_said)
    return opinion


def _below(track: Track, cell: int, held: Bank, numbers: Thresholds, said: str, share: float) -> Opinion:
    base = numbers.confidence.minutes
    if held.spent_before(numbers.inferred.burst_spent_share):
        because = f"{said}, after the burst was spent: a partly loaded period at the table's limit."
        return Opinion(rule="minutes-burst-spent", constraint="table", confidence=base * 0.9, because=because)
    room = 1 - share / numbers.inferred.at_provisioned_low
    opinion = Opinion(
        rule="minutes-below-provisioned",
        constraint="partition",
        confidence=base + (0.9 - base) * room,
        because=f"{said}, with {held.after:,.0f} units of burst in hand by estimate.",
    )
    neighbours = [track.cell_of(cell + way * track.step_s) for way in (-1, 1)]
    if not any(_throttled(track, near) for near in neighbours):
        opinion = opinion.weaker(ALONE, f"The average of one {track.cell_name} alone may hide a short burst.")
    return opinion


def _at(track: Track, used: float, held: Bank, numbers: Thresholds, said: str) -> Opinion:
    base = numbers.confidence.minutes
    if held.spent_after(numbers.inferred.burst_spent_share):
        because = f"{said}, and the burst was spent."
        return Opinion(
            rule="minutes-at-provisioned", constraint="table", confidence=base + 0.15, because=because
        )
    opinion = Opinion(
        rule="minutes-at-provisioned", constraint="table", confidence=base * 0.9, because=f"{said}."
    )
    ceiling = partition_ceiling(track.direction)
    if abs(used - ceiling) <= 0.1 * ceiling:
        return opinion.weaker(0.75, f"But {ceiling:,.0f} units/s is one partition's ceiling, too.")
    return opinion


def _above(track: Track, cell: int, held: Bank, numbers: Thresholds, said: str) -> Opinion:
    base, inferred = numbers.confidence.minutes, numbers.inferred
    if held.spent_after(inferred.burst_spent_share):
        because = f"{said}: the burst was spent within the {track.cell_name}."
        return Opinion(rule="minutes-burst-spent", constraint="table", confidence=base, because=because)
    following = track.cell_of(cell + track.step_s)
    used, capacity = track.consumed_per_s(following), track.provisioned.at(following)
    after = used / capacity if used is not None and capacity else 0.0
    in_reach = inferred.at_provisioned_low <= after <= inferred.at_provisioned_high
    if in_reach and _throttled(track, following):
        then = f"{units(used or 0.0, track.direction)} in the {track.cell_name} after"
        because = f"{said}, and {then}: the burst ran out."
        return Opinion(rule="minutes-burst-spent", constraint="table", confidence=base * 0.9, because=because)
    because = f"{said}: the table was still giving burst, {held.after:,.0f} units of it left by estimate."
    opinion = Opinion(
        rule="minutes-burst-in-hand", constraint="partition", confidence=base * 0.95, because=because
    )
    if track.consumed is not None and cell == min(track.consumed):
        opinion = opinion.weaker(FIRST_CELL, "What burst there was before is not known.")
    return opinion


def _throttled(track: Track, cell: int) -> bool:
    return bool(track.events and track.events.get(cell))
