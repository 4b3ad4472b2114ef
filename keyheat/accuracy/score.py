"""Labels held against the truth of one scenario: span by span, and label by label.

Labels may overlap, as where a partition and the table refuse at the same time, so each throttled second is
divided among the labels whose time it lies in: a label lays the throttles that it counts where throttles of
its own constraint were (where there were none: where any were), and a second goes to labels in proportion.

    refusals        P10 P10 P10 T90 T90        labels   partition, 30 throttles  |-----------|
    partition lays   10  10  10   .   .                 table, 180 throttles     |-------------------|
    table lays        .   .   .  90  90        the partition has the first three seconds, the table the rest
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Final

from keyheat.accuracy.grades import Best
from keyheat.accuracy.truth import Record, TrueSpan, Whose
from keyheat.analysis.thresholds import Noise
from keyheat.runs.formats import Label
from keyheat.words import Constraint, Direction, Grade

MISSED: Final = "missed"  # no label lies over most of the span
NO_CLAIM: Final = 1e-9  # what a label lays on throttles that are not of its constraint, if it is alone there
HALF: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One true span with the answer that the labels give to it."""

    number: int
    best: Best
    resource: str
    direction: Direction
    truth: Constraint
    answer: str  # a constraint, or `missed`
    throttles: int
    sprinkle: bool

    @property
    def right(self) -> bool:
        """Whether the labels name the constraint that it was."""
        return self.answer == self.truth

    @property
    def decided(self) -> bool:
        """Whether the labels name any constraint."""
        return self.answer not in (MISSED, "undetermined", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One label that names a constraint, and whether that was so."""

    number: int
    best: Best
    constraint: Constraint
    rule: str
    grade: Grade
    confidence: float
    throttles: int
    right: bool
    false_alarm: bool  # nothing throttled there at all


def answers(
    spans: Sequence[TrueSpan],
    labels: Sequence[Label],
    record: Record,
    *,
    number: int,
    best: Best,
    sprinkle: bool,
) -> list[Answered]:
    """The answer to each true span of one resource and direction; `labels` are those of the same."""
    shares = _shares(labels, record)
    return [
        Answered(
            number=number,
            best=best,
            resource=span.resource,
            direction=span.direction,
            truth=span.constraint,
            answer=_answer(span, shares),
            throttles=span.throttles,
            sprinkle=sprinkle,
        )
        for span in spans
    ]


def judged(labels: Iterable[Label], record: Record, *, number: int, best: Best) -> list[Judged]:
    """Every label that names a constraint; right where at least half of its throttles had that one."""
    return [
        _judged(label, record, number=number, best=best)
        for label in labels
        if label.constraint not in ("undetermined", "none")
    ]


def is_sprinkle(record: Record, noise: Noise) -> bool:
    """Whether all throttles of a resource in a direction are so few and so rare that they make no verdict."""
    return record.throttles <= noise.throttles and record.throttles <= noise.share * record.attempts


def of_whose(labels: Iterable[Label], whose: Whose) -> list[Label]:
    """The labels of one resource and direction."""
    return [label for label in labels if (label.resource, label.direction) == whose]


def _judged(label: Label, record: Record, *, number: int, best: Best) -> Judged:
    within = _within(label, record)
    own = sum(record.refused[second].get(label.constraint, 0) for second in within)
    everything = sum(sum(record.refused[second].values()) for second in within)
    return Judged(
        number=number,
        best=best,
        constraint=label.constraint,
        rule=label.rule or "none",
        grade=label.grade,
        confidence=label.confidence,
        throttles=label.throttles,
        right=everything > 0 and own >= HALF * min(max(1, label.throttles), everything),
        false_alarm=not everything,
    )


def _within(label: Label, record: Record) -> list[int]:
    first, past = floor(label.start.timestamp()), label.end.timestamp()
    return [second for second in record.refused if first <= second < past]


def _shares(labels: Sequence[Label], record: Record) -> dict[int, dict[str, float]]:
    """By second: how its throttles are divided among the constraints of the labels; none where none lies."""
    laid: defaultdict[int, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for label in labels:
        for second, throttles in _laid(label, record).items():
            laid[second][label.constraint] += throttles
    return {second: _normal(parts) for second, parts in laid.items()}


def _laid(label: Label, record: Record) -> dict[int, float]:
    within = _within(label, record)
    everything = {second: sum(record.refused[second].values()) for second in within}
    own = {second: record.refused[second].get(label.constraint, 0) for second in within}
    places = own if any(own.values()) else everything
    total = sum(places.values())
    return {
        second: max(1, label.throttles) * places[second] / total + NO_CLAIM * everything[second]
        for second in within
    }


def _normal(parts: Mapping[str, float]) -> dict[str, float]:
    total = sum(parts.values())
    return {constraint: part / total for constraint, part in parts.items()}


def _answer(span: TrueSpan, shares: Mapping[int, Mapping[str, float]]) -> str:
    """The constraint of the labels that lie over most of the span's throttles."""
    covered: defaultdict[str, float] = defaultdict(float)
    for second, throttles in span.seconds.items():
        for answer, share in shares.get(second, {MISSED: 1.0}).items():
            covered[answer] += throttles * share
    return max(sorted(covered), key=lambda answer: covered[answer])
