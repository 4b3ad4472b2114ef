"""What one grade of evidence says of a moment; moments close together form a span."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from keyheat.analysis.rules import NEITHER, RULES, WEAK, Thresholds
from keyheat.numbers import units
from keyheat.words import LIMITS, Constraint, Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A constraint with its rule, its confidence, and the numbers in sentences."""

    rule: str
    constraint: Constraint
    confidence: float
    because: str

    def weaker(self, factor: float, because: str) -> "Opinion":
        """Lower the confidence for a further reason."""
        return replace(self, confidence=self.confidence * factor, because=f"{self.because} {because}")

    def decided(self, at_least: float) -> "Opinion":
        """Return the opinion if it is sure enough, else `undetermined` with its likely limit."""
        if self.constraint == "undetermined" or self.confidence >= at_least:
            return self
        return leaning(self.because, self.constraint)


def opinion_of(rule: str, because: str, numbers: Thresholds) -> Opinion:
    """Return the opinion of a rule, with the rule's measured confidence."""
    confidence = numbers.confidence.rules[rule]
    return Opinion(rule=rule, constraint=RULES[rule].constraint, confidence=confidence, because=because)


def undecided(rule: str, because: str) -> Opinion:
    """Return an undetermined opinion: `because` says why the evidence names no constraint."""
    return Opinion(rule=rule, constraint="undetermined", confidence=0.0, because=because)


def neither(consumed: str, ceiling: float, direction: Direction) -> Opinion:
    """Return the opinion that neither a partition nor the table can have been at its limit.

    `consumed` begins the sentence; `ceiling` is one partition's, units/s.
    """
    return undecided(
        NEITHER,
        f"{consumed}: fewer units than a partition serves in a second ({units(ceiling, direction)}), and "
        "fewer than the table gets in one. By this evidence, neither can have been at its limit.",
    )


def leaning(because: str, constraint: Constraint) -> Opinion:
    """Return an undetermined opinion that names the likely limit."""
    return undecided(WEAK, f"{because} That points to {LIMITS[constraint]}, too weakly for a label.")


class Span(NamedTuple):
    """A stretch of time from `start_s` up to `end_s` (epoch seconds) and the throttles in it."""

    start_s: int
    end_s: int
    throttles: int


def spans(moments: Iterable[tuple[int, int]], *, width_s: int, gap_s: float) -> list[Span]:
    """Join moments, (epoch second of the start, throttles) in any order, into spans.

    A moment lasts `width_s`. Moments at most `gap_s` apart form one span; those without throttles form none.

        ..xx.x......xxx...        x: throttled
          <-->      <->           gap_s = 2
    """
    joined: list[Span] = []
    for start_s, throttles in sorted(moments):
        if throttles <= 0:
            continue
        end_s = start_s + width_s
        if joined and start_s - joined[-1].end_s <= gap_s:
            last = joined.pop()
            joined.append(Span(last.start_s, max(end_s, last.end_s), last.throttles + throttles))
        else:
            joined.append(Span(start_s, end_s, throttles))
    return joined
