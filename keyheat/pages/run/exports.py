"""What each chart of a run's page shows, as files: the sheets of the charts, whole and in full."""

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from keyheat.pages.charts.keys import SHOWN
from keyheat.pages.run.facts import facts_of
from keyheat.pages.run.load import Run, load_run
from keyheat.pages.run.record import read_record
from keyheat.pages.run.sections import charts_of
from keyheat.pages.run.sheets import Sheet
from keyheat.runfiles import write_atomically

Kind = Literal["csv", "parquet"]
FORMAT: Final = "keyheat.export/1"


class KeysNotRecorded(ValueError):
    """Values of keys were asked for, and the run has nothing but their digests."""


def write_exports(
    folder: Path, place: Path, kind: Kind, *, show_keys: bool = False
) -> list[tuple[Path, int]]:
    """Write one file for each chart into `place`; gives their paths with their rows.

    Raises `FileProblem` where the run cannot be read or a file not written, and `KeysNotRecorded`.
    """
    run = load_run(folder)
    if show_keys and not _has_values(run):
        raise KeysNotRecorded(
            f"{folder} has digests of keys only; a load keeps their values if it is started with --show-keys"
        )
    written = []
    for sheet in sheets_of(run, show_keys=show_keys):
        path, table = place / f"{_file_name(sheet.name)}.{kind}", sheet.table()
        content = _csv(table) if kind == "csv" else _parquet(table)
        _write(path, content)
        written.append((path, table.num_rows))
    return written


def _write(path: Path, content: bytes) -> None:
    write_atomically(path, lambda file: file.write(content))


def sheets_of(run: Run, *, show_keys: bool = False) -> list[Sheet]:
    """The sheet of every chart, in the order of the page; keys as digests, unless their values are wanted."""
    record = read_record(run)
    sections = charts_of(run, record, facts_of(run, record))
    sheets = [chart.sheet for section in sections for chart in section.charts if chart.sheet is not None]
    return sheets if show_keys else [_without_values(sheet) for sheet in sheets]


def _without_values(sheet: Sheet) -> Sheet:
    return replace(sheet, columns={name: values for name, values in sheet.columns.items() if name != SHOWN})


def _has_values(run: Run) -> bool:
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
    file = io.BytesIO()
    pyarrow.csv.write_csv(table, file)
    return file.getvalue()


def _parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"format": FORMAT}), file, compression="zstd")
    return file.getvalue()


def _file_name(name: str) -> str:
    """Names of indexes are letters, digits, `_`, `-` and `.`; of a damaged file they may be anything."""
    return re.sub(r"[^\w.-]", "_", name)[:120]
