"""The throttled run that a fix starts from: scenario, diagnosis, and how to resend its demand."""

from dataclasses import dataclass
from pathlib import Path

from keyheat.addresses import endpoint_of
from keyheat.analysis.advice.actions import Applied
from keyheat.analysis.advice.more_evidence import what_settles
from keyheat.analysis.advice.replay import read_incident, with_assumed_key
from keyheat.analysis.advice.rerun import Rerun, altered, rerun_of
from keyheat.analysis.advice.schedule import Limit
from keyheat.analysis.verdict import groups
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.plan.prices import Billing, load_prices
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, RUN, SIMULATED, FileProblem, runs_below
from keyheat.runs.formats import Diagnosis, Label, read_diagnosis
from keyheat.runs.manifest import Manifest, read_manifest
from keyheat.runs.plausibility import read_evidence
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.scenario.variants import with_files_of
from keyheat.simulator.flow import Traffic
from keyheat.simulator.traffic import traffic_of

LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A throttled run; `rerun` replays its demand if no scenario describes it."""

    scenario: Scenario
    diagnosis: Diagnosis
    target: str
    rerun: Rerun | None = None
    incident: tuple[Label, ...] = ()  # the labels that are replayed, of what is still to be cured

    def traffic(self, scenario: Scenario, applied: Applied | None = None) -> Traffic | None:
        """Return the demand with actions applied; None if the scenario alone describes it."""
        alters = applied.alters if applied else ()
        if self.rerun is not None:
            return altered(self.rerun.traffic(), alters)
        return altered(traffic_of(scenario, scenario.seed), alters) if alters else None

    @property
    def behaviour(self) -> Behaviour:
        """That of a simulated table."""
        return self.rerun.behaviour if self.rerun else DEFAULT

    @property
    def assumed(self) -> tuple[str, ...]:
        """What is assumed of a demand that evidence shows, in sentences."""
        return self.rerun.assumed if self.rerun else ()

    def limit_of(self, applied: Applied) -> Limit:
        """Return the limit that the first action is for."""
        about = applied.resource, applied.direction
        by_limit = groups(self.incident or self.diagnosis.labels)
        match = next((group for group in by_limit if (group.resource, group.direction) == about), None)
        return (match.constraint if match else self.diagnosis.verdict.constraint, *about)


def start_of(folder: Path, target: str | None) -> Start:
    """Load the run to fix, on the given target or its own.

    Raises `FileProblem` if the run is invalid, `UnknownEndpoint` if only its file names the endpoint, and
    `ValueError` if there is nothing to fix or it cannot be repeated there.
    """
    if not any((folder / name).exists() for name in FILES.values()):
        where = runs_below(folder) or "; name the folder of one, as `keyheat runs` lists them"
        raise ValueError(f"{folder} holds no run and no diagnosis{where}")
    diagnosis = read_diagnosis(folder / FILES[DIAGNOSIS])
    if not diagnosis.verdict.valid:
        raise FileProblem(_not_valid(folder, diagnosis))
    if diagnosis.verdict.constraint == "none":
        yet = (
            " yet; burst capacity served it, and its page says what lasts"
            if diagnosis.recommendations
            else ""
        )
        raise ValueError(f"{folder} was not throttled: there is nothing to fix{yet}")
    manifest = _manifest(folder)
    if manifest is None or manifest.scenario is None:
        return _of_evidence(folder, target)
    path = Path(manifest.scenario_path or "")
    scenario = scenario_from_dict(dict(manifest.scenario), f"{folder}/{FILES[RUN]}")
    return Start(
        scenario=with_files_of(scenario, path.parent),
        diagnosis=diagnosis,
        target=target or _target_in(folder, manifest.target or LOCAL),
    )


def _not_valid(folder: Path, diagnosis: Diagnosis) -> str:
    """Say why an invalid run has nothing to fix, and what to do."""
    verdict = diagnosis.verdict
    if verdict.constraint == "undetermined" and not diagnosis.generator.bound:
        evidence = read_evidence(folder / FILES[EVIDENCE])
        nothing = f"{folder} is undetermined, so there is nothing to fix yet."
        return f"{nothing} {what_settles(diagnosis, evidence)}"
    return f"{folder} is invalid, so there is nothing to fix. {' '.join(verdict.because[:2])} Run it again."


def _target_in(folder: Path, named: str) -> str:
    """Return the target that a run's file names."""
    if named in (LOCAL, SIMULATED, "aws"):
        return named
    return endpoint_of(named, None, file=f"{folder}/{FILES[RUN]}", option="--target") or LOCAL


def _manifest(folder: Path) -> Manifest | None:
    """Return the manifest; None for evidence only, of a table that others load."""
    return read_manifest(folder) if (folder / FILES[RUN]).exists() else None


def _of_evidence(folder: Path, target: str | None) -> Start:
    """Replay the demand in the evidence on the simulator, the only possible target."""
    if target not in (None, SIMULATED):
        raise ValueError(
            f"{folder} has evidence and no scenario: its demand can be sent with --target simulated only, "
            f"not to {target}"
        )
    incident = read_incident(folder)
    assert incident.heaviest is not None, "a verdict of a limit has a label"
    rerun = rerun_of(
        incident.evidence, incident.arranged, incident.heaviest, client=incident.client, scenario=None,
        billing=Billing(load_prices()),
        heats=with_assumed_key(incident.heats, incident.arranged, incident.heaviest),
    )  # fmt: skip
    if rerun is None:
        raise ValueError(
            f"{folder} has no scenario, and its evidence lacks the capacity of the table: collect it with "
            "--describe-json"
        )
    return Start(
        scenario=rerun.scenario, diagnosis=incident.diagnosis, target=SIMULATED, rerun=rerun,
        incident=incident.labels,
    )  # fmt: skip
