"""The answers and labels of many scenarios, counted, and what they have to reach."""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal, TypeVar

from tools.accuracy.score import BEST, Best, LabelScore, SpanScore
from tools.accuracy.worlds import WorldsName

CONSTRAINTS: Final = ("partition", "table", "max_on_demand", "account")
NOTHING: Final = "none"  # the truth of a false alarm
SURE: Final = 0.8  # confidence from which people act on a label
Score = TypeVar("Score", SpanScore, LabelScore)
BIN_EDGES: Final = (0.0, 0.55, 0.65, 0.75, 0.85, 0.92, 0.96, 1.0)


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The share itself; None of nothing."""
        return self.part / self.whole if self.whole else None

    @property
    def said(self) -> str:
        """As per cent with as many digits as goals have."""
        return "–" if self.value is None else f"{self.value * 100:.1f} %"


Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeScore:
    """How right the labels are with one grade of evidence."""

    best: Best
    right: Share  # of all throttled spans, and of the false alarms
    of_decided: Share  # of those answered with a constraint, and of the false alarms
    decided: Share  # of all throttled spans
    sprinkles: Share  # of the sprinkles: not answered with a wrong constraint
    false_alarms: int
    confusion: tuple[Row, ...]  # spans by truth and answer
    placed: tuple[Row, ...]  # right, by where (`table read` to `index write`) and truth
    named: tuple[Row, ...]  # precision and recall of each constraint
    bins: tuple[Row, ...]  # labels of about the same confidence: mean `stated`, and how many are right
    calibration_error: float
    rules: tuple[Row, ...]  # the same of each rule
    sure: Share  # of the labels that are stated with `SURE` or more, right
    sure_by_constraint: dict[str, Share]
    worst: tuple[Row, ...]  # scenarios with most spans not right and false alarms


def score_all(answered: Sequence[SpanScore], judged: Sequence[LabelScore]) -> tuple[GradeScore, ...]:
    """The score of each grade of evidence, from everything down to minutes alone."""
    return tuple(
        score(
            best, [one for one in answered if one.best == best], [one for one in judged if one.best == best]
        )
        for best in BEST
    )


def score(best: Best, answered: Sequence[SpanScore], judged: Sequence[LabelScore]) -> GradeScore:
    """The score of one grade of evidence."""
    scored = [one for one in answered if not one.sprinkle]
    sprinkles = [one for one in answered if one.sprinkle]
    alarms = [one for one in judged if one.false_alarm]
    decided = [one for one in scored if one.decided]
    confusion = Counter((str(one.truth), one.answer) for one in scored)
    confusion.update((NOTHING, str(one.constraint)) for one in alarms)
    bins = calibration(judged)
    sure = [one for one in judged if one.confidence >= SURE]
    bad = Counter(one.number for one in scored if not one.right)
    bad.update(one.number for one in alarms)
    return GradeScore(
        best=best,
        right=Share(sum(one.right for one in scored), len(scored) + len(alarms)),
        of_decided=Share(sum(one.right for one in decided), len(decided) + len(alarms)),
        decided=Share(len(decided), len(scored)),
        sprinkles=Share(sum(one.right or not one.decided for one in sprinkles), len(sprinkles)),
        false_alarms=len(alarms),
        confusion=tuple(
            {"truth": truth, "answer": answer, "spans": spans}
            for (truth, answer), spans in sorted(confusion.items())
        ),
        placed=tuple(
            {"where": where, "truth": truth, "right": _right(spans)}
            for (where, truth), spans in _grouped(scored, lambda one: (_where(one), str(one.truth)))
        ),
        named=tuple(_named(name, confusion) for name in CONSTRAINTS),
        bins=bins,
        calibration_error=calibration_error(bins),
        rules=tuple(
            {"rule": rule, "stated": _stated(labels), "right": _right(labels)}
            for rule, labels in _grouped(judged, lambda one: one.rule)
        ),
        sure=_right(sure),
        sure_by_constraint={
            name: _right([one for one in sure if one.constraint == name]) for name in CONSTRAINTS
        },
        worst=tuple(
            {"scenario": number, "not_right": count}
            for number, count in sorted(bad.items(), key=lambda item: (-item[1], item[0]))
        ),
    )


def calibration(judged: Sequence[LabelScore]) -> tuple[Row, ...]:
    """Labels by stated confidence; bins without labels are left out."""
    last = len(BIN_EDGES) - 2
    return tuple(
        {"low": BIN_EDGES[at], "high": BIN_EDGES[at + 1], "stated": _stated(labels), "right": _right(labels)}
        for at, labels in _grouped(judged, lambda one: min(last, bisect(BIN_EDGES, one.confidence) - 1))
    )


def calibration_error(bins: Sequence[Row]) -> float:
    """The expected calibration error: by how much the stated confidence is off, in the mean over all labels.

    sum over bins of (labels in the bin / all labels) * |mean stated confidence - share right|
    https://arxiv.org/abs/1706.04599 , equation 3
    """
    total = sum(one["right"].whole for one in bins)
    off = sum(one["right"].whole * abs(one["stated"] - (one["right"].value or 0.0)) for one in bins)
    return off / total if total else 0.0


def _grouped(scores: Iterable[Score], key: Callable[[Score], Any]) -> Iterator[tuple[Any, list[Score]]]:
    return ((name, list(group)) for name, group in groupby(sorted(scores, key=key), key))


def _where(one: SpanScore) -> str:
    return f"{'table' if one.resource == 'table' else 'index'} {one.direction}"


def _named(name: str, confusion: Counter[tuple[str, str]]) -> Row:
    """How many answers of a constraint were right, and how many of it were told."""
    right = confusion[name, name]
    answered = sum(count for (_, answer), count in confusion.items() if answer == name)
    true = sum(count for (truth, _), count in confusion.items() if truth == name)
    return {"name": name, "precision": Share(right, answered), "recall": Share(right, true)}


def _stated(judged: Sequence[LabelScore]) -> float:
    return sum(one.confidence for one in judged) / len(judged)


def _right(scores: Sequence[SpanScore | LabelScore]) -> Share:
    return Share(sum(one.right for one in scores), len(scores))


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A share that must be reached: of right answers among all, of right among decided, or of decided."""

    best: Best
    of: Literal["right", "of_decided", "decided", "sure"]
    at_least: float

    @property
    def name(self) -> str:
        """The goal in words."""
        what = {
            "right": "of the throttled spans right",
            "of_decided": "of the decided spans right",
            "decided": "of the throttled spans decided",
            "sure": f"of the labels of {SURE:g} and more right",
        }
        return f"{self.best}: {self.at_least * 100:g} % {what[self.of]}"


_STATED: Final = (
    Goal(best="reasons", of="right", at_least=0.995),
    Goal(best="causes", of="right", at_least=0.995),
    Goal(best="seconds", of="right", at_least=0.97),
)
GOALS: Final[Mapping[WorldsName, tuple[Goal, ...]]] = {
    "nominal": (
        *_STATED,
        Goal(best="minutes", of="of_decided", at_least=0.90),
        Goal(best="minutes", of="decided", at_least=0.80),
    ),
    "wide": (
        *_STATED,
        Goal(best="minutes", of="of_decided", at_least=0.93),
        Goal(best="minutes", of="decided", at_least=0.75),
        *(Goal(best=best, of="sure", at_least=0.97) for best in BEST),
    ),
}
"""What has to be reached in the worlds of a name."""


def missed(scores: Sequence[GradeScore], worlds: WorldsName = "wide") -> Iterator[str]:
    """The goals that were not reached, in words; a share of nothing reaches no goal."""
    by_best = {score.best: score for score in scores}
    for goal in GOALS[worlds]:
        share: Share = getattr(by_best[goal.best], goal.of)
        if share.value is None:
            yield f"{goal.name}; there were none to count"
        elif share.value < goal.at_least:
            yield f"{goal.name}; it is {share.value * 100:.2f} % ({share.part:,} of {share.whole:,})"
