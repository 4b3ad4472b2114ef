"""Verbs that write pages and files of runs: report, compare and runs."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from keyheat.cli.conclude import say_problems
from keyheat.cli.options import (
    OUT,
    a_file,
    a_folder,
    a_path,
    further_analyzers,
    in_json,
    price_list,
    some_prices,
)
from keyheat.masking import shown
from keyheat.numbers import some
from keyheat.terminal.console import answer, bars, err, in_words, out, print_json, strong
from keyheat.terminal.progress import Working
from keyheat.words import DONE, INVALID, WRONG_USE

if TYPE_CHECKING:
    from keyheat.runs.formats import Diagnosis


@click.command()
@click.argument("folder", metavar="[DIR]", type=a_folder, required=False)
@click.option("--evidence", type=a_file, help="draw an evidence file without a run; with --out")
@click.option("--out", "file", type=a_path, help="page of the evidence file")
@click.option(
    "--csv", "place", type=a_path, metavar="FOLDER", help="write the numbers of the run as CSV files"
)
@click.option("--show-keys", is_flag=True, help="write keys of the run, with --csv")
@further_analyzers
@in_json("the page")
def report(
    folder: Path | None,
    evidence: Path | None,
    file: Path | None,
    place: Path | None,
    show_keys: bool,
    further: tuple[Path, ...],
) -> int:
    """Write report.html from the files of a run, or a page about an evidence file.

    With --csv it writes the frames of the run instead, with units in column names.
    """
    from keyheat.show.report import write_report

    if place is not None and folder is not None and evidence is None and file is None and not further:
        return _write_csv(folder, place, show_keys=show_keys)
    if place is not None or show_keys:
        raise click.UsageError("--csv takes a run directory only, and --show-keys goes with it")
    now, code = datetime.now(UTC), DONE
    if folder is not None and evidence is None and file is None:
        if further:
            raise click.UsageError(
                "--with needs a new analysis: keyheat analyze DIR --with FILE, then report"
            )
        with Working("drawing the report", bars):
            written = write_report(folder, now)
    elif folder is None and evidence is not None and file is not None:
        with Working("drawing the report", bars):
            diagnosis = _draw_evidence(evidence, file, now, further)
        say_problems(diagnosis)
        written, code = file, WRONG_USE if diagnosis.problems else DONE
    else:
        raise click.UsageError("name a run directory, or use --evidence FILE --out FILE.html")
    answer(lambda: {"report": str(written)}, lambda: f"Report: {shown(written)}")
    return code


def _draw_evidence(evidence: Path, file: Path, now: datetime, further: Sequence[Path]) -> "Diagnosis":
    """Write the report of an evidence file, without the rest of a run; gives its diagnosis."""
    from keyheat.analysis.diagnosis import diagnosed
    from keyheat.analysis.report.run import evidence_alone
    from keyheat.runs.plausibility import read_evidence
    from keyheat.show.html import html_of, save
    from keyheat.show.report import report_answer

    found = read_evidence(evidence)
    diagnosis = diagnosed(found, further=further)
    save(file, html_of(report_answer(evidence_alone(found, diagnosis)), now))
    return diagnosis


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=a_folder)
@click.option("--out", "file", type=a_path, default=OUT / "compare.html", show_default=True)
@in_json("the page, and whether every run is valid")
@some_prices
def compare(folders: tuple[Path, ...], file: Path, prices: Path) -> int:
    """Write one page over several runs: verdicts, throughput, latency, cost and counts side by side."""
    from keyheat.show.compare import write_comparison

    listed = price_list(prices)
    with Working(f"drawing {len(folders)} runs", bars):
        valid = write_comparison(file, folders, listed, datetime.now(UTC))
    answer(lambda: {"page": str(file), "valid": valid}, lambda: f"Side by side: {shown(file)}")
    return DONE if valid else INVALID


def _write_csv(folder: Path, place: Path, *, show_keys: bool) -> int:
    """Write each frame of a run as a file."""
    from keyheat.show.exports import KeysNotRecorded, write_exports

    try:
        with Working("writing the frames", bars):
            written = write_exports(folder, place, show_keys=show_keys)
    except KeysNotRecorded as problem:
        raise click.UsageError(str(problem)) from problem
    answer(
        lambda: {"files": [{"path": str(path), "rows": rows} for path, rows in written]},
        lambda: "\n".join(f"{shown(path)}  {some(rows, 'row')}" for path, rows in written),
    )
    return DONE


Thing = TypeVar("Thing")
MANY = 30  # runs that have to be read, from which on it is said how far that is


a_history = click.option(
    "--history",
    type=a_file,
    help="history of suites  [default: reports/history.sqlite]",
)


@click.command()
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=a_path)
@a_history
@click.option("--out", "file", type=a_path, help="page  [default: runs.html in FOLDER]")
@in_json("the runs with their summaries")
def runs(folders: tuple[Path, ...], history: Path | None, file: Path | None) -> int:
    """List all runs below FOLDER [default: reports/out] and in the history, on one page."""
    from keyheat.analysis.found import find_runs
    from keyheat.regression.history import default_path, utc_now
    from keyheat.show.html import html_of, save
    from keyheat.show.runs import NAME, kept_runs, rows_of, runs_answer

    searched = _there(folders)
    kept = history or default_path()
    found, problems = find_runs(searched, _told)
    known, forgotten = kept_runs(kept, utc_now)
    rows, problems = rows_of(found, known), [*problems, *forgotten]
    written = file or searched[0] / NAME
    made = runs_answer(rows, problems, [*searched, *([kept] if kept.exists() else [])], written.parent)
    if not in_words():
        print_json(made.data)
    if file is not None or in_words():
        save(written, html_of(made, datetime.now(UTC)))
        for problem in problems:
            err.print(f"keyheat: {shown(problem.place)}: {problem.why}")
        out.print(strong(f"{some(len(rows), 'run')}: ", written))
    return INVALID if problems else DONE


def _there(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders that were named, which have to exist; else the default one."""
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        raise click.UsageError(f"no such folder: {', '.join(missing)}; the default is {OUT}")
    return folders or (OUT,)


def _told(places: Sequence[Thing]) -> Iterable[Thing]:
    """The places one by one, with a bar if there are many."""
    from keyheat.terminal.progress import counted

    return counted(places, len(places), "runs are read", bars) if len(places) > MANY else places
