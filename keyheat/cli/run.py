"""Make one run on any target: load or simulate it, then analyze, summarize, report and print its outcome.

Every verb that needs a run makes it here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from keyheat.load.run import launch
from keyheat.masking import masked, shown
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, REPORT, SIMULATED, FileProblem
from keyheat.runs.claims import hold
from keyheat.simulator.jobs import Job, clear, made
from keyheat.terminal.console import bars, err, in_words, out, print_json
from keyheat.words import BROKEN, DONE, INTERRUPTED, INVALID, REFUSED, WRONG_USE

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from keyheat.plan.prices import Billing
    from keyheat.runs.formats import Diagnosis
    from keyheat.simulator.flow import Traffic

SAID = "keyheat: "  # begins what a run says to a person
LAST_LINES = 40  # of what a child printed: more than a traceback has
NOT_STARTED = (WRONG_USE, REFUSED, INTERRUPTED)  # after these, no further run of a series is tried


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How runs are made.

    `target` is simulated, local, aws or the URL of an endpoint. `options` go to the process that loads, such
    as what `guards.agreed` gives; a simulated run has no use for them. A `quick` run does not wait
    for CloudWatch: its labels rest on what the client saw. Without `report`, a quick or simulated run writes
    no report.html. `quiet` prints no line on stdout about what came out. What a load has told a person once
    is in `told`, and is not told again by the next run that is made so.
    """

    target: str = "local"
    options: tuple[str, ...] = ()
    quick: bool = False
    show_keys: bool = False
    report: bool = True
    quiet: bool = False
    billing: "Billing | None" = None  # what a month costs; None: as a run without a word of it
    further: tuple[Path, ...] = ()  # analyzers of the user's own; a load goes without
    told: set[str] = field(default_factory=set, compare=False)


def make_run(job: Job, how: How, *, place: tuple[int, int] | None = None) -> int:
    """Make one run into `job.folder`, with a progress bar on stderr, and give its exit code.

    `place` is the run's number among how many, for the bar. What is left in the folder of an earlier run is
    taken away by a simulation, and refused by a load. After DONE, BROKEN and INVALID the folder holds a
    diagnosis, if there is evidence at all (`made(job)`). Raises `FileProblem` where
    what is there is another run's.
    """
    if how.target == SIMULATED:
        return exit_code_of(simulated(job, how))
    return loaded(job, how, place=place)


def in_turn(jobs: Sequence[Job], how: How) -> list[int]:
    """Run one after the other, until all are done or one could not start; gives their exit codes."""
    codes: list[int] = []
    for number, job in enumerate(jobs, start=1):
        place = (number, len(jobs)) if len(jobs) > 1 else None
        codes.append(make_run(job, how, place=place))
        if codes[-1] in NOT_STARTED:
            break
    return codes


def loaded(job: Job, how: How, *, place: tuple[int, int] | None = None) -> int:
    """Load as the scenario says, in a process of its own, to the report; gives the exit code."""
    from keyheat.terminal.progress import LoadBar

    with LoadBar(job.scenario.name, job.scenario.load.duration_s, bars, place=place) as bar:
        ended = launch.launch(_load_command(job, how), bar.show)
    return _concluded(job, how, ended)


def loaded_together(jobs: Sequence[Job], how: How) -> list[int]:
    """Load as each scenario says, beside each other, each to its report; gives the exit codes."""
    from keyheat.terminal.progress import LoadsBar

    with LoadsBar(len(jobs), max(job.scenario.load.duration_s for job in jobs), bars) as bar:
        ended = launch.launch_together([(_load_command(job, how), bar.watch()) for job in jobs])
    return [_concluded(job, how, launched) for job, launched in zip(jobs, ended, strict=True)]


def _load_command(job: Job, how: How) -> list[str]:
    options = [
        *(f"--set={setting}" for setting in job.settings),
        *(["--show-keys"] if how.show_keys else []),
        *how.options,
        *(["--no-report"] if how.quick else []),
    ]
    return launch.command(job.path, job.scenario, job.folder, "--target", how.target, *options)


def _concluded(job: Job, how: How, ended: launch.Launched) -> int:
    """Print the outcome of a load; gives its exit code."""
    from keyheat.runs.formats import read_diagnosis
    from keyheat.runs.manifest import read_manifest
    from keyheat.show.outcome import outcome

    code, said = ended.code, ended.said
    if ended.run_id is None:
        return _not_begun(job, code, said)
    if code in (DONE, BROKEN) or (code == INVALID and made(job)):
        _check_is_of(ended.run_id, job.folder, said)
    if how.quick and code in (DONE, BROKEN):
        code = exit_code_of(diagnosed(job.folder)) or code
        if how.report:
            from keyheat.show.report import write_report  # half a second, once the load is over

            write_report(job.folder, datetime.now(UTC))
    if code not in (DONE, BROKEN, INVALID) or not made(job):
        err.print(_last_words(said))
        return INVALID if code == BROKEN else code  # it broke, not a threshold
    tell_once(said.splitlines(), how)
    if not how.quiet:
        diagnosis, manifest = read_diagnosis(job.folder / FILES[DIAGNOSIS]), read_manifest(job.folder)
        out.print(outcome(job.scenario, diagnosis, _shown(job.folder), manifest))
    return code


def tell_once(said: Sequence[str], how: How) -> None:
    """Print the messages of a load, each once in a series of runs."""
    for line in said:
        if line.startswith(SAID) and line not in how.told:  # the rest are the stages' own words
            how.told.add(line)
            err.print(line)


def diagnosed(folder: Path, further: Sequence[Path] = (), billing: "Billing | None" = None) -> "Diagnosis":
    """Analyze a run directory by the files that are there, and keep the diagnosis and the summary.

    `further` are analyzers of the user's own, which are asked as well; `billing` says what a month costs.
    """
    from keyheat.analysis.diagnosis import analyze_run
    from keyheat.analysis.summarize import keep_summary
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


def _not_begun(job: Job, code: int, said: str) -> int:
    """Say why a load ended before there was a run; gives the exit code.

    One that Python or Locust ends does so with 1: the load test cannot be read, or broke. No threshold did.
    """
    err.print(_last_words(said))
    if code in NOT_STARTED:
        return code
    err.print(f"keyheat: the load test {job.scenario.loadtest} ended before it began, with exit code {code}")
    return WRONG_USE if code == BROKEN else INVALID


def _last_words(said: str) -> str:
    """The last lines that a child printed, which may be a traceback with names and errors of others."""
    return masked("\n".join(said.rstrip().splitlines()[-LAST_LINES:]))


def _check_is_of(run_id: str, folder: Path, said: str) -> None:
    """Check that the files are those of this run. Raises `FileProblem` after printing what it `said`."""
    from keyheat.runs.manifest import read_manifest

    try:
        found = read_manifest(folder)
        if found.run_id != run_id:
            raise FileProblem(
                f"{folder} holds the files of another run ({found.run_id}), not of this one ({run_id}): "
                "run it again with another folder (--out)"
            )
        if found.status == "running":
            raise FileProblem(f"{folder}: the load broke in the middle of the run, so it has no result")
    except FileProblem:
        err.print(_last_words(said))
        raise


def simulated(
    job: Job,
    how: How,
    *,
    seed: int | None = None,
    sent: "Traffic | None" = None,
    behaviour: Behaviour = DEFAULT,
) -> "Diagnosis":
    """Simulate a scenario to its report; the seed is the scenario's unless another is given.

    `sent` takes the place of what the scenario's load test sends.
    """
    from keyheat.evidence.simulated import evidence_of
    from keyheat.runs.formats import write_evidence
    from keyheat.runs.manifest import read_manifest
    from keyheat.show.outcome import outcome
    from keyheat.show.report import write_report
    from keyheat.show.run import undecided
    from keyheat.simulator.alterations import spread_traffic
    from keyheat.simulator.folder import write_run
    from keyheat.simulator.rehearsal.ask import assumptions_of
    from keyheat.simulator.simulate import simulate
    from keyheat.terminal.progress import Simulating

    scenario, folder = job.scenario, job.path.parent
    seed = scenario.seed if seed is None else seed
    traffic, notes = (sent, ()) if sent is not None else spread_traffic(scenario, seed, folder)
    notes = (*notes, *assumptions_of(scenario, folder))
    with (
        hold(job.folder),
        Simulating(scenario.name, scenario.load.duration_s, bars) as bar,
        _under_way(job, seed) as written,
    ):
        simulation = simulate(
            scenario,
            seed=seed,
            traffic=traffic,
            folder=folder,
            behaviour=behaviour,
            progress=bar.show,
            with_retries=True,
        )
        bar.analyzing()
        named = how.show_keys or (sent is None and scenario.invents_keys)
        write_run(simulation, job.folder, scenario_path=str(job.path), show_keys=named, notes=notes)
        written()
        write_evidence(job.folder / FILES[EVIDENCE], evidence_of(simulation))
        diagnosis = diagnosed(job.folder, how.further, how.billing)
        if how.report:
            write_report(job.folder, datetime.now(UTC))
    if not how.quiet:
        out.print(outcome(scenario, diagnosis, _shown(job.folder), read_manifest(job.folder)))
        for line in (*notes, *undecided(diagnosis)):
            out.print(f"{'':<13}{line}")
    return diagnosis


def _under_way(job: Job, seed: int) -> "AbstractContextManager[Callable[[], None]]":
    """An empty folder that says that the run is going on."""
    from keyheat.simulator.folder import under_way

    clear(job.folder)
    return under_way(job.scenario, seed, job.folder, str(job.path))


def _shown(folder: Path) -> str:
    report = folder / REPORT
    return shown(report if report.exists() else folder)


FORMAT = "keyheat.runs/1"


def tell_runs(jobs: Sequence[Job], codes: Sequence[int], code: int, **more: object) -> None:
    """Print the runs in order as one JSON value, if --json was given.

    `codes` are their exit codes; a run that was not begun has none. `more` is added as it is.
    """
    if in_words():
        return
    runs = [_told(job, codes[place] if place < len(codes) else None) for place, job in enumerate(jobs)]
    print_json({"format": FORMAT, "exit_code": code, "runs": runs, **more})


def _told(job: Job, code: int | None) -> dict[str, object]:
    from keyheat.analysis.summarize import read_summary
    from keyheat.runs.formats import read_diagnosis

    there = made(job)
    return {
        "scenario": job.scenario.name,
        "exit_code": code,
        "folder": job.folder,
        "report": _if_there(job.folder / REPORT),
        "evidence": _if_there(job.folder / FILES[EVIDENCE]),
        "summary": read_summary(job.folder) if there else None,
        "diagnosis": read_diagnosis(job.folder / FILES[DIAGNOSIS]) if there else None,
    }


def _if_there(path: Path) -> Path | None:
    return path if path.exists() else None
