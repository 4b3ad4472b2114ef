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

The truth is what really constrained a table, from the model's own decisions:

refusals by second   P P P P T T P T T T T T . . . . T T T      P: of a partition, T: of the table
dominating cause     P P P P P P T T T T T T         T T T      most of the minute around each second
throttled spans      |-----------|---------------------------|  cut where it changes, or after a pause
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from math import floor
from typing import Any, Final, Literal

from keyheat.analysis.rules import NoiseThresholds
from keyheat.model.resources import Cause
from keyheat.runs.formats import Evidence, Label, SecondCount, ThrottleCount
from keyheat.words import TABLE, Constraint, Direction, label_of
from tools.accuracy.worlds import CAUSES

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
        return min(self.seconds)

    @property
    def end_s(self) -> int:
        return max(self.seconds) + 1

    @property
    def throttles(self) -> int:
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
        constraint: list(accumulate((refused[at].get(constraint, 0) for at in seconds), initial=0))
        for constraint in sorted({name for causes in refused.values() for name in causes})
    }
    found = {}
    for second in seconds:
        first = bisect_left(seconds, second - AROUND_S)
        past = bisect_right(seconds, second + AROUND_S)
        found[second] = max(sums, key=lambda name, a=first, b=past: sums[name][b] - sums[name][a])  # type: ignore[misc]
    return found


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


def left(evidence: Evidence, best: Best, *, client: bool) -> Evidence:
    """What is left of the evidence when everything better than `best` is hidden.

    `client`: whether, beside the cause metrics, a client's record is there, who was given no reasons.
    """
    if best == "reasons":
        return evidence
    hidden: dict[str, Any] = {"throttles": None, "seconds": None}  # as for a table that others load
    if best == "seconds" or (best == "causes" and client):
        # As an old SDK saw it: throttles without a reason, and so without the index that refused a write.
        hidden = {"throttles": _bare(evidence.throttles), "seconds": _unblamed(evidence.seconds)}
    if best != "causes":  # CloudWatch before its cause-specific metrics: throttle events of any cause only
        hidden["series"] = tuple(series for series in evidence.series if series.metric not in CAUSES)
    return evidence.model_copy(update=hidden)


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
    sprinkle: bool

    @property
    def right(self) -> bool:
        return self.answer == self.truth

    @property
    def decided(self) -> bool:
        return self.answer not in (MISSED, "undetermined", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelScore:
    """One label that names a constraint, and whether that was so."""

    number: int
    best: Best
    constraint: Constraint
    rule: str
    confidence: float
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
            sprinkle=sprinkle,
        )
        for span in spans
    ]


def judged(labels: Iterable[Label], record: TrueRecord, *, number: int, best: Best) -> list[LabelScore]:
    """Every label that names a constraint; right where at least half of its throttles had that one."""
    scores = []
    for label in labels:
        if label.constraint in ("undetermined", "none"):
            continue
        within = [record.refused[second] for second in _within(label, record)]
        own = sum(causes.get(label.constraint, 0) for causes in within)
        everything = sum(sum(causes.values()) for causes in within)
        scores.append(
            LabelScore(
                number=number,
                best=best,
                constraint=label.constraint,
                rule=label.rule or "none",
                confidence=label.confidence,
                right=everything > 0 and own >= HALF * min(max(1, label.throttles), everything),
                false_alarm=not everything,
            )
        )
    return scores


def is_sprinkle(record: TrueRecord, noise: NoiseThresholds) -> bool:
    """Whether all throttles of a resource in a direction are so few and so rare that they make no verdict."""
    return record.throttles <= noise.throttles and record.throttles <= noise.share * record.attempts


def _within(label: Label, record: TrueRecord) -> list[int]:
    first, past = floor(label.start.timestamp()), label.end.timestamp()
    return [second for second in record.refused if first <= second < past]


def _shares(labels: Sequence[Label], record: TrueRecord) -> dict[int, dict[str, float]]:
    """By second: how its throttles are divided among the constraints of the labels; none where none lies."""
    laid: defaultdict[int, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for label in labels:
        within = _within(label, record)
        everything = {second: sum(record.refused[second].values()) for second in within}
        own = {second: record.refused[second].get(label.constraint, 0) for second in within}
        places = own if any(own.values()) else everything
        total = sum(places.values())
        for second in within:
            share = max(1, label.throttles) * places[second] / total
            laid[second][label.constraint] += share + NO_CLAIM * everything[second]
    totals = {second: sum(parts.values()) for second, parts in laid.items()}
    return {
        second: {constraint: part / totals[second] for constraint, part in parts.items()}
        for second, parts in laid.items()
    }


def _answer(span: TrueSpan, shares: Mapping[int, Mapping[str, float]]) -> str:
    """The constraint of the labels that lie over most of the span's throttles."""
    covered: defaultdict[str, float] = defaultdict(float)
    for second, throttles in span.seconds.items():
        for answer, share in shares.get(second, {MISSED: 1.0}).items():
            covered[answer] += throttles * share
    return max(sorted(covered), key=lambda answer: covered[answer])
