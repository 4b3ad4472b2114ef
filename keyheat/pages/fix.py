"""A fix in words and as a page: whether it fixed it, what was changed, every measure before and after."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import plotly.graph_objects as go

from keyheat.analysis.advice.proof import Kind
from keyheat.numbers import (
    measured,
    some,
)
from keyheat.pages import comparison
from keyheat.pages.charts.figures import Chart, PageTable, Swatch, held
from keyheat.pages.comparison import RequestRates, elapsed, over_elapsed, rates_of, write_page
from keyheat.pages.page import PageAnswer, Stat
from keyheat.pages.run.sections import Section
from keyheat.pages.series import RunColumn
from keyheat.pages.style import LIGHT
from keyheat.plan.prices import Prices
from keyheat.wording.constraints import target_words
from keyheat.wording.fix import Fix, measures_of, sentence_of, steps_title, warnings_of

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
CHIPS: Final[dict[Kind, str]] = {
    "fixed": "Fixed",
    "not_fixed": "Not fixed",
    "moved": "Moved",
    "not_shown": "Not shown",
    "invalid": "Not valid",
}


def answer_of(fix: Fix, columns: Sequence[RunColumn]) -> PageAnswer:
    """The first screen."""
    proof = fix.proof
    shown = measures_of(fix)
    chosen = ("Throttles", f"Accepted {proof.limit[2]}s", "A month of the table", "Reading one key back")
    stats = [
        Stat(name=one.name, value=one.after, beside=f"before: {one.before}")
        for one in shown
        if one.name in chosen or one.name.endswith("p99")
    ]
    roles = {"fixed": "none", "not_shown": "invalid", "invalid": "invalid"}
    return PageAnswer(
        kind="before and after",
        title=fix.scenario.name,
        chip=CHIPS[proof.kind],
        role=roles.get(proof.kind, (proof.now or proof.limit)[0]),
        sentence=sentence_of(fix),
        question=fix.scenario.question,
        where=f"{target_words(fix.target)} · {some(len(proof.before), 'run')} of each",
        stats=tuple(stats),
        warnings=(*warnings_of(fix), *comparison.warnings_of(columns)),
    )


def sections_of(fix: Fix, columns: Sequence[RunColumn]) -> tuple[Section, ...]:
    """What was changed, and both sides on one scale."""
    changed = PageTable(
        caption="What was changed in the scenario",
        columns=("field", "before", "after"),
        rows=tuple((one.path, one.before, one.after) for one in fix.changes),
    )
    held = PageTable(
        caption="Before and after",
        columns=("measure", "before", "after"),
        rows=tuple((one.name, *one.cells) for one in measures_of(fix)),
        numeric=frozenset({1, 2}),
    )
    many = len(fix.proof.before) > 1
    note = ("The median of the repetitions, and the least and the most of them.",) if many else ()
    return (
        Section(
            id="before-after", title="Before and after", short="Before and after",
            charts=charts_of(columns), notes=note, tables=(held,),
        ),
        Section(
            id="change", title=steps_title(fix.remedy.actions), short="Change", charts=(),
            notes=(), tables=(changed,),
        ),
    )  # fmt: skip


def write_fix(
    path: Path, fix: Fix, columns: Sequence[RunColumn], prices: Prices, generated_at: datetime
) -> Path:
    """Write the page; `columns` are the runs of both sides, pair by pair. Raises `CannotWrite`."""
    answer, sections = answer_of(fix, columns), sections_of(fix, columns)
    return write_page(path, columns, answer, prices, generated_at, sections)
