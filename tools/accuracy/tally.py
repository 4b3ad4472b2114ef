"""The answers and labels of many scenarios, counted, and what they have to reach."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from tools.accuracy.score import BEST, MISSED, Best, LabelScore, SpanScore
from tools.accuracy.worlds import WorldsName

CONSTRAINTS: Final = ("partition", "table", "max_on_demand", "account")
NOTHING: Final = "none"  # the truth of a false alarm
ANSWERS: Final = (*CONSTRAINTS, "undetermined", NOTHING, MISSED)
SURE: Final = 0.8  # confidence from which people act on a label
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

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share lies with 95 %, by Wilson's score (nothing known: from 0 to 1).

        https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval#Wilson_score_interval
        """
        from scipy.stats import binomtest  # a second to load, and only a page of scores needs it

        if not self.whole:
            return 0.0, 1.0
        found = binomtest(self.part, self.whole).proportion_ci(0.95, method="wilson")
        return float(found.low), float(found.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintScore:
    """How one constraint was told: how many answers of it were right, and how many of it were told."""

    name: str
    precision: Share
    recall: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceBin:
    """Labels of about the same confidence (mean `stated`), and how many of them were right."""

    low: float
    high: float
    stated: float
    right: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleScore:
    """The labels of one rule."""

    rule: str
    stated: float
    right: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeScore:
    """How right the labels are with one grade of evidence."""

    best: Best
    right: Share  # of all throttled spans, and of the false alarms
    of_decided: Share  # of those answered with a constraint, and of the false alarms
    decided: Share  # of all throttled spans
    sprinkles: Share  # of the sprinkles: not answered with a wrong constraint
    false_alarms: int
    confusion: dict[tuple[str, str], int]  # by (truth, answer)
    placed: dict[tuple[str, str], Share]  # right, by (`table read` to `index write`, truth)
    named: tuple[ConstraintScore, ...]
    bins: tuple[ConfidenceBin, ...]
    calibration_error: float
    rules: tuple[RuleScore, ...]
    sure: Share  # of the labels that are stated with `SURE` or more, right
    sure_by_constraint: dict[str, Share]
    worst: tuple[tuple[int, int], ...]  # (scenario, spans not right and false alarms), most first


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
    return GradeScore(
        best=best,
        right=Share(sum(one.right for one in scored), len(scored) + len(alarms)),
        of_decided=Share(sum(one.right for one in decided), len(decided) + len(alarms)),
        decided=Share(len(decided), len(scored)),
        sprinkles=Share(sum(one.right or not one.decided for one in sprinkles), len(sprinkles)),
        false_alarms=len(alarms),
        confusion=dict(confusion),
        placed=_placed(scored),
        named=tuple(_named(name, confusion) for name in CONSTRAINTS),
        bins=bins,
        calibration_error=calibration_error(bins),
        rules=_rules(judged),
        sure=_right(sure),
        sure_by_constraint={
            name: _right([one for one in sure if one.constraint == name]) for name in CONSTRAINTS
        },
        worst=_worst(scored, alarms),
    )


def calibration(judged: Sequence[LabelScore]) -> tuple[ConfidenceBin, ...]:
    """Labels by stated confidence; bins without labels are left out."""
    found = []
    for low, high in pairwise(BIN_EDGES):
        inside = [one for one in judged if low <= one.confidence < high or one.confidence == high == 1.0]
        if inside:
            found.append(ConfidenceBin(low=low, high=high, stated=_stated(inside), right=_right(inside)))
    return tuple(found)


def calibration_error(bins: Sequence[ConfidenceBin]) -> float:
    """The expected calibration error: by how much the stated confidence is off, in the mean over all labels.

    sum over bins of (labels in the bin / all labels) * |mean stated confidence - share right|
    https://arxiv.org/abs/1706.04599 , equation 3
    """
    total = sum(one.right.whole for one in bins)
    off = sum(one.right.whole * abs(one.stated - (one.right.value or 0.0)) for one in bins)
    return off / total if total else 0.0


def _placed(scored: Sequence[SpanScore]) -> dict[tuple[str, str], Share]:
    found: dict[tuple[str, str], Share] = {}
    for one in scored:
        place = f"{'table' if one.resource == 'table' else 'index'} {one.direction}", str(one.truth)
        before = found.get(place, Share(0, 0))
        found[place] = Share(before.part + one.right, before.whole + 1)
    return found


def _named(name: str, confusion: Counter[tuple[str, str]]) -> ConstraintScore:
    told = confusion[name, name]
    return ConstraintScore(
        name=name,
        precision=Share(told, sum(count for (_, answer), count in confusion.items() if answer == name)),
        recall=Share(told, sum(count for (truth, _), count in confusion.items() if truth == name)),
    )


def _rules(judged: Sequence[LabelScore]) -> tuple[RuleScore, ...]:
    by_rule: defaultdict[str, list[LabelScore]] = defaultdict(list)
    for one in judged:
        by_rule[one.rule].append(one)
    return tuple(
        RuleScore(rule=rule, stated=_stated(found), right=_right(found))
        for rule, found in sorted(by_rule.items())
    )


def _stated(judged: Sequence[LabelScore]) -> float:
    return sum(one.confidence for one in judged) / len(judged)


def _right(judged: Sequence[LabelScore]) -> Share:
    return Share(sum(one.right for one in judged), len(judged))


def _worst(scored: Sequence[SpanScore], alarms: Sequence[LabelScore]) -> tuple[tuple[int, int], ...]:
    bad = Counter(one.number for one in scored if not one.right)
    bad.update(one.number for one in alarms)
    return tuple(sorted(bad.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A share that must be reached: of right answers among all, of right among decided, or of decided."""

    best: Best
    of: Literal["right", "of_decided", "decided", "sure"]
    at_least: float

    def share(self, score: GradeScore) -> Share:
        """The share of a score that the goal speaks of."""
        found: Share = getattr(score, self.of)
        return found

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


def goal_of(score: GradeScore, of: str, worlds: WorldsName) -> Goal | None:
    """The goal that a share of a score has, if there is one."""
    return next((goal for goal in GOALS[worlds] if goal.best == score.best and goal.of == of), None)


def missed(scores: Sequence[GradeScore], worlds: WorldsName = "wide") -> Iterator[str]:
    """The goals that were not reached, in words; a share of nothing reaches no goal."""
    by_best = {score.best: score for score in scores}
    for goal in GOALS[worlds]:
        share = goal.share(by_best[goal.best])
        if share.value is None:
            yield f"{goal.name}; there were none to count"
        elif share.value < goal.at_least:
            yield f"{goal.name}; it is {share.value * 100:.2f} % ({share.part:,} of {share.whole:,})"
