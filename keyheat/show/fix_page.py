"""The page of a fix: the verdict, every measure and both runs, before and after."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import plotly.graph_objects as go

from keyheat.numbers import measured
from keyheat.pages import comparison
from keyheat.pages.charts.figures import Chart, Section, Swatch, held, page_table
from keyheat.pages.comparison import RequestRates, elapsed, over_elapsed, rates_of, write_page
from keyheat.pages.page import PageAnswer, Stat
from keyheat.pages.series import RunColumn
from keyheat.plan.prices import Prices
from keyheat.show.answer import Answer
from keyheat.show.fix import Fix, fix_answer, measures_of
from keyheat.show.style import LIGHT

HEIGHT = 250
LINES = (("before", "muted", "dash"), ("after", "good", "line"))
DASHES = {"dash": "dash", "line": "solid"}


def charts_of(columns: Sequence[RunColumn]) -> tuple[Chart, ...]:
    """The first run of each side, laid over each other; nothing where their seconds are missing."""
    first = {side: next((one for one in columns if one.label.startswith(side)), None) for side, *_ in LINES}
    found = rates_of([one for one in first.values() if one is not None])
    if len(found) != len(LINES) or any(one is None for one in found):
        return ()
    rates = [one for one in found if one is not None]
    top = max(one.highest for one in rates)
    return tuple(_chart(name, rates, top) for name in ("accepted", "throttled"))


def _chart(name: str, rates: Sequence[RequestRates], top: float) -> Chart:
    made = over_elapsed(HEIGHT, max(one.length_s for one in rates), top)
    values = [one.accepted if name == "accepted" else one.throttled for one in rates]
    for (side, role, mark), one, line in zip(LINES, rates, values, strict=True):
        made.add_trace(
            go.Scatter(
                x=elapsed(line, one.step_s), y=held(line), mode="lines",
                line={"color": LIGHT[role], "width": 2, "shape": "hv", "dash": DASHES[mark]},
                hovertemplate=f"after %{{x}}: %{{y:,}} a second {name}, {side}<extra></extra>",
            )
        )  # fmt: skip
    before, after = (measured(float(line.mean())) for line in values)
    return Chart(
        id=f"chart-{name}",
        title=f"{name.capitalize()} requests",
        summary=f"{before} a second before, {after} after, on average.",
        figure=made,
        legend=tuple(Swatch(name=side, role=role, mark=mark) for side, role, mark in LINES),  # type: ignore[arg-type]
    )


NAME: Final = "fix.html"
FIRST_SEEN: Final = (
    "Throttles",
    "Accepted writes",
    "Accepted reads",
    "Dollars per month",
    "Reading one key back",
)


def first_screen(answer: Answer, fix: Fix, columns: Sequence[RunColumn]) -> PageAnswer:
    """The verdict with the measures that carry it."""
    stats = [
        Stat(name=one.name, value=one.after, beside=f"before: {one.before}")
        for one in measures_of(fix)
        if one.name in FIRST_SEEN or one.name.endswith("p99")
    ]
    return PageAnswer(
        kind="before and after",
        title=answer.title,
        chip=answer.label,
        role=answer.tone,
        sentence=answer.sentence,
        question=fix.scenario.question,
        where=answer.context,
        stats=tuple(stats),
        warnings=(*answer.notes, *comparison.warnings_of(columns)),
    )


def sections_of(answer: Answer, fix: Fix, columns: Sequence[RunColumn]) -> tuple[Section, ...]:
    """What was changed, and both sides on one scale."""
    measures, changed = map(page_table, answer.tables)
    many = len(fix.proof.before) > 1
    note = ("The median of the repetitions, and the least and the most of them.",) if many else ()
    return (
        Section(
            id="before-after", title="Before and after", short="Before and after",
            charts=charts_of(columns), notes=note, tables=(measures,),
        ),
        Section(
            id="change", title=changed.caption, short="Change", charts=(),
            notes=(), tables=(changed,),
        ),
    )  # fmt: skip


def write_fix(
    path: Path, fix: Fix, columns: Sequence[RunColumn], prices: Prices, generated_at: datetime
) -> Path:
    """Write the page; `columns` are the runs of both sides, pair by pair. Raises `CannotWrite`."""
    answer = fix_answer(fix, path)
    first, sections = first_screen(answer, fix, columns), sections_of(answer, fix, columns)
    return write_page(path, columns, first, prices, generated_at, sections)
