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
from tablemodel.runfiles import DIAGNOSIS, EVIDENCE, FILES, CannotWrite, FileProblem
from tablemodel.scenario import Scenario, ScenarioError, json_schema, load_scenario

if TYPE_CHECKING:
    from analyzers.formats import Diagnosis, Evidence

ROOT = Path(__file__).parent
SCENARIOS = ROOT / "configs" / "scenarios"
OUT = Path("reports") / "out"
DEMO = ("hotkey", "datekey", "sharded", "too-small")
DONE, BROKEN, WRONG_USE, INVALID, INTERRUPTED = 0, 1, 2, 3, 130

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)
a_folder = click.Path(exists=True, file_okay=False, path_type=Path)
a_file = click.Path(exists=True, dir_okay=False, path_type=Path)
a_path = click.Path(path_type=Path)
a_time = click.DateTime(["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ"])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("keyheat"), prog_name="keyheat")
def cli() -> None:
    """Load a DynamoDB table, label every throttle, show it: is it the partition or the table?"""


@cli.command()
@click.option("--out", "folder", type=a_path, default=OUT / "demo", show_default=True)
def demo(folder: Path) -> int:
    """Four scenarios on the local endpoint, four reports, one index page (about 5 minutes)."""
    from reports.index import Entry, write_index

    codes = []
    for name in DEMO:
        scenario, path = _scenario(name)
        _clear(folder / name)
        codes.append(_load(scenario, path, folder / name, "--show-keys"))
        if codes[-1] == INTERRUPTED:
            return INTERRUPTED
    entries = [Entry.of_run(folder / name) for name in DEMO]
    index = write_index(folder, entries, datetime.now(UTC), title="Partition or table? Four answers")
    out.print(f"\nAll four side by side: [bold]{_shown(index)}[/]")
    return max(codes)


@cli.command()
@click.argument("scenario")
@click.option("--target", default="local", show_default=True, help="local, aws, or the URL of an endpoint")
@click.option("--out", "folder", type=a_path, help="run directory  [default: reports/out/NAME-TIME]")
@click.option("--transport", type=click.Choice(["signed", "boto3"]), default="signed", show_default=True)
def run(scenario: str, target: str, folder: Path | None, transport: str) -> int:
    """Load as SCENARIO says (a file, or a name in configs/scenarios), then collect, analyze, report."""
    loaded, path = _scenario(scenario)
    folder = folder or OUT / f"{loaded.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    return _load(loaded, path, folder, "--target", target, "--transport", transport)


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


def _load(scenario: Scenario, path: Path, folder: Path, *options: str) -> int:
    """Run one scenario to its report, with a progress bar and then one line that says what came out."""
    from analyzers.formats import read_diagnosis
    from reports.progress import LoadBar
    from reports.terminal import outcome

    with LoadBar(scenario.name, scenario.load.duration_s, err) as bar:
        code, said = launch.launch(launch.command(path, scenario, folder, *options), bar.show)
    if code not in (DONE, BROKEN, INVALID) or not (folder / FILES[DIAGNOSIS]).exists():
        err.print(said.rstrip(), markup=False)
        return code
    diagnosis = read_diagnosis(folder / FILES[DIAGNOSIS])
    out.print(outcome(scenario, diagnosis, _shown(folder / "report.html")))
    return code


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


def _scenario(name_or_path: str) -> tuple[Scenario, Path]:
    path = Path(name_or_path)
    if path.suffix != ".toml" and not path.exists():
        path = SCENARIOS / f"{name_or_path}.toml"
    if not path.exists():
        names = ", ".join(sorted(file.stem for file in SCENARIOS.glob("*.toml")))
        raise click.UsageError(f"SCENARIO {name_or_path!r} is neither a file nor one of: {names}")
    return load_scenario(path), path


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
