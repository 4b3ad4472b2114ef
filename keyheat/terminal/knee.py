"""A knee in a terminal, with a small chart, and for programs."""

from dataclasses import asdict
from functools import partial
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from keyheat.analysis.knee import KneeStep
from keyheat.analysis.knee_steps import LimitUse
from keyheat.numbers import UNITS, measured, percent, whole
from keyheat.terminal.layout import COLOURS, Paragraph, Strip, set_out
from keyheat.terms import THROTTLED_BY
from keyheat.wording.constraints import limit_of
from keyheat.wording.knee import KneeAnswer, chip_of, limited_by, notes_of, sentence_of, whole_or_not
from keyheat.words import READ, WRITE

FORMAT: Final = "keyheat.knee/1"
WIDTH: Final = 24  # of a bar
SHOWN: Final = 4  # limits
NOTABLE: Final = 0.05  # part of a partition's demand from which its hottest key is named


def knee_text(found: KneeAnswer) -> RenderableType:
    """The whole answer, narrow enough for 80 columns."""
    above = found.knee.limited
    style = "bold green" if above is None else f"bold {COLOURS[above.constraint]}"
    if above is not None and above.state != "limited":
        style = "bold yellow"
    return set_out(sentence_of(found), style, [_chart(found), *_uses(found)], notes_of(found))


def _chart(found: KneeAnswer) -> Table:
    """A row for each step, by its demand; its bar is the accepted and the throttled part of its attempts."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    side, unit = _side(found)
    for name in (f"{found.unit}/s", "accepted, throttled", f"{unit}/s", "throttled", THROTTLED_BY):
        left = name in ("accepted, throttled", THROTTLED_BY)
        table.add_column(name, justify="left" if left else "right", no_wrap=not left)
    for step in found.knee.in_order:
        ends = step.demand_per_s in {
            one.demand_per_s for one in (found.knee.carried, found.knee.limited) if one is not None
        }
        table.add_row(
            whole_or_not(step.demand_per_s), Strip(partial(_bar, step), WIDTH), measured(getattr(step, side)),
            percent(step.throttled_share) if step.throttled_share else "none", limited_by(step),
            style="bold" if ends else "",
        )  # fmt: skip
    return table


def _side(found: KneeAnswer) -> tuple[str, str]:
    """The field of a step, and its unit, of which more was consumed."""
    writes = sum(step.write_units_per_s for step in found.knee.steps)
    reads = sum(step.read_units_per_s for step in found.knee.steps)
    side = WRITE if writes >= reads else READ
    return f"{side}_units_per_s", UNITS[side]


def _bar(step: KneeStep, width: int) -> Text:
    throttled = round(width * step.throttled_share)
    if step.throttled_share and not throttled and step.state == "limited":
        throttled = 1
    return Text.assemble(("█" * (width - throttled), "green"), ("░" * throttled, "red"))


def _uses(found: KneeAnswer) -> list[RenderableType]:
    """The limits that are nearest, at what was carried."""
    carried = found.knee.carried
    if not found.uses or carried is None:
        return []
    lines = [Paragraph(_use(use), "  - ", "    ") for use in found.uses[:SHOWN]]
    return [Text(f"\nBy the numbers, {found.demand(carried)} take", style="bold"), *lines]


def _use(use: LimitUse) -> str:
    unit = UNITS[use.direction]
    notable = use.key_per_s is not None and use.key_per_s >= NOTABLE * use.asked_per_s
    key = f"; its hottest key {whole_or_not(use.key_per_s or 0.0)}" if notable else ""
    return (
        f"{percent(use.share)} of {limit_of(use.constraint, use.resource)}, {use.direction}s: "
        f"{whole_or_not(use.asked_per_s)} of {whole(use.limit_per_s)} {unit}/s{key}"
    )


def knee_json(found: KneeAnswer) -> dict[str, Any]:
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


def _step(step: KneeStep) -> dict[str, Any]:
    return {**asdict(step), "throttled_share": step.throttled_share}
