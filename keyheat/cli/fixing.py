"""What `keyheat fix` starts from: a diagnosed run directory, as a scenario that can be run again."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from keyheat.addresses import endpoint_of
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, RUN, SIMULATED, FileProblem
from keyheat.runs.formats import Diagnosis, read_diagnosis
from keyheat.scenario.derived import with_files_of
from keyheat.scenario.scenario import Scenario, scenario_from_dict

if TYPE_CHECKING:
    from keyheat.analysis.advising.proof import Limit
    from keyheat.analysis.advising.remedies import Remedy
    from keyheat.runs.manifest import Manifest
    from keyheat.simulator.flow import Traffic

LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A run that was throttled. `sent` makes its demand again, where no scenario says what was sent."""

    scenario: Scenario
    diagnosis: Diagnosis
    target: str
    sent: "Callable[[], Traffic] | None" = None

    def sent_with(self, remedy: "Remedy") -> "Callable[[], Traffic] | None":
        """The demand with the remedy taken, where no scenario says it: hot keys are divided on their way."""
        from keyheat.model.resources import Direction
        from keyheat.simulator.altered import Altered, in_shards

        shards = remedy.scenario.keys.shards
        if self.sent is None or shards == 1:
            return self.sent
        index = None if remedy.resource == "table" else remedy.resource
        change = in_shards(shards, Direction(remedy.direction), index)
        return lambda sent=self.sent: Altered(sent(), change)  # type: ignore[misc]

    def limit_of(self, remedy: "Remedy") -> "Limit":
        """The limit that a remedy is for."""
        from keyheat.analysis.labelling.verdict import groups

        about = remedy.resource, remedy.direction
        found = groups(self.diagnosis.labels)
        of = next((one for one in found if (one.resource, one.direction) == about), None)
        return (of.constraint if of else self.diagnosis.verdict.constraint, *about)


def start_of(folder: Path, target: str | None) -> Start:
    """What is to be fixed, on the target that is said, or that of the run.

    Raises `FileProblem` where the run says nothing, `UnknownEndpoint` where its file alone says whom to load,
    and `ValueError` where there is nothing to fix or where it cannot be run again there.
    """
    diagnosis = read_diagnosis(folder / FILES[DIAGNOSIS])
    if not diagnosis.verdict.valid:
        raise FileProblem(f"{folder} says nothing about its table, so nothing is known to fix: run it again")
    if diagnosis.verdict.constraint == "none":
        raise ValueError(f"{folder} was not throttled: there is nothing to fix")
    manifest = _manifest(folder)
    if manifest is None or manifest.scenario is None:
        return _of_evidence(folder, diagnosis, target)
    path = Path(manifest.scenario_path or "")
    scenario = scenario_from_dict(dict(manifest.scenario), f"{folder}/{FILES[RUN]}")
    return Start(
        scenario=with_files_of(scenario, path.parent),
        diagnosis=diagnosis,
        target=target or _target_in(folder, manifest.target or LOCAL),
    )


def _target_in(folder: Path, named: str) -> str:
    """The target that a run's file names."""
    if named in (LOCAL, SIMULATED, "aws"):
        return named
    return endpoint_of(named, None, file=f"{folder}/{FILES[RUN]}", option="--target") or LOCAL


def _manifest(folder: Path) -> "Manifest | None":
    """The manifest; None for a table that others load, of which there is only evidence."""
    from keyheat.runs.manifest import read_manifest

    return read_manifest(folder) if (folder / FILES[RUN]).exists() else None


def _of_evidence(folder: Path, diagnosis: Diagnosis, target: str | None) -> Start:
    """The demand that the evidence shows, on the simulator: nobody else can send it again."""
    from keyheat.analysis.advising.rerun import rerun_of
    from keyheat.analysis.diagnosis import heats_of
    from keyheat.analysis.labelling.verdict import groups
    from keyheat.analysis.timeline import timeline
    from keyheat.plan.prices import load_prices
    from keyheat.runs.client import read_client_files
    from keyheat.runs.formats import read_evidence

    if target not in (None, SIMULATED):
        raise ValueError(
            f"{folder} has no scenario, only evidence of what somebody sent: that can be sent again with "
            f"--target simulated, and not to {target}"
        )
    evidence = read_evidence(folder / FILES[EVIDENCE])
    client = read_client_files(folder) if (folder / FILES[RUN]).exists() else None
    rerun = rerun_of(
        evidence, timeline(evidence), groups(diagnosis.labels)[0].heaviest, client=client, scenario=None,
        heats=heats_of(evidence, client), prices=load_prices(),
    )  # fmt: skip
    if rerun is None:
        raise ValueError(
            f"{folder} has no scenario, and its evidence does not say what the table has: without it "
            "the demand cannot be simulated; collect it with --describe-json"
        )
    return Start(scenario=rerun.scenario, diagnosis=diagnosis, target=SIMULATED, sent=partial(rerun.traffic))
