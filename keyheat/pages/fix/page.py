"""A fix before and after, as a page: whether it fixed it, what was changed, every measure on both sides."""

from datetime import datetime
from pathlib import Path
from typing import Final

from keyheat.analysis.advising.proof import Kind
from keyheat.analysis.words import title_of
from keyheat.numbers import some
from keyheat.pages.charts.figures import Table
from keyheat.pages.fix.charts import charts_of
from keyheat.pages.fix.words import Fix, measures_of, sentence_of, warnings_of
from keyheat.pages.run.hero import PLACES, Stat
from keyheat.pages.run.sections import Section
from keyheat.pages.series import side_by_side
from keyheat.pages.series.side_by_side import Answer, write_page
from keyheat.plan.prices import Prices

NAME: Final = "fix.html"
CHIPS: Final[dict[Kind, str]] = {
    "fixed": "Fixed",
    "not_fixed": "Not fixed",
    "moved": "Moved",
    "not_shown": "Not shown",
    "invalid": "Not valid",
}


def answer_of(fix: Fix) -> Answer:
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
    return Answer(
        kind="before and after",
        title=fix.scenario.name,
        chip=CHIPS[proof.kind],
        role=roles.get(proof.kind, (proof.now or proof.limit)[0]),
        sentence=sentence_of(fix),
        question=fix.scenario.question,
        where=f"{PLACES.get(fix.target, fix.target)} · {some(len(proof.before), 'run')} of each",
        stats=tuple(stats),
        warnings=(*warnings_of(fix), *side_by_side.warnings_of(fix.columns)),
    )


def sections_of(fix: Fix) -> tuple[Section, ...]:
    """What was changed, and both sides on one scale."""
    changed = Table(
        caption="What was changed in the scenario",
        columns=("field", "before", "after"),
        rows=tuple((one.path, one.before, one.after) for one in fix.changes),
    )
    held = Table(
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
            charts=charts_of(fix.columns), notes=note, tables=(held,),
        ),
        Section(
            id="change", title=title_of(fix.remedy.action), short="Change", charts=(), notes=(),
            tables=(changed,),
        ),
    )  # fmt: skip


def write_fix(path: Path, fix: Fix, prices: Prices, generated_at: datetime) -> Path:
    """Write the page; gives its path. Raises `CannotWrite`."""
    return write_page(path, fix.columns, answer_of(fix), prices, generated_at, sections_of(fix))
