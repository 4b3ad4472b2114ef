"""The verb `export`: what each chart of a run's page shows, as files."""

from pathlib import Path
from typing import Literal

import click

from keyheat.cli.common import a_folder, a_path
from keyheat.cli.telling import in_json
from keyheat.terminal.bar import Working
from keyheat.terminal.console import bars, out, print_json, shown
from keyheat.words import DONE


@click.command()
@click.argument("folder", metavar="RUN", type=a_folder)
@click.option("--format", "kind", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True)
@click.option("--out", "place", type=a_path, help="where the files go  [default: RUN/export]")
@click.option("--show-keys", is_flag=True, help="with the values of keys, where the run recorded them")
@in_json("which files were written, with their rows,")
def export(
    folder: Path, kind: Literal["csv", "parquet"], place: Path | None, show_keys: bool, as_json: bool
) -> int:
    """Write what each chart of a run shows as a file: second by second, units in the names of the columns."""
    from keyheat.pages.run.exports import KeysNotRecorded, write_exports

    try:
        with Working("writing what the charts show", bars):
            written = write_exports(folder, place or folder / "export", kind, show_keys=show_keys)
    except KeysNotRecorded as problem:
        raise click.UsageError(str(problem)) from problem
    if as_json:
        print_json({"files": [{"path": str(path), "rows": rows} for path, rows in written]})
        return DONE
    for path, rows in written:
        out.print(f"{shown(path)}  {rows:,} {'row' if rows == 1 else 'rows'}", markup=False)
    return DONE
