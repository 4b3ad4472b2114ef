"""Inequalities that exclude the partition or the table as the limit.

They hold whatever the unknowns are: the burst granted, the number of partitions, when others wrote.

    a partition throttles only after it has served its ceiling within about a second
        units of two seconds, with all that others may have consumed then  <  the ceiling:   not a partition
    a table without burst serves its refill and no more
        units consumed later beyond the refill  >  the refill of a second:                   not the table
    a table that throttles has served its refill
        units of the second, with all that others may have consumed then   <  provisioned:   not the table

Each bound keeps both sides, so that a label can show them.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from keyheat.numbers import units, whole
from keyheat.words import Constraint, Direction

FEW: Final = 0.9  # of the units that one partition serves in a second: fewer hardly empty one
BELOW: Final = 0.93  # of the provisioned throughput: our seconds do not start with the table's


PROVED: Final[Mapping[str, frozenset[Constraint]]] = {
    "seconds-too-few-units": frozenset({"partition"}),
    "minutes-too-few-units": frozenset({"partition"}),
    "on-demand-small-maximum": frozenset({"partition"}),
    "seconds-below-provisioned": frozenset({"table"}),
    "seconds-burst-in-hand": frozenset({"table"}),
    "minutes-below-provisioned": frozenset({"table"}),
    "minutes-burst-in-hand": frozenset({"table"}),
}
"""By rule: the constraints excluded by the inequality that decided."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An inequality, less < more, in units or units/s."""

    less: float
    more: float

    @property
    def holds(self) -> bool:
        return self.less < self.more


def not_a_partition(two_seconds: float, others: float, ceiling: float) -> Bound:
    """Bound for "no partition was full"; `two_seconds`: most units of two seconds in a row."""
    return Bound(two_seconds + others, FEW * ceiling)


def later_spent(shown_after: float, capacity: float, request_units: float, span_s: int) -> Bound:
    """Bound for "the table was not empty": it held `shown_after` units after a throttled span of `span_s`."""
    return Bound(capacity * span_s + 2 * request_units, shown_after)


def not_given(most: float, others: float, capacity: float, request_units: float) -> Bound:
    """Bound for "the table served less than its refill": `most` units in any second around the throttle."""
    return Bound(most + others, given_at_least(capacity, request_units))


def given_at_least(capacity: float, request_units: float) -> float:
    """Least units that a table at its limit served in one of the seconds around a throttle."""
    return BELOW * capacity - request_units


def no_partition_words(bound: Bound, direction: Direction) -> str:
    full = units(bound.more / FEW, direction)
    return f"No partition was at its limit: at most {whole(bound.less)} units within two seconds, of {full}"


def later_words(bound: Bound) -> str:
    return (
        f"Burst was left: afterwards {whole(bound.more)} units above the capacity were consumed, and at most "
        f"{whole(bound.less)} can have been refilled while it throttled"
    )


def not_given_words(bound: Bound, capacity: float, direction: Direction) -> str:
    return (
        f"The table was not at its limit: at most {whole(bound.less)} units in any of these seconds, "
        f"including others', of {units(capacity, direction)}"
    )
