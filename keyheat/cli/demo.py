"""The verb demo: four scenarios, four verdicts, on any machine.

A load generator that cannot keep up makes a run invalid. Demand and table are then halved, which leaves the
question as it is, and the run is repeated.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from keyheat.cli.mistakes import CheckedCommand
from keyheat.cli.options import OUT, a_path, in_json, same_place
from keyheat.cli.run import SAID, in_turn, loaded_together
from keyheat.cli.simulate import How, tell_runs
from keyheat.runfiles import DIAGNOSIS, FILES
from keyheat.scenario.variants import at_scale, write_scenario
from keyheat.show.console import err, out, strong
from keyheat.simulator.jobs import Job, clear, find_scenario, is_done
from keyheat.words import DONE, INTERRUPTED, INVALID

DEMO: Final = ("hotkey", "datekey", "sharded", "too-small")
LEAST_SCALE: Final = 1 / 16
"""About 16 requests/s for a scenario."""


@click.command(cls=CheckedCommand)
@click.option("--out", "folder", type=a_path, default=OUT / "demo", show_default=True)
@click.option(
    "--scale",
    type=click.FloatRange(LEAST_SCALE, 1),
    default=1.0,
    show_default=True,
    help="start at this share of demand and tables",
)
@in_json("the runs and what came out")
def demo(folder: Path, scale: float) -> int:
    """Run four scenarios on the local endpoint: four reports and one index page (about 2 minutes).

    They run at the same time on two cores or more. If the machine cannot send a load evenly, demand and table
    are halved, and it runs again.
    """
    from keyheat.show.compare import INDEX, write_comparison

    folder = same_place(folder)
    jobs = _jobs(DEMO, folder, scale)
    codes = _load_all(jobs)
    while INTERRUPTED not in codes.values():
        spoiled = [name for name in codes if _spoiled(jobs[name])]
        if not spoiled or scale / 2 < LEAST_SCALE:
            break
        scale /= 2
        behind = f"{SAID}this machine was too busy for {', '.join(spoiled)}"
        err.print(f"{behind}: demand and tables are halved, to scale {scale:g}")
        jobs |= (again := _jobs(spoiled, folder, scale))
        codes |= _load_all(again)
    else:
        return INTERRUPTED
    # A slow machine is no failure of the demo: an invalid verdict says so itself.
    code = max(DONE if name in spoiled and ended == INVALID else ended for name, ended in codes.items())
    runs = [folder / name for name in DEMO]
    write_comparison(folder / INDEX, runs, datetime.now(UTC))
    tell_runs([*jobs.values()], [*codes.values()], code, page=str(folder / INDEX))
    out.print(strong("\nAll four side by side: ", folder / INDEX))
    return code


def _jobs(names: Iterable[str], folder: Path, scale: float) -> dict[str, Job]:
    """The scenarios at a share of their size, each in a folder of its name; an earlier run is cleared."""
    jobs = {}
    for name in names:
        scenario, path = find_scenario(name)
        clear(folder / name)
        if scale != 1:
            scenario = at_scale(scenario, scale)
            path = write_scenario(folder / f"{name}.json", scenario)
        jobs[name] = Job(scenario, path, folder / name)
    return jobs


def _load_all(jobs: Mapping[str, Job]) -> dict[str, int]:
    """Load at the same time if cores allow, else in turn; gives the exit codes of the runs that began."""
    from keyheat.load.record.generator import machine

    listed: Sequence[Job] = [*jobs.values()]
    together = len(listed) > 1 and int(machine()["cores"]) > 1
    return dict(
        zip(
            jobs,
            (loaded_together if together else in_turn)(listed, How(show_keys=True, brief=True)),
            strict=False,
        )
    )


def _spoiled(job: Job) -> bool:
    """Whether the verdict is not the expected one: the generator was the limit, or late requests met."""
    from keyheat.runs.formats import read_diagnosis
    from keyheat.show.verdict import is_as_expected

    if not is_done(job):
        return False
    verdict = read_diagnosis(job.folder / FILES[DIAGNOSIS]).verdict
    return not is_as_expected(job.scenario.expects or "", verdict)
