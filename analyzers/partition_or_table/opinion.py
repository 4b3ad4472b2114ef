"""What one grade of evidence says of a moment; moments close together form a span."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from keyheat.analysis.rules import NEITHER, RULES, WEAK
from keyheat.analysis.thresholds import Thresholds
from keyheat.numbers import units
from keyheat.words import LIMITS, Constraint, Direction

UNDETERMINED: Final = 0.0


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


def opinion_of(rule: str, because: str, numbers: Thresholds) -> Opinion:
    """Return the opinion of a rule, with the rule's measured confidence."""
    return Opinion(
        rule=rule,
        constraint=RULES[rule].constraint,
        confidence=numbers.confidence.rules[rule],
        because=because,
    )


def undecided(rule: str, because: str) -> Opinion:
    """Return an undetermined opinion: `because` says why the evidence names no constraint."""
    return Opinion(rule=rule, constraint="undetermined", confidence=UNDETERMINED, because=because)


def neither(consumed: str, ceiling: float, direction: Direction) -> Opinion:
    """Return the opinion that neither a partition nor the table can have been at its limit.

    `consumed` begins the sentence; `ceiling` is one partition's, units/s.
    """
    full = units(ceiling, direction)
    return undecided(
        NEITHER,
        f"{consumed}: fewer units than a partition serves in a second ({full}), and fewer than the table "
        "gets in one. By this evidence, neither can have been at its limit.",
    )


def decided(opinion: Opinion, at_least: float) -> Opinion:
    """Return the opinion if it is sure enough, else `undetermined` with its likely limit."""
    if opinion.constraint == "undetermined" or opinion.confidence >= at_least:
        return opinion
    return leaning(opinion.because, opinion.constraint)


def leaning(because: str, constraint: Constraint) -> Opinion:
    """Return an undetermined opinion that names the likely limit."""
    return undecided(WEAK, f"{because} That points to {LIMITS[constraint]}, too weakly for a label.")


@dataclass(frozen=True, slots=True)
class OpinionSpan:
    """A stretch of time from `start_s` up to `end_s` (epoch seconds) and the throttles in it."""

    start_s: int
    end_s: int
    throttles: int

    def overlaps(self, start_s: float, end_s: float) -> bool:
        """Whether the span and [start_s, end_s) share a moment."""
        return self.start_s < end_s and start_s < self.end_s


def spans(moments: Iterable[tuple[int, int]], *, width_s: int, gap_s: float) -> tuple[OpinionSpan, ...]:
    """Join moments, (epoch second of the start, throttles) in any order, into spans.

    A moment lasts `width_s`. Moments at most `gap_s` apart form one span; those without throttles form none.

        ..xx.x......xxx...        x: throttled
          <-->      <->           gap_s = 2
    """
    joined: list[OpinionSpan] = []
    for start_s, throttles in sorted(moments):
        if throttles <= 0:
            continue
        end_s = start_s + width_s
        if joined and start_s - joined[-1].end_s <= gap_s:
            last = joined.pop()
            joined.append(OpinionSpan(last.start_s, max(end_s, last.end_s), last.throttles + throttles))
        else:
            joined.append(OpinionSpan(start_s, end_s, throttles))
    return tuple(joined)
