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
from tools.accuracy.tally import SURE, GradeScore, Share, goal_of
from tools.accuracy.worlds import WorldsName

COLUMNS: Final = ("spans", "right", "decided", "of those", "of sure", "false", "off by")


def table(scores: Sequence[GradeScore], worlds: WorldsName) -> RenderableType:
    """One line for each grade of evidence, goals beside their shares, and a goal that is missed in red."""
    made = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    made.add_column("best left", no_wrap=True)
    for name in COLUMNS:
        made.add_column(name, justify="right", no_wrap=True)
    for score in scores:
        made.add_row(
            score.best,
            f"{score.decided.whole:,}",
            _judged(score, "right", worlds),
            _judged(score, "decided", worlds),
            _judged(score, "of_decided", worlds),
            _judged(score, "sure", worlds),
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
        *(
            [Text("Scenarios with spans that are not right, most first (--only N explains one):")]
            if worst
            else []
        ),
        *(Paragraph(line, "  ", "    ") for line in worst),
    )


def plain(
    scores: Sequence[GradeScore], missed: Sequence[str], *, seed: int, count: int, worlds: WorldsName
) -> dict[str, Any]:
    """The scores as plain values."""
    grades = {}
    for score in scores:
        values = asdict(score)
        values["confusion"] = [
            {"truth": truth, "answer": answer, "spans": spans}
            for (truth, answer), spans in sorted(score.confusion.items())
        ]
        values["placed"] = [
            {"where": where, "truth": truth, "right": asdict(share)}
            for (where, truth), share in sorted(score.placed.items())
        ]
        values["worst"] = [{"scenario": number, "not_right": bad} for number, bad in score.worst]
        grades[values.pop("best")] = values
    return {
        "worlds": worlds,
        "seed": seed,
        "scenarios": count,
        "missed_goals": list(missed),
        "grades": grades,
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
    goal = goal_of(score, of, worlds)
    share: Share = getattr(score, of)
    if goal is None:
        return Text(_percent(share), style="dim")
    reached = share.value is not None and share.value >= goal.at_least
    return Text(f"{_percent(share)} ({goal.at_least * 100:g})", style="green" if reached else "bold red")


def _percent(share: Share) -> str:
    return share.said.removesuffix(" %")


def _numbers(score: GradeScore) -> str:
    return ", ".join(f"{number} ({bad})" for number, bad in score.worst[:10])


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
