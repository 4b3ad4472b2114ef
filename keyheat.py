"""The command line: a table of verbs, each of which composes stages and computes nothing itself.

Exit codes: 0 done and within thresholds; 1 a threshold was broken; 2 wrong use or invalid input, nothing
started; 3 the run is invalid or its evidence is missing; 4 refused for safety; 130 interrupted, files kept.

Stages are imported inside their verbs, so that `keyheat --help` does not wait for pyarrow and plotly.
"""

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.run import launch
from generator.run.jobs import (
    Job,
    clear,
    find_scenario,
    find_scenarios,
    made,
    new_folder,
    only_ours,
    shard_jobs,
)
from reports.console import err, out, print_json, shown
from tablemodel.derived import shard_counts
from tablemodel.prices import DEFAULT as PRICES
from tablemodel.prices import Prices, load_prices
from tablemodel.runfiles import DIAGNOSIS, EVIDENCE, FILES, CannotWrite, FileProblem
from tablemodel.scenario import ScenarioError, json_schema

if TYPE_CHECKING:
    from analyzers.formats import Diagnosis

OUT = Path("reports") / "out"
DEMO = ("hotkey", "datekey", "sharded", "too-small")
DONE, BROKEN, WRONG_USE, INVALID, REFUSED, INTERRUPTED = 0, 1, 2, 3, 4, 130
NOT_STARTED = (WRONG_USE, REFUSED, INTERRUPTED)  # after these, no further run of a series is tried

a_folder = click.Path(exists=True, file_okay=False, path_type=Path)
a_file = click.Path(exists=True, dir_okay=False, path_type=Path)
a_path = click.Path(path_type=Path)
a_time = click.DateTime(["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ"])


def _counts(_context: click.Context, _option: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        return shard_counts(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


no_collect = click.option(
    "--no-collect", "quick", is_flag=True, help="wait for no CloudWatch: judge by what the client saw alone"
)
some_prices = click.option(
    "--prices", type=a_file, default=PRICES, help="a price list  [default: configs/prices.toml]"
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("keyheat"), prog_name="keyheat")
def cli() -> None:
    """Load a DynamoDB table, label every throttle, show it: is it the partition or the table?"""


@cli.command()
@click.option("--out", "folder", type=a_path, default=OUT / "demo", show_default=True)
def demo(folder: Path) -> int:
    """Four scenarios on the local endpoint, four reports, one index page (about 5 minutes)."""
    from reports.index import Entry, write_index

    jobs = [Job(*find_scenario(name), folder / name) for name in DEMO]
    for job in jobs:
        clear(job.folder)
    codes = _series(jobs, "--show-keys")
    if codes[-1] == INTERRUPTED:
        return INTERRUPTED
    entries = [Entry.of_run(folder / name) for name in DEMO]
    index = write_index(folder, entries, datetime.now(UTC), title="Partition or table? Four answers")
    out.print(f"\nAll four side by side: [bold]{shown(index)}[/]")
    return max(codes)


@cli.command()
@click.argument("scenarios", metavar="SCENARIO...", nargs=-1, required=True)
@click.option("--target", default="local", show_default=True, help="local, aws, or the URL of an endpoint")
@click.option("--out", "folder", type=a_path, help="run directory  [default: reports/out/NAME-TIME]")
@click.option("--transport", type=click.Choice(["signed", "boto3"]), default="signed", show_default=True)
@click.option(
    "--retries",
    type=click.Choice(["off", "sdk"]),
    default="off",
    show_default=True,
    help="sdk: send again what the installed SDK would, after its back-off",
)
@no_collect
@some_prices
def run(
    scenarios: tuple[str, ...],
    target: str,
    folder: Path | None,
    transport: str,
    retries: str,
    quick: bool,
    prices: Path,
) -> int:
    """Load as SCENARIO says (a file, or a name in configs/scenarios), then collect, analyze, report.

    Several scenarios run one after the other, each in a folder of its own in --out, and end in one page.
    """
    from reports.index import INDEX
    from reports.side_by_side import write_comparison

    loaded = find_scenarios(scenarios)
    options = ("--target", target, "--transport", transport, "--retries", retries)
    if len(loaded) == 1:
        (scenario, path), *_ = loaded
        return _load(Job(scenario, path, folder or new_folder(OUT, scenario.name)), *options, quick=quick)
    listed = _prices(prices)
    folder = only_ours(folder or new_folder(OUT, "compare"))
    jobs = [Job(scenario, path, folder / scenario.name) for scenario, path in loaded]
    codes = _series(jobs, *options, quick=quick)
    if runs := [job.folder for job in jobs if made(job)]:
        write_comparison(folder / INDEX, runs, listed, datetime.now(UTC))
        out.print(f"\nSide by side: [bold]{shown(folder / INDEX)}[/]")
    return codes[-1] if codes[-1] in NOT_STARTED else max(codes)


@cli.command()
@click.argument("scenario")
@click.option("--shards", "counts", default="1,2,4,8,16", show_default=True, callback=_counts)
@click.option("--target", default="local", show_default=True, help="local, aws, or the URL of an endpoint")
@click.option(
    "--out", "folder", type=a_path, help="folder of all runs  [default: reports/out/NAME-sweep-TIME]"
)
@no_collect
@some_prices
def sweep(
    scenario: str, counts: tuple[int, ...], target: str, folder: Path | None, quick: bool, prices: Path
) -> int:
    """Run SCENARIO once for each number of shards: how many are enough, and what do they cost to read?"""
    from analyzers.thresholds import load_thresholds
    from reports.sweep import NAME, write_sweep

    loaded, _path = find_scenario(scenario)
    listed, margin = _prices(prices), load_thresholds().recommend.shard_margin
    folder = only_ours(folder or new_folder(OUT, f"{loaded.name}-sweep"))
    jobs = shard_jobs(loaded, counts, folder)
    codes = _series(list(jobs.values()), "--target", target, quick=quick)
    runs = {count: job.folder for count, job in jobs.items() if made(job)}
    if runs:
        answer = write_sweep(folder / NAME, loaded, runs, listed, datetime.now(UTC), margin=margin)
        out.print(f"\n{answer.sentence}\nThe whole sweep: [bold]{shown(folder / NAME)}[/]")
    if codes[-1] in NOT_STARTED:
        return codes[-1]
    return INVALID if INVALID in codes else min(codes)  # a threshold that some number of shards holds, holds


@cli.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=a_folder)
@click.option("--out", "file", type=a_path, default=OUT / "compare.html", show_default=True)
@some_prices
def compare(folders: tuple[Path, ...], file: Path, prices: Path) -> int:
    """One page over several run directories: verdicts, throughput, latency, cost and counts side by side."""
    from reports.side_by_side import write_comparison

    valid = write_comparison(file, folders, _prices(prices), datetime.now(UTC))
    out.print(f"Side by side: {shown(file)}", markup=False)
    return DONE if valid else INVALID


@cli.command()
@click.argument("scenario")
@click.option("--json", "as_json", is_flag=True, help="the plan as JSON on stdout")
@some_prices
def plan(scenario: str, as_json: bool, prices: Path) -> int:
    """What SCENARIO is going to ask for: units, hottest key, shards, dollars, and a picture over time."""
    from analyzers.thresholds import load_thresholds
    from reports.plan import plan_json, plan_text
    from tablemodel.forecast import forecast

    loaded, path = find_scenario(scenario)
    margin = load_thresholds().recommend.shard_margin
    made = forecast(loaded, _prices(prices), margin=margin, folder=path.parent)
    if as_json:
        print_json(plan_json(loaded, made))
    else:
        out.print(plan_text(loaded, made))
    return DONE


@cli.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def local(options: tuple[str, ...]) -> int:
    """The local endpoint alone, for any DynamoDB client; `keyheat local --help` lists its options."""
    from tablemodel.endpoint.__main__ import main as serve

    return serve(options, prog="keyheat local")


@cli.command()
@click.option("--table", required=True)
@click.option("--index", "indexes", multiple=True, help="a global secondary index of it; may be repeated")
@click.option("--start", type=a_time, help="of the window, UTC: an old one needs longer periods")
def queries(table: str, indexes: tuple[str, ...], start: datetime | None) -> int:
    """The GetMetricData queries as JSON, for somebody who runs the AWS CLI in our place."""
    from analyzers.metrics import queries_for

    print_json(queries_for(table, indexes, start=_utc(start)))
    return DONE


@cli.command()
@click.option("--run", "folder", type=a_folder, help="a run directory")
@click.option("--table", help="a table, whoever loads it; with --start and --end")
@click.option("--start", type=a_time, help="UTC, such as 2026-11-20T12:00:00Z")
@click.option("--end", type=a_time)
@click.option(
    "--cloudwatch-json", "answers", type=a_file, help="what the AWS CLI printed for `keyheat queries`"
)
@click.option("--out", "file", type=a_path, help="  [default: evidence.json, in the run directory]")
def collect(
    folder: Path | None,
    table: str | None,
    start: datetime | None,
    end: datetime | None,
    answers: Path | None,
    file: Path | None,
) -> int:
    """What the metrics say of a run, or of any table: waits until its minutes are published."""
    from analyzers.asked import Asked, evidence_for
    from analyzers.formats import write_evidence
    from reports.progress import Countdown

    asked = Asked(folder=folder, table=table, start=_utc(start), end=_utc(end), answers=answers)
    with Countdown(err) as countdown:
        found = evidence_for(asked, clock=time.time, progress=countdown.show)
    file = file or (folder or Path()) / FILES[EVIDENCE]
    if not (found.series or found.throttles or found.seconds):
        raise FileProblem("\n  ".join(("nothing was collected, and nothing written", *found.missing)))
    write_evidence(file, found)
    out.print(f"Evidence: {shown(file)}", markup=False)
    for line in found.missing:
        err.print(f"  missing: {line}", markup=False)
    return DONE


@cli.command()
@click.argument("folder", metavar="[DIR]", type=a_folder, required=False)
@click.option("--evidence", type=a_file, help="an evidence file, without the rest of a run")
@click.option("--json", "as_json", is_flag=True, help="the diagnosis as JSON on stdout")
def analyze(folder: Path | None, evidence: Path | None, as_json: bool) -> int:
    """Label the throttles of a run directory (and write diagnosis.json), or of an evidence file."""
    from analyzers.diagnosis import analyze_evidence
    from reports import terminal
    from reports.load import load_run

    if (folder is None) == (evidence is None):
        raise click.UsageError("say which: a run directory, or --evidence FILE")
    if folder is not None:
        diagnosis = _diagnosed(folder)
    else:
        assert evidence is not None
        diagnosis = analyze_evidence(evidence)
    if as_json:
        print_json(diagnosis.model_dump(mode="json"))
    else:
        out.print(terminal.summary(diagnosis, load_run(folder) if folder else None))
    return _exit_code(diagnosis)


@cli.command()
@click.argument("folder", metavar="DIR", type=a_folder)
def report(folder: Path) -> int:
    """Write report.html from the files of a run."""
    from reports.page import write_report

    out.print(f"Report: {shown(write_report(folder, datetime.now(UTC)))}", markup=False)
    return DONE


@cli.command()
def schema() -> int:
    """The JSON Schema of a scenario file, for editors."""
    print_json(json_schema())
    return DONE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and give its exit code. What a person can mend is one clear message, not a traceback."""
    try:
        return cli.main(arguments, prog_name="keyheat", standalone_mode=False) or DONE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted; what was written is kept", INTERRUPTED)
    except (ScenarioError, CannotWrite, ValueError, OSError) as error:
        return _complain(str(error), WRONG_USE)
    except FileProblem as error:
        return _complain(str(error), INVALID)


def _load(job: Job, *options: str, place: tuple[int, int] | None = None, quick: bool = False) -> int:
    """Run one scenario to its report, with a progress bar and then one line that says what came out.

    A quick one does not wait for CloudWatch: its labels rest on what the client saw.
    """
    from analyzers.formats import read_diagnosis
    from reports.page import write_report
    from reports.progress import LoadBar
    from reports.terminal import outcome

    command = launch.command(
        job.path, job.scenario, job.folder, *options, *(["--no-report"] if quick else [])
    )
    with LoadBar(job.scenario.name, job.scenario.load.duration_s, err, place=place) as bar:
        code, said = launch.launch(command, bar.show)
    if quick and code == DONE:
        code = _exit_code(_diagnosed(job.folder))
        write_report(job.folder, datetime.now(UTC))
    if code not in (DONE, BROKEN, INVALID) or not made(job):
        err.print(said.rstrip(), markup=False)
        return INVALID if code == BROKEN else code  # it broke, not a threshold
    diagnosis = read_diagnosis(job.folder / FILES[DIAGNOSIS])
    out.print(outcome(job.scenario, diagnosis, shown(job.folder / "report.html")))
    return code


def _diagnosed(folder: Path) -> "Diagnosis":
    """Analyze a run directory by the files that are there, and keep the diagnosis."""
    from analyzers.diagnosis import analyze_run
    from analyzers.formats import write_diagnosis

    diagnosis = analyze_run(folder)
    write_diagnosis(folder / FILES[DIAGNOSIS], diagnosis)
    return diagnosis


def _series(jobs: Sequence[Job], *options: str, quick: bool = False) -> list[int]:
    """Run one after the other, until all are done or one could not start; gives their exit codes."""
    codes: list[int] = []
    for number, job in enumerate(jobs, start=1):
        codes.append(_load(job, *options, place=(number, len(jobs)), quick=quick))
        if codes[-1] in NOT_STARTED:
            break
    return codes


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=UTC)


def _exit_code(diagnosis: "Diagnosis") -> int:
    if not diagnosis.verdict.valid:
        return INVALID
    return BROKEN if any(threshold.broken for threshold in diagnosis.thresholds) else DONE


def _prices(path: Path) -> Prices:
    try:
        return load_prices(path)
    except FileProblem as problem:
        raise click.UsageError(str(problem)) from problem


def _complain(message: str, code: int) -> int:
    err.print(f"keyheat: {message}", markup=False)
    return code


if __name__ == "__main__":
    sys.exit(main())
