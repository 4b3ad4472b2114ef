"""The verbs run and demo, and how every other verb loads a table: in a process of its own, to a report."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from keyheat.cli.guards import Guards, agreed
from keyheat.cli.mistakes import CheckedCommand
from keyheat.cli.options import OUT, Priced, a_path, a_scenario, changed, in_json
from keyheat.cli.simulate import (
    NOT_STARTED,
    How,
    diagnosed,
    end_series,
    exit_code_of,
    jobs_in,
    say_outcome,
    simulated,
)
from keyheat.flags import option, options_of, takes
from keyheat.load.options import RETRIES, RETRIES_HELP
from keyheat.load.run import launch
from keyheat.masking import masked
from keyheat.runfiles import DIAGNOSIS, FILES, SIMULATED, FileProblem
from keyheat.runs.claims import hold
from keyheat.scenario.variants import at_scale, write_scenario
from keyheat.show.console import bars, err
from keyheat.simulator.jobs import Job, clear, find_scenario, find_scenarios, is_done
from keyheat.simulator.traffic import check_shards
from keyheat.words import BROKEN, DONE, INTERRUPTED, INVALID, WRONG_USE

SAID = "keyheat: "  # begins what a load says to a person
LAST_LINES = 40  # of what a child printed: more than a traceback has
NO_COLLECT: Final = "skip CloudWatch; label from client data only"
NOT_OURS = "unrecognized arguments: --scenario"  # Locust's, where the load test does not load our users


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How requests are sent, and what is watched."""

    target: str = option("local, aws, or the URL of an endpoint", default="local")
    transport: str = option(
        "signed is the fastest; boto3 is what an application has",
        default="signed", type=click.Choice(["signed", "boto3"]),
    )  # fmt: skip
    retries: str = option(RETRIES_HELP, default="client", type=click.Choice(RETRIES))
    prometheus_port: int | None = option(
        "serve metrics for Prometheus during the load", type=int, metavar="PORT"
    )
    folder: Path | None = option("run directory  [default: reports/out/NAME-TIME]", flag="--out", type=a_path)
    quick: bool = option(NO_COLLECT, default=False, flag="--no-collect")
    guards: Guards = options_of(Guards)
    priced: Priced = options_of(Priced)


@click.command(cls=CheckedCommand)
@click.argument("scenarios", metavar="SCENARIO...", nargs=-1, required=True, type=a_scenario)
@changed
@takes("load", LoadOptions)
@in_json("the runs and what came out")
def run(scenarios: tuple[str, ...], settings: tuple[str, ...], load: LoadOptions) -> int:
    """Load a table as SCENARIO says (a file, or a name in configs/scenarios), then collect, analyze, report.

    Several scenarios run one after the other, each in a folder of its own in --out, and end in one page.
    """
    loaded = find_scenarios(scenarios, settings)
    for scenario, path in loaded:
        check_shards(scenario, path.parent)
    options = ["--transport", load.transport, "--retries", load.retries]
    options += [f"--prometheus-port={load.prometheus_port}"] if load.prometheus_port is not None else []
    jobs = jobs_in(loaded, load.folder, series="compare", settings=settings)
    options += agreed(jobs, load.target, load.guards, prices=load.priced.prices)
    how = How(target=load.target, options=tuple(options), quick=load.quick, brief=len(jobs) > 1)
    codes = in_turn(jobs, how)
    return end_series(jobs, codes, codes[-1] if codes[-1] in NOT_STARTED else max(codes))


def make_run(job: Job, how: How, *, of_series: tuple[int, int] | None = None) -> int:
    """Make one run into `job.folder`, with a progress bar on stderr, and give its exit code.

    `of_series` is the run's number among how many, for the bar. A simulation replaces an earlier run in the
    folder, a load refuses it. After DONE, BROKEN and INVALID the folder holds a diagnosis, if there is
    evidence at all (`is_done(job)`). Raises `FileProblem` if the load did not write its end.
    """
    if how.target == SIMULATED:
        return exit_code_of(simulated(job, how))
    return loaded_together([job], how, of_series=of_series)[0]


def in_turn(jobs: Sequence[Job], how: How) -> list[int]:
    """Make the runs in order until one cannot start; return their exit codes."""
    codes: list[int] = []
    for number, job in enumerate(jobs, start=1):
        codes.append(make_run(job, how, of_series=(number, len(jobs)) if len(jobs) > 1 else None))
        if codes[-1] in NOT_STARTED:
            break
    return codes


def loaded_together(jobs: Sequence[Job], how: How, *, of_series: tuple[int, int] | None = None) -> list[int]:
    """Load all scenarios at the same time, each to its report; return the exit codes."""
    from keyheat.show.console import LoadBar

    rows: list[LoadBar] = []
    for job in jobs:
        lasts_s, beside = job.scenario.load.duration_s, rows[0] if rows else None
        rows.append(LoadBar(job.scenario.name, lasts_s, bars, place=of_series, beside=beside))
    with rows[0]:
        loads = [(_command(job, how), row.load) for job, row in zip(jobs, rows, strict=True)]
        ended = launch.launch_together(loads)
    return [_concluded(job, how, launched) for job, launched in zip(jobs, ended, strict=True)]


def _command(job: Job, how: How) -> list[str]:
    options = [
        *(f"--set={setting}" for setting in job.settings),
        *(["--show-keys"] if how.show_keys else []),
        *how.options,
        *(["--no-report"] if how.quick else []),
    ]
    return launch.command(job.path, job.scenario, job.folder, "--target", how.target, *options)


def _concluded(job: Job, how: How, ended: launch.Launched) -> int:
    """Label a load that went without CloudWatch, and print its outcome; gives its exit code."""
    from keyheat.analysis.report import read_run

    code, output = ended.code, ended.output
    if ended.run_id is None:
        return _not_begun(job, code, output)
    if code in (DONE, BROKEN) or (code == INVALID and is_done(job)):
        _check_ended(job.folder, output)
    if how.quick and code in (DONE, BROKEN):
        code = exit_code_of(diagnosed(job.folder)) or code
        if how.report:
            from keyheat.show.report import write_report  # half a second, once the load is over

            write_report(job.folder, datetime.now(UTC))
    if code not in (DONE, BROKEN, INVALID) or not is_done(job):
        err.print(_last_words(output))
        return INVALID if code == BROKEN else code  # it broke, not a threshold
    tell_once(output.splitlines(), how)
    if not how.quiet:
        say_outcome(read_run(job.folder), job.folder, how)
    return code


def tell_once(lines: Sequence[str], how: How) -> None:
    """Print the messages of a load, each once in a series of runs."""
    for line in lines:
        if line.startswith(SAID) and line not in how.printed:  # the rest are the stages' own words
            how.printed.add(line)
            err.print(line)


def _not_begun(job: Job, code: int, output: str) -> int:
    """Say why a load ended before there was a run; gives the exit code.

    One that Python or Locust ends does so with 1: the load test cannot be read, or broke. No threshold did.
    """
    if NOT_OURS in output:
        err.print(
            f"{job.scenario.loadtest_shown} has no user class derived from "
            "keyheat.load.users.user.TableUser: derive one (`keyheat loadtests copy hotkey` is an example), "
            f"or run it without a report by `locust -f {job.scenario.loadtest}` @ $.loadtest"
        )
        return WRONG_USE
    err.print(_last_words(output))
    if code in NOT_STARTED:
        return code
    err.print(f"keyheat: the load test {job.scenario.loadtest} ended before it began, with exit code {code}")
    return WRONG_USE if code == BROKEN else INVALID


def _last_words(output: str) -> str:
    """The last lines of a child's output, masked: tracebacks may quote anything."""
    return masked("\n".join(output.rstrip().splitlines()[-LAST_LINES:]))


def _check_ended(folder: Path, output: str) -> None:
    """Check that the run was written to its end. Raises `FileProblem` after the load's last words."""
    from keyheat.runs.manifest import read_manifest

    try:
        if read_manifest(folder).status == "running":
            raise FileProblem(f"{folder}: the load failed during the run, so there is no result")
    except FileProblem:
        err.print(_last_words(output))
        raise


# demo

DEMO: Final = ("hotkey", "datekey", "sharded", "too-small")
LEAST_SCALE, MOST_SCALE = 1 / 16, 1.0
"""Shares of demand and tables; the least is about 16 requests/s for a scenario."""


@click.command(cls=CheckedCommand)
@click.option("--out", "folder", type=a_path, default=OUT / "demo", show_default=True)
@in_json("the runs and what came out")
def demo(folder: Path) -> int:
    """Run four scenarios on the local endpoint: four reports and one index page (about 2 minutes).

    They run at the same time on two cores or more. If the machine cannot send a load evenly, demand and table
    are halved, and it runs again.
    """
    from keyheat.load.record.generator import machine

    click.get_current_context().with_resource(hold(folder))
    cores, how, scale = int(machine()["cores"]), How(show_keys=True, brief=True), MOST_SCALE
    jobs, codes, spoiled = dict[str, Job](), dict[str, int](), [*DEMO]
    while True:
        again = {name: _scaled(name, folder / name, scale) for name in spoiled}
        load = loaded_together if cores > 1 and len(again) > 1 else in_turn
        jobs |= again
        codes |= zip(again, load([*again.values()], how), strict=False)  # those that began
        if INTERRUPTED in codes.values():
            return INTERRUPTED
        spoiled = [name for name in codes if _spoiled(jobs[name])]
        if not spoiled or scale / 2 < LEAST_SCALE:
            break
        scale /= 2
        busy = f"this machine was too busy for {', '.join(spoiled)}"
        err.print(f"{SAID}{busy}: demand and tables are halved, to scale {scale:g}")
    # A slow machine is no failure of the demo: an invalid verdict says so itself.
    code = max(DONE if name in spoiled and ended == INVALID else ended for name, ended in codes.items())
    return end_series([*jobs.values()], [*codes.values()], code)


def _scaled(name: str, folder: Path, scale: float) -> Job:
    """A scenario at a share of its size; an earlier run in its folder is cleared."""
    scenario, path = find_scenario(name)
    clear(folder)
    if scale != 1:
        scenario = at_scale(scenario, scale)
        path = write_scenario(folder.with_suffix(".json"), scenario)
    return Job(scenario, path, folder)


def _spoiled(job: Job) -> bool:
    """Whether the verdict is not the expected one: the generator was the limit, or late requests met."""
    from keyheat.runs.formats import read_diagnosis
    from keyheat.show.verdict import is_as_expected

    if not is_done(job):
        return False
    verdict = read_diagnosis(job.folder / FILES[DIAGNOSIS]).verdict
    return not is_as_expected(job.scenario.expects or "", verdict)
