"""Shared by verbs that make runs: simulate, label, and print the outcome."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from keyheat.cli.mistakes import CheckedCommand
from keyheat.cli.options import (
    PricedByDay,
    a_path,
    a_scenario,
    changed,
    further_analyzers,
    in_json,
    run_place,
    series_place,
)
from keyheat.flags import option, options_of, takes
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.plan.prices import Billing
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, REPORT, SIMULATED
from keyheat.runs.claims import hold
from keyheat.scenario.scenario import Scenario
from keyheat.show.console import bars, err, in_words, out, print_json, strong
from keyheat.simulator.jobs import Job, clear, find_scenarios, is_done
from keyheat.words import BROKEN, DONE, INTERRUPTED, INVALID, REFUSED, WRONG_USE

if TYPE_CHECKING:
    from keyheat.analysis.report import ReportRun
    from keyheat.runs.formats import Diagnosis
    from keyheat.simulator.flow import Traffic

FORMAT: Final = "keyheat.runs/1"
NOT_STARTED: Final = (WRONG_USE, REFUSED, INTERRUPTED)  # after these, no further run of a series is tried


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How runs are made.

    `target` is simulated, local, aws or the URL of an endpoint. `options` go to the process that loads, such
    as what `guards.agreed` gives; a simulated run has no use for them. A `quick` run does not wait for
    CloudWatch: its labels rest on what the client saw. `quiet` prints nothing about the outcome, `brief` no
    more than what to do. `printed` are the messages of loads that a person has seen.
    """

    target: str = "local"
    options: tuple[str, ...] = ()
    quick: bool = False
    show_keys: bool = False
    report: bool = True  # of a quick or simulated run
    quiet: bool = False
    brief: bool = False
    billing: Billing | None = None  # what a month costs; None: unknown
    further: tuple[Path, ...] = ()  # analyzers of the user's own, of a simulated run
    printed: set[str] = field(default_factory=set, compare=False)


def diagnosed(folder: Path, further: Sequence[Path] = (), billing: Billing | None = None) -> "Diagnosis":
    """Analyze a run directory by the files that are there, and keep the diagnosis and the summary."""
    from keyheat.analysis.diagnosis import analyze_run
    from keyheat.analysis.summary import keep_summary
    from keyheat.runs.formats import write_diagnosis

    diagnosis = analyze_run(folder, further=further, billing=billing)
    write_diagnosis(folder / FILES[DIAGNOSIS], diagnosis)
    keep_summary(folder)
    return diagnosis


def say_problems(diagnosis: "Diagnosis") -> None:
    """Print which of the user's analyzers failed, and why."""
    for problem in diagnosis.problems:
        err.print(problem)


def exit_code_of(diagnosis: "Diagnosis") -> int:
    """The exit code of a verb; a failed analyzer of the user's is wrong use."""
    if diagnosis.problems:
        return WRONG_USE
    if not diagnosis.verdict.valid:
        return INVALID
    if any(threshold.broken for threshold in diagnosis.thresholds):
        return BROKEN
    spoiled = diagnosis.generator.bound and any(not threshold.decided for threshold in diagnosis.thresholds)
    return INVALID if spoiled else DONE


def say_outcome(run: "ReportRun", folder: Path, how: How) -> None:
    """Print the first screen of a run, and where its report is, or its files."""
    if not in_words():
        return
    from keyheat.show.render import text_of
    from keyheat.show.run import first_screen

    report = folder / REPORT
    out.print(text_of(first_screen(run, brief=how.brief)))
    out.print(strong("\nReport: ", report) if report.exists() else strong("\nFiles: ", folder), end="\n\n")


def end_series(jobs: Sequence[Job], codes: Sequence[int], code: int) -> int:
    """Write the page of several runs, print them in order as JSON if --json was given; return `code`.

    `codes` are their exit codes; a run that was not begun has none.
    """
    page, done = None, [job.folder for job in jobs if is_done(job)]
    if len(jobs) > 1 and done:
        from keyheat.show.compare import INDEX, write_comparison  # half a second, once the runs are over

        page = jobs[0].folder.parent / INDEX
        write_comparison(page, done, datetime.now(UTC))
        out.print(strong("Side by side: ", page))
    if not in_words():
        ended = [*codes, *[None] * (len(jobs) - len(codes))]
        runs = [_run_data(job, ended[number]) for number, job in enumerate(jobs)]
        print_json({"format": FORMAT, "exit_code": code, "runs": runs, "page": page})
    return code


def _run_data(job: Job, code: int | None) -> dict[str, object]:
    from keyheat.analysis.summary import read_summary
    from keyheat.runs.formats import read_diagnosis

    there, files = is_done(job), {"report": job.folder / REPORT, "evidence": job.folder / FILES[EVIDENCE]}
    return {
        "scenario": job.scenario.name,
        "exit_code": code,
        "folder": job.folder,
        **{name: path if path.exists() else None for name, path in files.items()},
        "summary": read_summary(job.folder) if there else None,
        "diagnosis": read_diagnosis(job.folder / FILES[DIAGNOSIS]) if there else None,
    }


def jobs_in(
    loaded: Sequence[tuple[Scenario, Path]],
    folder: Path | None,
    *,
    series: str,
    ending: str = "",
    settings: tuple[str, ...] = (),
) -> list[Job]:
    """Jobs for one run in its own folder, or several below one."""
    if len(loaded) == 1:
        ((scenario, path),) = loaded
        return [Job(scenario, path, run_place(folder, f"{scenario.name}{ending}"), settings)]
    folder = series_place(folder, series)
    return [Job(scenario, path, folder / scenario.name, settings) for scenario, path in loaded]


def simulated(
    job: Job, how: How, *, sent: "Traffic | None" = None, behaviour: Behaviour = DEFAULT
) -> "Diagnosis":
    """Simulate a scenario to its report; `sent` takes the place of what its load test sends."""
    from keyheat.analysis.report import read_run
    from keyheat.evidence.simulated import evidence_of
    from keyheat.runs.formats import write_evidence
    from keyheat.show.console import PHASES, Simulating
    from keyheat.show.report import write_report
    from keyheat.simulator.dryrun import assumptions_of
    from keyheat.simulator.folder import write_run
    from keyheat.simulator.simulate import simulate
    from keyheat.simulator.traffic import spread_traffic

    scenario, folder, path = job.scenario, job.path.parent, str(job.path)
    seed = scenario.seed
    traffic, notes = (sent, ()) if sent is not None else spread_traffic(scenario, seed, folder)
    notes = (*notes, *assumptions_of(scenario, folder))
    with hold(job.folder), Simulating(scenario.name, scenario.load.duration_s, bars) as bar:
        clear(job.folder)
        simulation = simulate(
            scenario, seed=seed, traffic=traffic, folder=folder, behaviour=behaviour,
            progress=bar.simulated, policy=scenario.client.retries,
        )  # fmt: skip
        bar.show(1.0, PHASES["analyzing"])
        named = how.show_keys or (sent is None and scenario.invents_keys)
        write_run(simulation, job.folder, scenario_path=path, show_keys=named, notes=notes)
        write_evidence(job.folder / FILES[EVIDENCE], evidence_of(simulation))
        diagnosis = diagnosed(job.folder, how.further, how.billing)
        run = read_run(job.folder) if how.report or not how.quiet else None
        if run is not None and how.report:
            write_report(run, datetime.now(UTC))
    if run is not None and not how.quiet:
        say_outcome(run, job.folder, how)
    return diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateOptions:
    """What is drawn, written and added."""

    folder: Path | None = option(
        "run directory  [default: reports/out/NAME-simulated-TIME]", flag="--out", type=a_path
    )
    show_keys: bool = option("write keys instead of their digests", default=False)
    further: tuple[Path, ...] = further_analyzers()
    priced: PricedByDay = options_of(PricedByDay)


@click.command(cls=CheckedCommand)
@click.argument("scenarios", metavar="SCENARIO...", nargs=-1, required=True, type=a_scenario)
@changed
@takes("options", SimulateOptions)
@in_json("the runs and what came out")
def simulate(scenarios: tuple[str, ...], settings: tuple[str, ...], options: SimulateOptions) -> int:
    """Run SCENARIO (a file, or a name in configs/scenarios) on a virtual clock, analyze, report.

    A minute of load takes about a second. Several scenarios end in one page, each in a folder of its own
    in --out.
    """
    loaded = find_scenarios(scenarios, settings)
    jobs = jobs_in(loaded, options.folder, series="simulated", ending="-simulated")
    how = How(
        target=SIMULATED, show_keys=options.show_keys, further=options.further,
        billing=options.priced.billing, brief=len(jobs) > 1,
    )  # fmt: skip
    diagnoses = [simulated(job, how) for job in jobs]
    codes = list(map(exit_code_of, diagnoses))
    code = end_series(jobs, codes, max(codes))
    for diagnosis in diagnoses:
        say_problems(diagnosis)
    return code
