"""How right the labels are, in a terminal: the scores in one table, one scenario in full, and all as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keyheat.numbers import clock, some
from keyheat.runs.formats import Label
from keyheat.show.render import COLOURS, Paragraph
from tools.accuracy.draw import CHANCE_ROWS, SITUATION_ROWS
from tools.accuracy.run import SimulatedScenario
from tools.accuracy.score import BEST, LEFT, Best
from tools.accuracy.tally import GOALS, SURE, GradeScore, Share
from tools.accuracy.worlds import WorldsName

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
    """The scores as plain values."""
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
