"""What one grade of evidence thinks of a moment, and moments that are close together as one span."""

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
    """A constraint with the rule that led to it, how sure that is, and the numbers in sentences."""

    rule: str
    constraint: Constraint
    confidence: float
    because: str

    def weaker(self, factor: float, because: str) -> "Opinion":
        """The same opinion, less sure for a further reason."""
        return replace(self, confidence=self.confidence * factor, because=f"{self.because} {because}")


def opinion_of(rule: str, because: str, numbers: Thresholds) -> Opinion:
    """The opinion of a rule, as sure as the rule was measured to be."""
    return Opinion(
        rule=rule,
        constraint=RULES[rule].constraint,
        confidence=numbers.confidence.rules[rule],
        because=because,
    )


def undecided(rule: str, because: str) -> Opinion:
    """No constraint can be told from this evidence, and why."""
    return Opinion(rule=rule, constraint="undetermined", confidence=UNDETERMINED, because=because)


def neither(consumed: str, ceiling: float, direction: Direction) -> Opinion:
    """Neither a partition nor the table can have been at its limit; `consumed` begins the sentence, and
    `ceiling` is one partition's, units/s.
    """
    full = units(ceiling, direction)
    return undecided(
        NEITHER,
        f"{consumed}: fewer units than a partition serves in a second ({full}), and fewer than the table is "
        "given in one. Neither can have been at its limit by what is known.",
    )


def decided(opinion: Opinion, at_least: float) -> Opinion:
    """The opinion if it is sure enough, else `undetermined` with what it leaned to."""
    if opinion.constraint == "undetermined" or opinion.confidence >= at_least:
        return opinion
    return leaning(opinion.because, opinion.constraint)


def leaning(because: str, constraint: Constraint) -> Opinion:
    """No constraint, and the one that the evidence leans to."""
    return undecided(WEAK, f"{because} That leans to {LIMITS[constraint]}, too weakly to say so.")


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
    """Spans from (epoch second at which a moment begins, throttles in it), in any order.

    A moment lasts `width_s`; moments with at most `gap_s` between the end of one and the start of the next
    are one span. Moments without throttles make no span.

        ..xx.x......xxx...        x: throttled
          <-->      <->           gap_s = 2
    """
    found: list[OpinionSpan] = []
    for start_s, throttles in sorted(moments):
        if throttles <= 0:
            continue
        end_s = start_s + width_s
        if found and start_s - found[-1].end_s <= gap_s:
            last = found.pop()
            found.append(OpinionSpan(last.start_s, max(end_s, last.end_s), last.throttles + throttles))
        else:
            found.append(OpinionSpan(start_s, end_s, throttles))
    return tuple(found)
