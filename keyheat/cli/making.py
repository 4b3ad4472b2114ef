"""Making one run, whatever its target: the load or the simulation, then analysis, summary and report.

Every verb that needs a run makes it here: demo, run, sweep and simulate, and those that compare runs.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from keyheat.claims import hold
from keyheat.cli.codes import BROKEN, DONE, INTERRUPTED, INVALID, REFUSED, WRONG_USE
from keyheat.cli.common import diagnosed, exit_code_of
from keyheat.load.run import launch
from keyheat.load.run.jobs import REPORT, Job, clear, made
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, SIMULATED, FileProblem
from keyheat.terminal.console import bars, err, out, shown

if TYPE_CHECKING:
    from keyheat.runs.formats import Diagnosis
    from keyheat.simulator.flow import Traffic

SAID = "keyheat: "  # begins what a run says to a person
NOT_STARTED = (WRONG_USE, REFUSED, INTERRUPTED)  # after these, no further run of a series is tried


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How runs are made.

    `target` is simulated, local, aws or the URL of an endpoint. `options` go to the process that loads, such
    as what `guards.agreed` gives; a simulated run has no use for them. A `quick` run does not wait
    for CloudWatch: its labels rest on what the client saw. Without `report`, a quick or simulated run writes
    no report.html. `quiet` prints no line on stdout about what came out.
    """

    target: str = "local"
    options: tuple[str, ...] = ()
    quick: bool = False
    show_keys: bool = False
    report: bool = True
    quiet: bool = False
    further: tuple[Path, ...] = ()  # analyzers of the user's own; a load goes without


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


def loaded(job: Job, how: How, *, place: tuple[int, int] | None = None) -> int:
    """Load as the scenario says, in a process of its own, to the report; gives the exit code."""
    from keyheat.pages.run.page import write_report
    from keyheat.runs.formats import read_diagnosis
    from keyheat.runs.manifest import read_manifest
    from keyheat.terminal.diagnosis import outcome
    from keyheat.terminal.progress import LoadBar

    options = [
        *(["--show-keys"] if how.show_keys else []),
        *how.options,
        *(["--no-report"] if how.quick else []),
    ]
    command = launch.command(job.path, job.scenario, job.folder, "--target", how.target, *options)
    with LoadBar(job.scenario.name, job.scenario.load.duration_s, bars, place=place) as bar:
        ended = launch.launch(command, bar.show)
    code, said = ended.code, ended.said
    if code in (DONE, BROKEN) or (code == INVALID and made(job)):
        _check_is_of(ended.run_id, job.folder, said)
    if how.quick and code in (DONE, BROKEN):
        code = exit_code_of(diagnosed(job.folder)) or code
        if how.report:
            write_report(job.folder, datetime.now(UTC))
    if code not in (DONE, BROKEN, INVALID) or not made(job):
        err.print(said.rstrip(), markup=False)
        return INVALID if code == BROKEN else code  # it broke, not a threshold
    for line in said.splitlines():
        if line.startswith(SAID):  # such as what became of its tables; the rest are the stages' own words
            err.print(line, markup=False)
    diagnosis, stopped = read_diagnosis(job.folder / FILES[DIAGNOSIS]), read_manifest(job.folder).stopped_by
    if not how.quiet:
        out.print(outcome(job.scenario, diagnosis, _shown(job.folder), stopped))
    return code


def _check_is_of(run_id: str | None, folder: Path, said: str) -> None:
    """Nobody is told of a run what another one came to. Raises `FileProblem` after what was `said`."""
    from keyheat.runs.manifest import read_manifest

    found = read_manifest(folder).run_id
    if found != run_id:
        err.print(said.rstrip(), markup=False)
        raise FileProblem(
            f"{folder} holds the files of another run ({found}), and none of this one ({run_id}): nothing is "
            "said of it; run it again, with another folder (--out)"
        )


def simulated(job: Job, how: How, *, seed: int | None = None, sent: "Traffic | None" = None) -> "Diagnosis":
    """Simulate a scenario to its report; the seed is the scenario's unless another is given.

    `sent` takes the place of what the scenario's load test sends.
    """
    from keyheat.evidence.simulated import evidence_of
    from keyheat.pages.run.page import write_report
    from keyheat.runs.formats import write_evidence
    from keyheat.simulator.folder import write_run
    from keyheat.simulator.simulate import simulate
    from keyheat.simulator.spread import spread_traffic
    from keyheat.terminal.diagnosis import outcome, undecided
    from keyheat.terminal.simulating import Simulating

    scenario, folder = job.scenario, job.path.parent
    seed = scenario.seed if seed is None else seed
    traffic, notes = (sent, ()) if sent is not None else spread_traffic(scenario, seed, folder)
    with hold(job.folder), Simulating(scenario.name, scenario.load.duration_s, bars) as bar:
        clear(job.folder)
        simulation = simulate(scenario, seed=seed, traffic=traffic, folder=folder, progress=bar.show)
        bar.analyzing()
        write_run(simulation, job.folder, scenario_path=str(job.path), show_keys=how.show_keys, notes=notes)
        write_evidence(job.folder / FILES[EVIDENCE], evidence_of(simulation))
        diagnosis = diagnosed(job.folder, how.further)
        if how.report:
            write_report(job.folder, datetime.now(UTC))
    if not how.quiet:
        out.print(outcome(scenario, diagnosis, _shown(job.folder)))
        for line in (*notes, *undecided(diagnosis)):
            out.print(f"{'':<13}{line}", markup=False)
    return diagnosis


def _shown(folder: Path) -> str:
    report = folder / REPORT
    return shown(report if report.exists() else folder)
