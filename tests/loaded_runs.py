"""A run as a load leaves it, made by the model on a virtual clock: burst and all."""

import json

from keyheat.cli.simulate import diagnosed
from keyheat.evidence.simulated import evidence_of
from keyheat.runfiles import EVIDENCE, FILES, RUN
from keyheat.runs.formats import write_evidence
from keyheat.simulator.folder import write_run
from keyheat.simulator.jobs import Job
from keyheat.simulator.simulate import Simulation, simulate


def written_run(
    job: Job, simulation: Simulation | None = None, *, bound: bool = False, status: str = "finished"
) -> int:
    """Write a run directory with its diagnosis, as of a load whose generator may have been the limit.

    Gives the exit code.
    """
    simulation = simulation or simulate(job.scenario)
    write_run(simulation, job.folder, scenario_path=str(job.path))
    write_evidence(job.folder / FILES[EVIDENCE], evidence_of(simulation))
    path = job.folder / FILES[RUN]
    content = json.loads(path.read_text())
    content |= {"target": "local", "status": status}
    content["generator"] = {"bound": bound, "checks": ["late arrivals"] if bound else []}
    path.write_text(json.dumps(content))
    diagnosed(job.folder)
    return 3 if bound else 0
