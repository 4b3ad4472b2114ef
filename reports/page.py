"""The report of one run: one HTML file that needs nothing else, the same bytes from the same files."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import plotly.offline
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from analyzers.words import capital, glued, title_of
from reports import style
from reports.charts import swatch
from reports.constraints import MEANINGS
from reports.facts import facts_of
from reports.figures import Chart
from reports.hero import hero_of
from reports.load import Run, load_evidence, load_run
from reports.outlook import outlook
from reports.packing import packed
from reports.ranged import numbers_of, whole_of
from reports.record import read_record
from reports.sections import charts_of, details_of, tables_of
from tablemodel.runfiles import write_atomically

SCRIPTS = ("sheets.js", "page.js", "range.js")
TEMPLATES = (
    "page.html.j2", "index.html.j2", "answer.html.j2", "side-by-side.html.j2", "regression.html.j2",
    "runs.html.j2", "macros.html.j2", "style.css", *SCRIPTS,
)  # fmt: skip
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


def write_evidence_report(evidence: Path, path: Path, generated_at: datetime) -> Path:
    """Write the report of an evidence file, without the rest of a run. Raises `FileProblem`."""
    _write(path, load_evidence(evidence), generated_at)
    return path


def _write(path: Path, run: Run, generated_at: datetime) -> None:
    text = render(run, generated_at)
    write_atomically(path, lambda file: file.write(text.encode("utf-8")))


def page(template: str, **values: Any) -> str:
    """A template filled in; everything that is not `Markup` is escaped."""
    styles = Markup(style.css_variables() + _template("style.css"))
    return (
        _environment()
        .get_template(template)
        .render(styles=styles, script=Markup("".join(map(_template, SCRIPTS))), **values)
    )


def said_at(moment: datetime) -> str:
    """When a page was made, as it is printed on it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def figures_json(charts: Sequence[Chart], **more: Any) -> str:
    """Figures, sheets and colours for the page's script, as JSON that cannot end its script element.

    What a trace shows of its chart's sheet is left out of it: the script fills it in, as finely as is seen.
    """
    sheets = {chart.id: chart.sheet for chart in charts if chart.sheet is not None}
    content = {
        "dark": style.dark_partners(),
        "figures": {chart.id: _figure(chart) for chart in charts},
        **(packed(sheets) if sheets else {}),
        **more,
    }
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY).decode()
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _figure(chart: Chart) -> dict[str, Any]:
    figure: dict[str, Any] = chart.figure.to_plotly_json()
    if chart.sheet is not None:
        figure["data"] = [_without_values(trace) if "meta" in trace else trace for trace in figure["data"]]
    return figure


def _without_values(trace: Mapping[str, Any]) -> dict[str, Any]:
    """A trace without what it shows of a sheet; a heat map keeps its rows."""
    filled = {"x0", "dx", "z"} if trace["type"] == "heatmap" else {"x0", "dx", "x", "y", "base", "customdata"}
    return {name: value for name, value in trace.items() if name not in filled}


@cache
def _template(name: str) -> str:
    return (files("reports") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    sources: Mapping[str, str] = {name: _template(name) for name in TEMPLATES if name.endswith(".j2")}
    environment = Environment(
        loader=DictLoader(sources),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["glued"] = glued
    environment.filters["capital"] = capital
    environment.filters["title_of"] = title_of
    environment.filters["outlook"] = outlook
    return environment
