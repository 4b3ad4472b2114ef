"""What each limit can have done at most, and must have done at least: inequalities that exclude one of them.

They hold whatever is not known: how much burst came, how many partitions there are, when others wrote.

    a partition refuses only after it has served its ceiling within about a second
        units of two seconds, with all that others may have consumed then  <  the ceiling:   not a partition
    a spent table gives what comes in, and no more
        units consumed later beyond what came in  >  what a second brings:                   not the table
    a table that refuses has given what comes in
        units of the second, with all that others may have consumed then   <  provisioned:   not the table

Both sides of an inequality are kept, so that a label can show it.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from keyheat.numbers import units, whole
from keyheat.words import Constraint, Direction

FEW: Final = 0.9  # of the units that one partition serves in a second: fewer can hardly have emptied one
BELOW: Final = 0.93  # of what is provisioned: a clock's second is not quite the table's


PROVED: Final[Mapping[str, frozenset[Constraint]]] = {
    "seconds-too-few-units": frozenset({"partition"}),
    "minutes-too-few-units": frozenset({"partition"}),
    "on-demand-small-maximum": frozenset({"partition"}),
    "seconds-below-provisioned": frozenset({"table"}),
    "seconds-burst-in-hand": frozenset({"table"}),
    "minutes-below-provisioned": frozenset({"table"}),
    "minutes-burst-in-hand": frozenset({"table"}),
}
"""By rule: the constraints that an inequality excluded where it decided."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One inequality that holds: the smaller side and the larger one, in units or units/s."""

    less: float
    more: float

    @property
    def holds(self) -> bool:
        """Whether it excludes what it is about."""
        return self.less < self.more


def not_a_partition(two_seconds: float, others: float, ceiling: float) -> Bound:
    """No partition was full: `two_seconds` are the most units of two seconds on end around the throttle."""
    return Bound(two_seconds + others, FEW * ceiling)


def later_spent(shown_after: float, capacity: float, request_units: float, span_s: int) -> Bound:
    """The table was not empty: `shown_after` units were there after a throttled span of `span_s`."""
    return Bound(capacity * span_s + 2 * request_units, shown_after)


def not_given(most: float, others: float, capacity: float, request_units: float) -> Bound:
    """The table gave less than comes in: `most` units in any second around the throttle."""
    return Bound(most + others, given_at_least(capacity, request_units))


def given_at_least(capacity: float, request_units: float) -> float:
    """Units that a table at its limit has given in one of the seconds around a refusal."""
    return BELOW * capacity - request_units


def no_partition_words(bound: Bound, direction: Direction) -> str:
    """The inequality for a person."""
    full = units(bound.more / FEW, direction)
    return f"No partition was at its limit: {whole(bound.less)} units within two seconds at most, of {full}"


def later_words(bound: Bound) -> str:
    """The inequality for a person."""
    return (
        f"There was burst in hand: {whole(bound.more)} units more than came in were consumed afterwards, and "
        f"{whole(bound.less)} at most come in while it refuses"
    )


def not_given_words(bound: Bound, capacity: float, direction: Direction) -> str:
    """The inequality for a person."""
    return (
        f"The table was not at its limit: {whole(bound.less)} units in any of these seconds at most, "
        f"others' among them, of {units(capacity, direction)}"
    )
