"""The page of a fix: its answer, and both runs, before and after, side by side."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from keyheat.plan.prices import Prices
from keyheat.show.answer import Fact
from keyheat.show.compare import ComparedRun, comparison_answer
from keyheat.show.fix import Fix, fix_answer, measures_of
from keyheat.show.html import html_of, save

NAME: Final = "fix.html"
FIRST_SEEN: Final = (
    "Throttles",
    "Accepted writes",
    "Accepted reads",
    "Dollars per month",
    "Reading one key back",
)


def write_fix(
    path: Path, fix: Fix, runs: Sequence[ComparedRun], prices: Prices, generated_at: datetime
) -> Path:
    """Write the page; `runs` are those of both sides, pair by pair. Raises `CannotWrite`."""
    answer, beside = fix_answer(fix, path), comparison_answer(runs, prices, path.parent)
    many = len(fix.proof.before) > 1
    note = ("The median of the repetitions, and the least and the most of them.",) if many else ()
    page = replace(
        answer,
        question=fix.scenario.question,
        facts=tuple(
            Fact(name=one.name, value=one.after, beside=(f"before: {one.before}",))
            for one in measures_of(fix)
            if one.name in FIRST_SEEN or one.name.endswith("p99")
        ),
        warnings=(*answer.notes, *beside.warnings),
        notes=note,
        parts=beside.parts,
        sections=beside.sections,
        figures=beside.figures,
        reading=beside.reading,
    )
    return save(path, html_of(page, generated_at))
