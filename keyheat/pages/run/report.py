"""The report of one run: one HTML file that needs nothing else, and what its charts show as files."""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from markupsafe import Markup

from keyheat.analysis.report.facts import facts_of
from keyheat.analysis.report.run import ReportRun, load_run
from keyheat.analysis.report.seconds import SecondsRecord, read_record
from keyheat.masking import as_cell
from keyheat.numbers import UNITS
from keyheat.pages.charts.capacity import swatch
from keyheat.pages.charts.figures import Chart, epoch
from keyheat.pages.charts.keys import SHOWN
from keyheat.pages.charts.svg import dark_rules, svg_of
from keyheat.pages.page import figures_json, library, page, said_at, save
from keyheat.pages.run.hero import Hero, hero_of
from keyheat.pages.run.sections import charts_of, details_of, tables_of
from keyheat.pages.sheets import Sheet
from keyheat.runfiles import REPORT, check_no_link, write_atomically
from keyheat.terms import MEANINGS as TERMS
from keyheat.terms import OF_RETRIES, titled
from keyheat.wording.constraints import MEANINGS
from keyheat.words import READ, WRITE, capital, plain_in_markdown

LIGHT_REPORT: Final = "report-light.html"


def whole_of(charts: Sequence[Chart], record: SecondsRecord) -> tuple[float, float]:
    """The first and the last moment of a run: as the client recorded it, else as the charts show it."""
    recorded = record.range()
    if recorded is not None:
        return float(recorded[0]), float(recorded[1])
    timed = [chart.sheet for chart in charts if chart.sheet is not None and chart.sheet.step_s is not None]
    ends = [(sheet.start_s, sheet.end_s) for sheet in timed]
    ends = ends or [_drawn(chart) for chart in charts if _timed(chart)]
    return min((start for start, _ in ends), default=0.0), max((end for _, end in ends), default=0.0)


def numbers_of(charts: Sequence[Chart]) -> dict[str, Any]:
    """Requests, else units, accepted and throttled; and the columns of keys, with their names."""
    return {"counts": _counts(charts), "heat": [_heat(chart) for chart in charts if _is_of_keys(chart)]}


def _counts(charts: Sequence[Chart]) -> dict[str, Any] | None:
    for chart in charts:
        if chart.sheet is not None and chart.sheet.name == "generator":
            columns = [name for name in chart.sheet.columns if not name.startswith("error")]
            return {
                "sheet": chart.id,
                "name": "Accepted",
                "of_all": True,
                "accepted": [name for name in columns if name.startswith("accepted")],
                "throttled": [name for name in columns if name.startswith("throttled")],
            }
    for chart in charts:
        if chart.sheet is not None and chart.sheet.name.startswith(("seconds", "minutes")):
            columns = list(chart.sheet.columns)
            return {
                "sheet": chart.id,
                "name": "Units consumed",
                "of_all": False,
                "accepted": [name for name in columns if name.startswith("consumed")],
                "throttled": [name for name in columns if name.startswith("throttled")],
            }
    return None


def _is_of_keys(chart: Chart) -> bool:
    return chart.sheet is not None and chart.sheet.name.startswith("heat-of-keys")


def _heat(chart: Chart) -> dict[str, Any]:
    assert chart.sheet is not None
    direction = READ if chart.sheet.name.endswith("read") else WRITE
    return {
        "sheet": chart.id,
        "name": f"Hottest key, {direction}s",
        "unit": UNITS[direction],
        "keys": dict(chart.sheet.titles),
    }


def _timed(chart: Chart) -> bool:
    return chart.figure.layout.xaxis.type == "date" and bool(chart.figure.layout.xaxis.range)


def _drawn(chart: Chart) -> tuple[float, float]:
    start, end = chart.figure.layout.xaxis.range
    return epoch(start), epoch(end)


def render(
    run: ReportRun, generated_at: datetime, *, light: bool = False, plotlyjs: str | None = None
) -> str:
    """The whole page. `generated_at` is printed on it; `plotlyjs` replaces the library inlined.

    One that is `light` has pictures that stand still, and no script.
    """
    record = read_record(run)
    facts = facts_of(run, record)
    sections = charts_of(run, record, facts)
    charts = [chart for section in sections for chart in section.charts]
    hero = hero_of(run, record, facts)
    known = {"whole": whole_of(charts, record), "numbers": numbers_of(charts), "ticket": ticket(hero)}
    return page(
        "page.html.j2",
        run=run,
        hero=hero,
        sections=sections,
        figures="" if light else figures_json(charts, **known),
        tables=tables_of(run, record),
        details=details_of(run),
        constraints=[(swatch(constraint), capital(MEANINGS[constraint])) for constraint in MEANINGS],
        terms=[
            (titled(term), meaning)
            for term, meaning in TERMS.items()
            if term not in OF_RETRIES or (run.manifest is not None and run.manifest.retry_cost is not None)
        ],
        generated_at=said_at(generated_at),
        plotlyjs=library("" if light else plotlyjs),
        stills={chart.id: Markup(svg_of(chart)) for chart in charts} if light else {},
        more_styles=Markup(f"@media (prefers-color-scheme:dark){{{dark_rules()}}}") if light else "",
    )


def write_report(run_dir: Path, generated_at: datetime, *, light: bool = False) -> Path:
    """Write `report.html` into a run directory, whole or not at all, and return its path.

    One that is `light` is a file beside it, `report-light.html`.

    Raises `FileProblem` where there is no readable `diagnosis.json`, or the directory cannot be written.
    """
    path = run_dir / (LIGHT_REPORT if light else REPORT)
    return save(path, render(load_run(run_dir), generated_at, light=light))


FileKind = Literal["csv", "parquet"]
FORMAT: Final = "keyheat.export/1"


class KeysNotRecorded(ValueError):
    """Values of keys were asked for, and the run has nothing but their digests."""


def write_exports(
    folder: Path, place: Path, kind: FileKind, *, show_keys: bool = False
) -> list[tuple[Path, int]]:
    """Write one file for each chart into `place`; gives their paths with their rows.

    Raises `FileProblem` where the run cannot be read or a file not written, and `KeysNotRecorded`.
    """
    check_no_link(place)
    run = load_run(folder)
    if show_keys and not _has_values(run):
        raise KeysNotRecorded(
            f"{folder} has digests of keys only; a load keeps their values if it is started with --show-keys"
        )
    written = []
    for sheet in sheets_of(run, show_keys=show_keys):
        path, table = place / f"{_file_name(sheet.name)}.{kind}", sheet.table()
        content = _csv(table) if kind == "csv" else _parquet(table)
        _write_file(path, content)
        written.append((path, table.num_rows))
    return written


def _write_file(path: Path, content: bytes) -> None:
    write_atomically(path, lambda file: file.write(content))


def sheets_of(run: ReportRun, *, show_keys: bool = False) -> list[Sheet]:
    """The sheet of every chart, in the order of the page; keys as digests, unless their values are wanted."""
    record = read_record(run)
    sections = charts_of(run, record, facts_of(run, record))
    sheets = [chart.sheet for section in sections for chart in section.charts if chart.sheet is not None]
    return sheets if show_keys else [_without_values(sheet) for sheet in sheets]


def _without_values(sheet: Sheet) -> Sheet:
    return replace(sheet, columns={name: values for name, values in sheet.columns.items() if name != SHOWN})


def _has_values(run: ReportRun) -> bool:
    loads = [load for found in run.keys.overall.values() for load in found] if run.keys is not None else []
    return any(load.shown is not None for load in loads)


def _csv(table: pa.Table) -> bytes:
    """Times in UTC with a Z, unknown cells empty, every word in quotes."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            told = [
                f"{moment.isoformat(timespec='milliseconds')[:23]}Z" for moment in table[place].to_pylist()
            ]
            table = table.set_column(place, field.name, pa.array(told, pa.string()))
        elif pa.types.is_string(field.type):
            words = [word and as_cell(word) for word in table[place].to_pylist()]
            table = table.set_column(place, field.name, pa.array(words, pa.string()))
    file = io.BytesIO()
    pyarrow.csv.write_csv(table.rename_columns(list(map(as_cell, table.column_names))), file)
    return file.getvalue()


def _parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"format": FORMAT}), file, compression="zstd")
    return file.getvalue()


def _file_name(name: str) -> str:
    """Names of indexes are letters, digits, `_`, `-` and `.`; of a damaged file they may be anything."""
    return re.sub(r"[^\w.-]", "_", name)[:120]


def ticket(hero: Hero) -> str:
    """The first screen of a report."""
    return "\n".join(_lines(hero)) + "\n"


def _lines(hero: Hero) -> Iterator[str]:
    expected = f" ({plain_in_markdown(hero.expected)})" if hero.expected else ""
    yield f"**{plain_in_markdown(hero.title)}: {plain_in_markdown(hero.chip)}**{expected}\n"
    yield f"{plain_in_markdown(hero.sentence)}\n"
    for answer in hero.answers:
        yield f"- {plain_in_markdown(answer.question)}: {plain_in_markdown(answer.said)}"
        yield from (f"  - {plain_in_markdown(line)}" for line in answer.beside)
        if answer.command is not None:
            yield f"  - `{answer.command.replace('`', '')}`"
    yield from (f"- {plain_in_markdown(warning)}" for warning in hero.warnings)
    yield f"\n{plain_in_markdown(hero.where)}"
