"""Scenarios of a trial as an endpoint with some behaviour answers them, on a virtual clock."""

from collections.abc import Iterable
from functools import cache
from typing import cast

from keyheat.model.behaviour import behaving
from keyheat.simulator.jobs import Job
from keyheat.simulator.simulate import Simulation
from tests import loaded_runs
from tests.asked_endpoint import AskedEndpoint
from tests.one_by_one import asked_one_by_one
from tools.trial.record import FOLDER, Observed, ScenarioName, Trial, observed_simulation, trial_scenario

SEED = 5


@cache
def sent(name: str, behaviour: tuple[str, ...] = ()) -> Simulation:
    """Every request of a scenario, answered by an endpoint that was started with this behaviour."""
    scenario = trial_scenario(name).model_copy(update={"seed": SEED})
    return asked_one_by_one(scenario, FOLDER, AskedEndpoint(scenario, behaving(behaviour)))


def observed(names: Iterable[str], *behaviour: str) -> list[Observed]:
    return [observed_simulation(cast("ScenarioName", name), sent(name, behaviour)) for name in names]


def trial_of(scenarios: list[Observed], **more: object) -> Trial:
    said = {
        "version": "1.0.0", "day": "2026-11-20", "target": "aws", "region": "eu-west-1", "complete": True,
        "scenarios": scenarios,
    }  # fmt: skip
    return Trial.model_validate(said | more)


def written_run(job: Job, *behaviour: str, bound: bool = False, status: str = "finished") -> int:
    """The run directory of such a load; gives the exit code."""
    return loaded_runs.written_run(job, sent(job.folder.name, behaviour), bound=bound, status=status)
