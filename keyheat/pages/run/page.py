"""The report of one run: one HTML file that needs nothing else, the same bytes from the same files."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import plotly.offline
from markupsafe import Markup

from keyheat.analysis.words import capital
from keyheat.pages.charts.capacity import swatch
from keyheat.pages.constraints import MEANINGS
from keyheat.pages.page import figures_json, page, said_at
from keyheat.pages.run.facts import facts_of
from keyheat.pages.run.hero import hero_of
from keyheat.pages.run.load import Run, load_evidence, load_run
from keyheat.pages.run.ranged import numbers_of, whole_of
from keyheat.pages.run.record import read_record
from keyheat.pages.run.sections import charts_of, details_of, tables_of
from keyheat.runfiles import write_atomically
from keyheat.runs.formats import Diagnosis

REPORT = "report.html"


def render(run: Run, generated_at: datetime, *, plotlyjs: str | None = None) -> str:
    """The whole page. `generated_at` is printed on it; `plotlyjs` replaces the library inlined."""
    record = read_record(run)
    facts = facts_of(run, record)
    sections = charts_of(run, record, facts)
    charts = [chart for section in sections for chart in section.charts]
    return page(
        "page.html.j2",
        run=run,
        hero=hero_of(run, facts),
        sections=sections,
        figures=Markup(figures_json(charts, whole=whole_of(charts, record), numbers=numbers_of(charts))),
        tables=tables_of(run, record),
        details=details_of(run),
        constraints=[(swatch(constraint), capital(MEANINGS[constraint])) for constraint in MEANINGS],
        generated_at=said_at(generated_at),
        plotlyjs=Markup(plotly.offline.get_plotlyjs() if plotlyjs is None else plotlyjs),
    )


def write_report(run_dir: Path, generated_at: datetime) -> Path:
    """Write `report.html` into a run directory, whole or not at all, and return its path.

    Raises `FileProblem` where there is no readable `diagnosis.json`, or the directory cannot be written.
    """
    path = run_dir / REPORT
    _write(path, load_run(run_dir), generated_at)
    return path


def write_evidence_report(
    evidence: Path, path: Path, generated_at: datetime, further: Sequence[Path] = ()
) -> Diagnosis:
    """Write the report of an evidence file, without the rest of a run, and give its diagnosis.

    `further` are analyzers of the user's own. Raises `FileProblem`.
    """
    run = load_evidence(evidence, further)
    _write(path, run, generated_at)
    return run.diagnosis


def _write(path: Path, run: Run, generated_at: datetime) -> None:
    text = render(run, generated_at)
    write_atomically(path, lambda file: file.write(text.encode("utf-8")))
