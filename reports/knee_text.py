"""A knee in a terminal, with a small chart, and for programs."""

from dataclasses import asdict
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analyzers.knee_limits import Use
from analyzers.knee_search import Step
from analyzers.numbers import UNITS, percent, whole
from analyzers.words import whose
from reports.knee import LIMITS, Found, chip_of, limited_by, notes_of, sentence_of, whole_or_not
from reports.terminal import COLOURS, Paragraph

FORMAT: Final = "keyheat.knee/1"
WIDTH: Final = 28  # of a bar
SHOWN: Final = 4  # limits


def knee_text(found: Found) -> RenderableType:
    """The whole answer, narrow enough for 80 columns."""
    above = found.knee.limited
    style = "bold green" if above is None else f"bold {COLOURS[above.constraint]}"
    if above is not None and above.state != "limited":
        style = "bold yellow"
    return Group(
        Paragraph(sentence_of(found), style=style),
        Text(""),
        _chart(found),
        *_uses(found),
        Text(""),
        *(Paragraph(note) for note in notes_of(found)),
    )


def _chart(found: Found) -> Table:
    """A row for each step, by its demand: accepted attempts as a solid bar, throttled ones as a light one."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(f"{found.unit}/s", justify="right", no_wrap=True)
    table.add_column("accepted, throttled", no_wrap=True)
    table.add_column("throttled", justify="right", no_wrap=True)
    table.add_column("limited by")
    steps = found.knee.in_order
    most = max(step.attempts_per_s for step in steps)
    for step in steps:
        table.add_row(
            whole_or_not(step.demand_per_s), _bar(step, most),
            percent(step.throttled_share) if step.throttled_share else "none", limited_by(step),
            style="bold" if step in (found.knee.carried, found.knee.limited) else "",
        )  # fmt: skip
    return table


def _bar(step: Step, most: float) -> Text:
    length = max(1, round(WIDTH * step.attempts_per_s / most)) if step.attempts_per_s else 0
    throttled = round(length * step.throttled_share)
    if step.throttled_share and not throttled and step.state == "limited":
        throttled = 1
    return Text.assemble(("█" * (length - throttled), "green"), ("░" * throttled, "red"))


def _uses(found: Found) -> list[RenderableType]:
    """The limits that are nearest, at what was carried."""
    carried = found.knee.carried
    if not found.uses or carried is None:
        return []
    lines = [Paragraph(_use(use), "  - ", "    ") for use in found.uses[:SHOWN]]
    return [Text(f"\nBy the numbers, {found.demand(carried)} take", style="bold"), *lines]


def _use(use: Use) -> str:
    whom = "" if use.constraint == "account" else f" of {whose(use.resource)}"
    unit = UNITS[use.direction]
    key = "" if use.key_per_s is None else f"; its hottest key {whole(use.key_per_s)}"
    return (
        f"{percent(use.share)} of {LIMITS[use.constraint]}{whom}, {use.direction}s: "
        f"{whole(use.asked_per_s)} of {whole(use.limit_per_s)} {unit}/s{key}"
    )


def knee_json(found: Found) -> dict[str, Any]:
    """The same for programs."""
    knee = found.knee
    return {
        "format": FORMAT,
        "scenario": found.scenario.name,
        "target": found.target,
        "scale": found.scale,
        "unit": found.unit,
        "step_s": found.step_s,
        "precision": knee.range.precision,
        "state": knee.state,
        "whose": chip_of(found),
        "sentence": sentence_of(found),
        "confirmed": knee.confirmed,
        "carried": None if knee.carried is None else _step(knee.carried),
        "not_carried": None if knee.limited is None else _step(knee.limited),
        "limits": [{**asdict(use), "share": use.share} for use in found.uses],
        "steps": [_step(step) for step in knee.steps],
        "notes": notes_of(found),
    }


def _step(step: Step) -> dict[str, Any]:
    return {**asdict(step), "throttled_share": step.throttled_share}
