"""The answers and labels of many scenarios, counted, what they have to reach, and all of it shown."""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Final, Literal, TypeVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keyheat.numbers import clock, some
from keyheat.runs.formats import Label
from keyheat.show.render import COLOURS, Paragraph
from tools.accuracy.draw import CHANCE_ROWS, SITUATION_ROWS
from tools.accuracy.run import SimulatedScenario
from tools.accuracy.score import BEST, LEFT, Best, LabelScore, SpanScore
from tools.accuracy.worlds import WorldsName

CONSTRAINTS: Final = ("partition", "table", "max_on_demand", "account")
NOTHING: Final = "none"  # the truth of a false alarm
SURE: Final = 0.8  # confidence from which people act on a label
Score = TypeVar("Score", SpanScore, LabelScore)
BIN_EDGES: Final = (0.0, 0.55, 0.65, 0.75, 0.85, 0.92, 0.96, 1.0)


@dataclass(frozen=True, slots=True)
class Share:
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


WORST: Final = ("Scenarios with spans that are not right, most first (--only N explains one):",)
COLUMNS: Final = ("best left", "spans", "right", "decided", "of those", "of sure", "false", "off by")


def table(scores: Sequence[GradeScore], worlds: WorldsName) -> RenderableType:
    """One line for each grade of evidence, goals beside their shares, and a goal that is missed in red."""
    made = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for name in COLUMNS:
        made.add_column(name, justify="right" if made.columns else "left", no_wrap=True)
    for score in scores:
        made.add_row(
            score.best,
            f"{score.decided.whole:,}",
            *(_judged(score, of, worlds) for of in ("right", "decided", "of_decided", "sure")),
            f"{score.false_alarms:,}",
            f"{score.calibration_error:.3f}",
        )
    worst = [f"{s.best}: {_numbers(s)}" for s in scores if s.worst]
    return Group(
        made,
        Paragraph("; ".join(f"{best}: {words}" for best, words in LEFT.items()) + "."),
        Paragraph(
            "Right: per cent of all spans, of those that are decided, and of the labels that are sure, with "
            f"a confidence of {SURE:g} and more. Goals in brackets. False: labels where nothing throttled. "
            "Off by: the calibration error."
        ),
        *map(Text, WORST if worst else ()),
        *(Paragraph(line, "  ", "    ") for line in worst),
    )


def plain(
    scores: Sequence[GradeScore], missed: Sequence[str], *, seed: int, count: int, worlds: WorldsName
) -> dict[str, Any]:
    return {
        "worlds": worlds,
        "seed": seed,
        "scenarios": count,
        "missed_goals": list(missed),
        "grades": {score.best: {k: v for k, v in asdict(score).items() if k != "best"} for score in scores},
        "situations": [
            {"name": name, "wide": wide, "nominal": nominal, "what": what}
            for name, wide, nominal, what in SITUATION_ROWS
        ],
        "disturbances": [
            {"what": what, "wide": wide, "nominal": nominal} for what, wide, nominal in CHANCE_ROWS
        ],
    }


def explained(played: SimulatedScenario, labels: Mapping[Best, Sequence[Label]]) -> RenderableType:
    """One scenario: what it is, what really throttled, and what each grade of evidence makes of it."""
    drawn = played.drawn
    parts: list[RenderableType] = [
        Text(f"Scenario {drawn.number}: {drawn.situation}", style="bold"),
        *(Paragraph(line, "  - ", "    ") for line in drawn.said),
        Text("\nWhat really throttled", style="bold"),
        *(_line(line) for line in _truth(played)),
    ]
    for best in BEST:
        beside = ", with a client that was given no reasons" if best == "causes" and drawn.client else ""
        parts.append(Text(f"\nLabels by {LEFT[best]}{beside}", style="bold"))
        if not labels[best]:
            parts.append(_line("none"))
        for label in labels[best]:
            parts += _label(label)
    return Group(*parts)


def _judged(score: GradeScore, of: str, worlds: WorldsName) -> Text:
    """A share, green where it reaches its goal, red where it does not."""
    goal = next((goal for goal in GOALS[worlds] if (goal.best, goal.of) == (score.best, of)), None)
    share: Share = getattr(score, of)
    percent = share.said.removesuffix(" %")
    if goal is None:
        return Text(percent, style="dim")
    reached = share.value is not None and share.value >= goal.at_least
    return Text(f"{percent} ({goal.at_least * 100:g})", style="green" if reached else "bold red")


def _numbers(score: GradeScore) -> str:
    return ", ".join(f"{one['scenario']} ({one['not_right']})" for one in score.worst[:10])


def _truth(played: SimulatedScenario) -> list[str]:
    found = [
        f"{clock(span.start_s)} to {clock(span.end_s)}  {span.resource} {span.direction}s  "
        f"{span.constraint}  {some(span.throttles, 'throttle')}"
        for spans in played.spans.values()
        for span in spans
    ]
    return found or ["nothing"]


def _line(text: str) -> Text:
    return Text(f"  {text}")


def _label(label: Label) -> list[RenderableType]:
    first = Text(f"  {clock(label.start.timestamp())} to {clock(label.end.timestamp())}  ")
    first.append(f"{label.resource} {label.direction}s  ")
    first.append(label.constraint, style=f"bold {COLOURS[label.constraint]}")
    first.append(f"  {some(label.throttles, 'throttle')}  {label.confidence:.2f}  {label.rule}")
    return [first, *(Paragraph(line, "      - ", "        ") for line in label.because)]
