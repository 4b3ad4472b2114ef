"""What really constrained a table, from the model's own decisions: the truth that labels are held against.

refusals by second   P P P P T T P T T T T T . . . . T T T      P: of a partition, T: of the table
dominating cause     P P P P P P T T T T T T         T T T      most of the minute around each second
throttled spans      |-----------|---------------------------|  cut where it changes, or after a pause
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from keyheat.model.resources import Cause
from keyheat.words import TABLE, Constraint, Direction, label_of

GAP_S: Final = 60  # seconds without a throttle that end a span, as for labels
AROUND_S: Final = 30  # seconds before and after a moment that say which cause dominates it

Whose = tuple[str, Direction]
"""A resource, `table` or the name of an index, and a direction."""

Refused = Mapping[int, Mapping[Constraint, int]]
"""Throttle events by epoch second and constraint."""


@dataclass(frozen=True, slots=True)
class TrueRecord:
    """What one resource did in one direction, second by second."""

    refused: Refused = field(default_factory=dict)
    attempts: int = 0

    @property
    def throttles(self) -> int:
        """All throttle events, whatever the constraint."""
        return sum(sum(causes.values()) for causes in self.refused.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueSpan:
    """A throttled stretch of time [start_s, end_s) in which one constraint dominates."""

    resource: str
    direction: Direction
    constraint: Constraint
    seconds: Mapping[int, int]  # throttle events by epoch second, whatever the constraint

    @property
    def start_s(self) -> int:
        """Its first throttled second."""
        return min(self.seconds)

    @property
    def end_s(self) -> int:
        """The end of its last throttled second."""
        return max(self.seconds) + 1

    @property
    def throttles(self) -> int:
        """All throttle events within it."""
        return sum(self.seconds.values())


def records(rows: Iterable[Mapping[str, Any]]) -> dict[Whose, TrueRecord]:
    """The rows of `decision_rows`, by resource and direction."""
    refused: defaultdict[Whose, dict[int, Counter[Constraint]]] = defaultdict(dict)
    attempts: Counter[Whose] = Counter()
    for row in rows:
        whose: Whose = (label_of(row["index"]), row["direction"])
        counts: Counter[Constraint] = Counter()
        for cause, count in row["refused"].items():
            if count:
                counts[Cause(cause).constraint] += count
        attempts[whose] += row["accepted"] + counts.total()
        if counts:
            refused[whose].setdefault(row["second"], Counter()).update(counts)
    return {whose: TrueRecord(refused[whose], attempts[whose]) for whose in sorted(attempts)}


def true_spans(whose: Whose, refused: Refused) -> tuple[TrueSpan, ...]:
    """The throttled spans of one resource and direction, in order of time."""
    found: list[tuple[Constraint, list[int]]] = []
    dominating = _dominating(refused)
    for second, constraint in dominating.items():
        if found and found[-1][0] == constraint and second - found[-1][1][-1] - 1 <= GAP_S:
            found[-1][1].append(second)
        else:
            found.append((constraint, [second]))
    resource, direction = whose
    return tuple(
        TrueSpan(
            resource=resource,
            direction=direction,
            constraint=constraint,
            seconds={second: sum(refused[second].values()) for second in seconds},
        )
        for constraint, seconds in found
    )


def _dominating(refused: Refused) -> dict[int, Constraint]:
    """The constraint with most throttles in the minute around each throttled second, in order of time."""
    seconds = sorted(refused)
    sums = {
        constraint: _running(refused, seconds, constraint)
        for constraint in sorted({name for causes in refused.values() for name in causes})
    }
    found = {}
    for second in seconds:
        first = bisect_left(seconds, second - AROUND_S)
        past = bisect_right(seconds, second + AROUND_S)
        found[second] = max(sums, key=lambda name, a=first, b=past: sums[name][b] - sums[name][a])  # type: ignore[misc]
    return found


def _running(refused: Refused, seconds: Sequence[int], constraint: Constraint) -> list[int]:
    return list(accumulate((refused[second].get(constraint, 0) for second in seconds), initial=0))


def with_quota(found: Mapping[Whose, TrueRecord], whose: Whose) -> TrueRecord:
    """The record of a resource; the table's, with what the indexes refused for the account's quota.

    That quota is one of the table together with its indexes, and CloudWatch counts them all as the table's.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
    """
    own = found.get(whose, TrueRecord())
    resource, direction = whose
    if resource != TABLE:
        return own
    refused = {second: Counter(causes) for second, causes in own.refused.items()}
    for (_index, other), record in found.items():
        if other == direction and record is not own:
            for second, causes in record.refused.items():
                if causes.get("account"):
                    refused.setdefault(second, Counter())["account"] += causes["account"]
    return TrueRecord(refused, own.attempts)
