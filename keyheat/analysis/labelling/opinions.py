"""What one grade of evidence thinks of one cell, before anything is decided."""

from dataclasses import dataclass, replace
from typing import Final

from keyheat.analysis.labelling.rules import RULES
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.words import LIMITS
from keyheat.words import Constraint

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


def decided(opinion: Opinion, at_least: float) -> Opinion:
    """The opinion if it is sure enough, else `undetermined` with what it leaned to."""
    if opinion.constraint == "undetermined" or opinion.confidence >= at_least:
        return opinion
    leaning = f"{opinion.because} That leans to {LIMITS[opinion.constraint]}, too weakly to say so."
    return undecided(f"undetermined-{opinion.rule}", leaning)
