"""The report of one run: one HTML file that needs nothing else, and what its charts show as files."""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from keyheat.analysis.report.facts import facts_of
from keyheat.analysis.report.run import ReportRun, load_run
from keyheat.analysis.report.seconds import read_record
from keyheat.masking import as_cell
from keyheat.pages.charts.capacity import swatch
from keyheat.pages.charts.figures import PageTable
from keyheat.pages.charts.keys import SHOWN
from keyheat.pages.page import figures_json, library, page, said_at, save
from keyheat.pages.run.hero import Hero, hero_of
from keyheat.pages.run.sections import charts_of, details_of, tables_of
from keyheat.pages.sheets import Sheet
from keyheat.runfiles import REPORT, check_no_link, write_atomically
from keyheat.terms import MEANINGS as TERMS
from keyheat.terms import OF_RETRIES, titled
from keyheat.wording.constraints import MEANINGS
from keyheat.words import capital, plain_in_markdown

if TYPE_CHECKING:
    import pyarrow as pa


def render(
    run: ReportRun,
    generated_at: datetime,
    *,
    plotlyjs: str | None = None,
    hero: Hero | None = None,
    tables: Sequence[PageTable] = (),
) -> str:
    """The whole page. `generated_at` is printed on it; `plotlyjs` replaces the library inlined.

    `hero` and `tables` replace the first screen, and add numbers, where more is known than the files say.
    """
    record = read_record(run)
    facts = facts_of(run, record)
    sections = charts_of(run, record, facts)
    charts = [chart for section in sections for chart in section.charts]
    hero = hero or hero_of(run, record, facts)
    return page(
        "page.html.j2",
        run=run,
        hero=hero,
        sections=sections,
        figures=figures_json(charts, ticket=ticket(hero)),
        tables=(*tables, *tables_of(run, record)),
        details=details_of(run),
        constraints=[(swatch(constraint), capital(MEANINGS[constraint])) for constraint in MEANINGS],
        terms=[
            (titled(term), meaning)
            for term, meaning in TERMS.items()
            if term not in OF_RETRIES or (run.manifest is not None and run.manifest.retry_cost is not None)
        ],
        generated_at=said_at(generated_at),
        plotlyjs=library(plotlyjs),
    )


def write_report(run_dir: Path, generated_at: datetime) -> Path:
    """Write `report.html` into a run directory, whole or not at all, and return its path.

    Raises `FileProblem` where there is no readable `diagnosis.json`, or the directory cannot be written.
    """
    return save(run_dir / REPORT, render(load_run(run_dir), generated_at))


class KeysNotRecorded(ValueError):
    """Values of keys were asked for, and the run has nothing but their digests."""


def write_exports(folder: Path, place: Path, *, show_keys: bool = False) -> list[tuple[Path, int]]:
    """Write one CSV file for each chart into `place`; gives their paths with their rows.

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
        path, table = place / f"{_file_name(sheet.name)}.csv", sheet.table()
        _write_file(path, _csv(table))
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


def _csv(table: "pa.Table") -> bytes:
    """Times in UTC with a Z, unknown cells empty, every word in quotes."""
    import pyarrow as pa
    import pyarrow.csv

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
