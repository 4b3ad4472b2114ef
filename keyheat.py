"""The command line: a table of verbs, each of which composes stages and computes nothing itself.

Exit codes: 0 done and within thresholds; 1 a threshold was broken; 2 wrong use or invalid input, nothing
started; 3 the run is invalid or its evidence is missing; 4 refused for safety; 130 interrupted, files kept.

Stages are imported inside their verbs, so that `keyheat --help` does not wait for pyarrow and plotly.
"""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson
from rich.console import Console

from generator.run import launch
from generator.run.jobs import Job, find_scenario, find_scenarios, shard_jobs
from tablemodel.derived import shard_counts
from tablemodel.prices import DEFAULT as PRICES
from tablemodel.prices import Prices, load_prices
from tablemodel.runfiles import DIAGNOSIS, EVIDENCE, FILES, CannotWrite, FileProblem
from tablemodel.scenario import ScenarioError, json_schema

if TYPE_CHECKING:
    from analyzers.formats import Diagnosis, Evidence

OUT = Path("reports") / "out"
DEMO = ("hotkey", "datekey", "sharded", "too-small")
DONE, BROKEN, WRONG_USE, INVALID, REFUSED, INTERRUPTED = 0, 1, 2, 3, 4, 130
NOT_STARTED = (WRONG_USE, REFUSED, INTERRUPTED)  # after these, no further run of a series is tried

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)
a_folder = click.Path(exists=True, file_okay=False, path_type=Path)
a_file = click.Path(exists=True, dir_okay=False, path_type=Path)
a_path = click.Path(path_type=Path)
a_time = click.DateTime(["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ"])


def _counts(_context: click.Context, _option: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        return shard_counts(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


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
        _clear(job.folder)
    codes = _series(jobs, "--show-keys")
    if codes[-1] == INTERRUPTED:
        return INTERRUPTED
    entries = [Entry.of_run(folder / name) for name in DEMO]
    index = write_index(folder, entries, datetime.now(UTC), title="Partition or table? Four answers")
    out.print(f"\nAll four side by side: [bold]{_shown(index)}[/]")
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
@some_prices
def run(
    scenarios: tuple[str, ...], target: str, folder: Path | None, transport: str, retries: str, prices: Path
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
        return _load(Job(scenario, path, folder or _new_folder(scenario.name)), *options)
    listed = _prices(prices)
    folder = _empty(folder or _new_folder("compare"))
    jobs = [Job(scenario, path, folder / scenario.name) for scenario, path in loaded]
    codes = _series(jobs, *options)
    if made := [job.folder for job in jobs if _made(job)]:
        write_comparison(folder / INDEX, made, listed, datetime.now(UTC))
        out.print(f"\nSide by side: [bold]{_shown(folder / INDEX)}[/]")
    return codes[-1] if codes[-1] in NOT_STARTED else max(codes)


@cli.command()
@click.argument("scenario")
@click.option("--shards", "counts", default="1,2,4,8,16", show_default=True, callback=_counts)
@click.option("--target", default="local", show_default=True, help="local, aws, or the URL of an endpoint")
@click.option(
    "--out", "folder", type=a_path, help="folder of all runs  [default: reports/out/NAME-sweep-TIME]"
)
@some_prices
def sweep(scenario: str, counts: tuple[int, ...], target: str, folder: Path | None, prices: Path) -> int:
    """Run SCENARIO once for each number of shards: how many are enough, and what do they cost to read?"""
    from analyzers.thresholds import load_thresholds
    from reports.sweep import NAME, write_sweep

    loaded, _path = find_scenario(scenario)
    listed, margin = _prices(prices), load_thresholds().recommend.shard_margin
    folder = _empty(folder or _new_folder(f"{loaded.name}-sweep"))
    jobs = shard_jobs(loaded, counts, folder)
    codes = _series(list(jobs.values()), "--target", target)
    made = {count: job.folder for count, job in jobs.items() if _made(job)}
    if made:
        answer = write_sweep(folder / NAME, loaded, made, listed, datetime.now(UTC), margin=margin)
        out.print(f"\n{answer.sentence}\nThe whole sweep: [bold]{_shown(folder / NAME)}[/]")
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
    out.print(f"Side by side: {_shown(file)}", markup=False)
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

    loaded, _path = find_scenario(scenario)
    made = forecast(loaded, _prices(prices), margin=load_thresholds().recommend.shard_margin)
    if as_json:
        _print_json(plan_json(loaded, made))
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

    _print_json(queries_for(table, indexes, start=start and start.replace(tzinfo=UTC)))
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
    from analyzers.formats import write_evidence

    file = file or (folder or Path()) / FILES[EVIDENCE]
    if folder is not None:
        found = _evidence_of_run(folder, answers)
    elif table and start and end:
        found = _evidence_of_table(table, start.replace(tzinfo=UTC), end.replace(tzinfo=UTC), answers)
    else:
        raise click.UsageError("say which: --run DIR, or --table T --start A --end B")
    if not (found.series or found.throttles or found.seconds):
        raise FileProblem("\n  ".join(("nothing was collected, and nothing written", *found.missing)))
    write_evidence(file, found)
    out.print(f"Evidence: {_shown(file)}", markup=False)
    for line in found.missing:
        err.print(f"  missing: {line}", markup=False)
    return DONE


@cli.command()
@click.argument("folder", metavar="[DIR]", type=a_folder, required=False)
@click.option("--evidence", type=a_file, help="an evidence file, without the rest of a run")
@click.option("--json", "as_json", is_flag=True, help="the diagnosis as JSON on stdout")
def analyze(folder: Path | None, evidence: Path | None, as_json: bool) -> int:
    """Label the throttles of a run directory (and write diagnosis.json), or of an evidence file."""
    from analyzers.diagnosis import analyze_evidence, analyze_run
    from analyzers.formats import write_diagnosis
    from reports import terminal
    from reports.load import load_run

    if (folder is None) == (evidence is None):
        raise click.UsageError("say which: a run directory, or --evidence FILE")
    if folder is not None:
        diagnosis = analyze_run(folder)
        write_diagnosis(folder / FILES[DIAGNOSIS], diagnosis)
    else:
        assert evidence is not None
        diagnosis = analyze_evidence(evidence)
    if as_json:
        _print_json(diagnosis.model_dump(mode="json"))
    else:
        out.print(terminal.summary(diagnosis, load_run(folder) if folder else None))
    return _exit_code(diagnosis)


@cli.command()
@click.argument("folder", metavar="DIR", type=a_folder)
def report(folder: Path) -> int:
    """Write report.html from the files of a run."""
    from reports.page import write_report

    out.print(f"Report: {_shown(write_report(folder, datetime.now(UTC)))}", markup=False)
    return DONE


@cli.command()
def schema() -> int:
    """The JSON Schema of a scenario file, for editors."""
    _print_json(json_schema())
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


def _load(job: Job, *options: str, place: tuple[int, int] | None = None) -> int:
    """Run one scenario to its report, with a progress bar and then one line that says what came out."""
    from analyzers.formats import read_diagnosis
    from reports.progress import LoadBar
    from reports.terminal import outcome

    with LoadBar(job.scenario.name, job.scenario.load.duration_s, err, place=place) as bar:
        code, said = launch.launch(launch.command(job.path, job.scenario, job.folder, *options), bar.show)
    if code not in (DONE, BROKEN, INVALID) or not _made(job):
        err.print(said.rstrip(), markup=False)
        return INVALID if code == BROKEN else code  # it broke, not a threshold
    diagnosis = read_diagnosis(job.folder / FILES[DIAGNOSIS])
    out.print(outcome(job.scenario, diagnosis, _shown(job.folder / "report.html")))
    return code


def _series(jobs: Sequence[Job], *options: str) -> list[int]:
    """Run one after the other, until all are done or one could not start; gives their exit codes."""
    codes: list[int] = []
    for number, job in enumerate(jobs, start=1):
        codes.append(_load(job, *options, place=(number, len(jobs))))
        if codes[-1] in NOT_STARTED:
            break
    return codes


def _made(job: Job) -> bool:
    """Whether its run came to a diagnosis."""
    return (job.folder / FILES[DIAGNOSIS]).exists()


def _clear(folder: Path) -> None:
    """Take away an earlier demo's files, and nothing else, from a folder that this one will write."""
    for name in (*FILES.values(), "report.html"):
        (folder / name).unlink(missing_ok=True)


def _evidence_of_run(folder: Path, answers: Path | None) -> "Evidence":
    from analyzers import evidence
    from reports.progress import Countdown

    if answers is not None:
        now_s = datetime.now(UTC).timestamp()
        return evidence.collect_from_cli(folder, _json_of(answers), now_s=now_s)
    with Countdown(err) as countdown:
        return evidence.collect(folder, progress=countdown.show)


def _evidence_of_table(table: str, start: datetime, end: datetime, answers: Path | None) -> "Evidence":
    from analyzers import answers as cli
    from analyzers import evidence
    from analyzers.formats import TableFacts, Window
    from reports.progress import Countdown

    if end <= start:
        raise click.UsageError(f"--end {end:%FT%TZ} is not after --start {start:%FT%TZ}")
    if answers is not None:
        window = Window(start=start, end=end)
        return cli.from_cli_output(_json_of(answers), table=TableFacts(name=table), window=window)
    with Countdown(err) as countdown:
        return evidence.collect_table(table, start, end, progress=countdown.show)


def _json_of(path: Path) -> object:
    try:
        return orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise click.UsageError(f"{path} is not JSON: {error}") from error


def _exit_code(diagnosis: "Diagnosis") -> int:
    if not diagnosis.verdict.valid:
        return INVALID
    return BROKEN if any(threshold.broken for threshold in diagnosis.thresholds) else DONE


def _prices(path: Path) -> Prices:
    try:
        return load_prices(path)
    except FileProblem as problem:
        raise click.UsageError(str(problem)) from problem


def _new_folder(name: str) -> Path:
    return OUT / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"


def _empty(folder: Path) -> Path:
    """A folder for several runs, which never mixes them with others."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise click.UsageError(f"--out {folder} is not an empty folder: it may hold other runs")
    return folder


def _print_json(content: object) -> None:
    click.echo(orjson.dumps(content, option=orjson.OPT_INDENT_2))


def _shown(path: Path) -> str:
    """A path as a person would type it from here."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _complain(message: str, code: int) -> int:
    err.print(f"keyheat: {message}", markup=False)
    return code


if __name__ == "__main__":
    sys.exit(main())
