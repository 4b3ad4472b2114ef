"""Labels held against the truth of one scenario, span by span and label by label, for each grade of evidence.

The best evidence is hidden first, so that each grade shows what is known without the better ones:

reasons   everything: DynamoDB's reasons, as the client saw them
causes    no reasons: CloudWatch's cause-specific metrics
seconds   no cause metrics either: throttle events, consumed against provisioned, the client's seconds
minutes   no client either: CloudWatch's minutes alone

Labels may overlap, as where a partition and the table refuse at the same time, so each throttled second is
divided among the labels whose time it lies in: a label lays the throttles that it counts where throttles of
its own constraint were (where there were none: where any were), and a second goes to labels in proportion.

    refusals        P10 P10 P10 T90 T90        labels   partition, 30 throttles  |-----------|
    partition lays   10  10  10   .   .                 table, 180 throttles     |-------------------|
    table lays        .   .   .  90  90        the partition has the first three seconds, the table the rest
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import floor
from typing import Final, Literal

from keyheat.analysis.rules import NoiseThresholds
from keyheat.model.resources import Cause
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, Label, SecondCount, ThrottleCount
from keyheat.words import Constraint, Direction, Grade
from tools.accuracy.truth import TrueRecord, TrueSpan, Whose

Best = Literal["reasons", "causes", "seconds", "minutes"]
"""The best evidence that is left."""

BEST: Final[tuple[Best, ...]] = ("reasons", "causes", "seconds", "minutes")
LEFT: Final[Mapping[Best, str]] = {
    "reasons": "everything: DynamoDB's reasons",
    "causes": "CloudWatch's cause metrics",
    "seconds": "the client's seconds",
    "minutes": "CloudWatch's minutes alone",
}
"""The best evidence that is left, in words."""
CAUSES: Final = frozenset(
    metrics.cause_events(direction, cause) for direction in Direction for cause in Cause
)


def left(evidence: Evidence, best: Best, *, client: bool) -> Evidence:
    """What is left of the evidence when everything better than `best` is hidden.

    `client`: whether, beside the cause metrics, a client's record is there, who was given no reasons.
    """
    if best == "reasons":
        return evidence
    if best == "causes":
        return without_reasons(evidence) if client else without_client(evidence)
    hidden = without_causes(evidence)
    return without_reasons(hidden) if best == "seconds" else without_client(hidden)


def without_reasons(evidence: Evidence) -> Evidence:
    """As an old SDK saw it: throttles without a reason, and so without the index that refused a write."""
    return evidence.model_copy(
        update={"throttles": _bare(evidence.throttles), "seconds": _unblamed(evidence.seconds)}
    )


def without_causes(evidence: Evidence) -> Evidence:
    """As CloudWatch was before its cause-specific metrics: throttle events of any cause only."""
    kept = tuple(series for series in evidence.series if series.metric not in CAUSES)
    return evidence.model_copy(update={"series": kept})


def without_client(evidence: Evidence) -> Evidence:
    """As for a table that others load: CloudWatch alone."""
    return evidence.model_copy(update={"throttles": None, "seconds": None})


def _bare(rows: Sequence[ThrottleCount] | None) -> tuple[ThrottleCount, ...] | None:
    if rows is None:
        return None
    counts: Counter[tuple[datetime, str | None, Direction]] = Counter()
    for row in rows:
        asked = row.index if row.direction == "read" else None  # a reader names the index, a writer does not
        counts[row.second, asked, row.direction] += row.count
    return tuple(
        ThrottleCount(second=second, index=index, direction=direction, count=count)
        for (second, index, direction), count in counts.items()
    )


def _unblamed(rows: Sequence[SecondCount] | None) -> tuple[SecondCount, ...] | None:
    """The client's seconds without knowing which index refused a write; the table's row counts it anyway."""
    if rows is None:
        return None
    return tuple(
        row.model_copy(update={"throttled": 0}) if row.index and row.direction == "write" else row
        for row in rows
    )


MISSED: Final = "missed"  # no label lies over most of the span
NO_CLAIM: Final = 1e-9  # what a label lays on throttles that are not of its constraint, if it is alone there
HALF: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanScore:
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
class LabelScore:
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
    record: TrueRecord,
    *,
    number: int,
    best: Best,
    sprinkle: bool,
) -> list[SpanScore]:
    """The answer to each true span of one resource and direction; `labels` are those of the same."""
    shares = _shares(labels, record)
    return [
        SpanScore(
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


def judged(labels: Iterable[Label], record: TrueRecord, *, number: int, best: Best) -> list[LabelScore]:
    """Every label that names a constraint; right where at least half of its throttles had that one."""
    return [
        _judged(label, record, number=number, best=best)
        for label in labels
        if label.constraint not in ("undetermined", "none")
    ]


def is_sprinkle(record: TrueRecord, noise: NoiseThresholds) -> bool:
    """Whether all throttles of a resource in a direction are so few and so rare that they make no verdict."""
    return record.throttles <= noise.throttles and record.throttles <= noise.share * record.attempts


def of_whose(labels: Iterable[Label], whose: Whose) -> list[Label]:
    """The labels of one resource and direction."""
    return [label for label in labels if (label.resource, label.direction) == whose]


def _judged(label: Label, record: TrueRecord, *, number: int, best: Best) -> LabelScore:
    within = _within(label, record)
    own = sum(record.refused[second].get(label.constraint, 0) for second in within)
    everything = sum(sum(record.refused[second].values()) for second in within)
    return LabelScore(
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


def _within(label: Label, record: TrueRecord) -> list[int]:
    first, past = floor(label.start.timestamp()), label.end.timestamp()
    return [second for second in record.refused if first <= second < past]


def _shares(labels: Sequence[Label], record: TrueRecord) -> dict[int, dict[str, float]]:
    """By second: how its throttles are divided among the constraints of the labels; none where none lies."""
    laid: defaultdict[int, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for label in labels:
        for second, throttles in _laid(label, record).items():
            laid[second][label.constraint] += throttles
    return {second: _normal(parts) for second, parts in laid.items()}


def _laid(label: Label, record: TrueRecord) -> dict[int, float]:
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
