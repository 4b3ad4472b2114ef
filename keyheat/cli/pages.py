"""Verbs that write pages and files of runs: report, compare and runs."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from keyheat.cli.mistakes import CheckedCommand
from keyheat.cli.options import OUT, a_folder, a_path, give, in_json
from keyheat.masking import short_path
from keyheat.numbers import some
from keyheat.runfiles import EVIDENCE, FILES, RUN
from keyheat.show.answer import Answer
from keyheat.show.console import bars, in_words, working
from keyheat.words import DONE, INVALID


@click.command(cls=CheckedCommand)
@click.argument("folder", metavar="DIR", type=a_folder)
@click.option("--csv", "csv_dir", type=a_path, metavar="FOLDER", help="write numbers as CSV files instead")
@click.option("--show-keys", is_flag=True, help="write keys of the run, with --csv")
@in_json("the page")
def report(folder: Path, csv_dir: Path | None, show_keys: bool) -> int:
    """Write report.html from the files of a run; keyheat analyze DIR labels them anew.

    With --csv it writes the frames of the run instead, with units in column names.
    """
    from keyheat.show.report import write_report

    if csv_dir is not None:
        return _write_csv(folder, csv_dir, show_keys=show_keys)
    if show_keys:
        raise click.UsageError("--show-keys goes with --csv")
    with working("drawing the report", bars):
        written = write_report(folder, datetime.now(UTC))
    drawn = Answer(title=folder.name, sentence="Report drawn.", data={"report": str(written)})
    return give(drawn, DONE, page=written)


@click.command(cls=CheckedCommand)
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=a_folder)
@click.option("--out", "file", type=a_path, default=OUT / "compare.html", show_default=True)
@in_json("the page, and whether every run is valid")
def compare(folders: tuple[Path, ...], file: Path) -> int:
    """Write one page over several runs: verdicts, throughput, throttling and latency side by side."""
    from keyheat.show.compare import write_comparison

    for folder in folders:
        within = sorted(path.parent for path in folder.glob(f"*/{FILES[EVIDENCE]}"))
        if within and not any((folder / FILES[kind]).exists() for kind in (RUN, EVIDENCE)):
            named = " ".join(short_path(path) for path in within)
            raise click.UsageError(f"{short_path(folder)} holds runs in folders of their own: {named}")
    with working(f"drawing {len(folders)} runs", bars):
        compared, valid = write_comparison(file, folders, datetime.now(UTC))
    brief = replace(compared, parts=(), sections=(), data={"valid": valid})
    return give(brief, DONE if valid else INVALID, page=file)


def _write_csv(folder: Path, csv_dir: Path, *, show_keys: bool) -> int:
    """Write each frame of a run as a file."""
    from keyheat.analysis.exports import KeysNotRecorded, write_exports

    try:
        with working("writing the frames", bars):
            written = write_exports(folder, csv_dir, show_keys=show_keys)
    except KeysNotRecorded as problem:
        raise click.UsageError(str(problem)) from problem
    rows = [{"path": str(path), "rows": rows} for path, rows in written]
    notes = tuple(f"{short_path(path)}: {some(rows, 'row')}" for path, rows in written)
    files = some(len(rows), "file")
    return give(Answer(title="Frames", sentence=f"{files}.", notes=notes, data={"files": rows}), DONE)


@click.command(cls=CheckedCommand)
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=a_path)
@click.option("--out", "file", type=a_path, help="page  [default: runs.html in FOLDER]")
@in_json("the runs with their summaries")
def runs(folders: tuple[Path, ...], file: Path | None) -> int:
    """List all runs below FOLDER [default: reports/out] on one page."""
    from keyheat.analysis.found import find_runs
    from keyheat.show.history import NAME, runs_answer
    from keyheat.show.render import html_of, save

    if absent := [str(folder) for folder in folders if not folder.is_dir()]:
        raise click.UsageError(f"no such folder: {', '.join(absent)}; the default is {OUT}")
    searched = folders or (OUT,)
    runs_found, problems = find_runs(searched)
    written = file or searched[0] / NAME
    answer = runs_answer(runs_found, problems, searched, written.parent)
    code = INVALID if problems else DONE
    if file is not None or in_words():
        save(written, html_of(answer, datetime.now(UTC)))
    return give(replace(answer, tables=()), code, page=written, data_alone=True)
