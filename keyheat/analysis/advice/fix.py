"""A fix that is tried: the run that it starts from, the actions taken, the runs of both sides, and the proof.

    as it was   throttles by the limit     else nothing is shown
    fixed       hardly a throttle          fixed
                by the same limit          not fixed
                by another limit only      moved

A fixed one that consumes more than is provisioned lives on what was saved: once that is spent it is throttled
by that capacity, and so it is taken to be.

Both sides are sent the same demand with the same seeds, one after the other by turns, so that neither has the
quieter machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Final, Literal

from keyheat.addresses import endpoint_of
from keyheat.analysis.advice.actions import Applied, Setting, apply, in_order
from keyheat.analysis.advice.commands import what_settles
from keyheat.analysis.advice.demand import Limit
from keyheat.analysis.advice.replay import read_incident, with_assumed_key
from keyheat.analysis.advice.rerun import Rerun, dollars_per_month, rerun_of, traffic_for
from keyheat.analysis.advice.search import MORE, throttled_by
from keyheat.analysis.loaded_step import Burst, beyond_provisioned
from keyheat.analysis.rules import load_thresholds
from keyheat.analysis.run_result import RunTraffic, most_provisioned, traffic_of
from keyheat.analysis.summary import read_summary
from keyheat.analysis.verdict import groups
from keyheat.plan.bill import pre_warming
from keyheat.plan.prices import Billing, Prices, load_prices
from keyheat.plan.quotas import capacities_of
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, RUN, SIMULATED, FileProblem, runs_below
from keyheat.runs.formats import HARDLY, Diagnosis, Label, read_diagnosis
from keyheat.runs.manifest import Manifest, read_manifest
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.run import read_seconds
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.scenario.variants import with_files_of, with_own_tables
from keyheat.simulator.flow import Traffic
from keyheat.simulator.jobs import Job
from keyheat.words import Direction

LOCAL = "local"
BEFORE: Final = "before"
AFTER: Final = "after"
Kind = Literal["fixed", "not_fixed", "moved", "not_shown", "invalid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A throttled run, whose demand `rerun` repeats."""

    rerun: Rerun
    diagnosis: Diagnosis
    target: str
    incident: tuple[Label, ...] = ()  # the labels that are replayed, of what is still to be cured

    @property
    def scenario(self) -> Scenario:
        """Whose table it meets."""
        return self.rerun.scenario

    def traffic(self, scenario: Scenario, applied: Applied | None = None) -> Traffic | None:
        """Return the demand with actions applied; None if the scenario alone describes it."""
        alters = applied.alters if applied else ()
        if self.rerun.by_schedule and not alters:
            return None
        return traffic_for(scenario, self.rerun.recorded, alters)

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
        served = " yet; burst capacity served it, and its page says what lasts"
        yet = served if diagnosis.recommendations else ""
        raise ValueError(f"{folder} was not throttled: there is nothing to fix{yet}")
    manifest = read_manifest(folder) if (folder / FILES[RUN]).exists() else None
    if manifest is None or manifest.scenario is None:
        return _of_evidence(folder, target)
    source, named = f"{folder}/{FILES[RUN]}", manifest.target or LOCAL
    scenario = scenario_from_dict(dict(manifest.scenario), source)
    if not target and named not in (LOCAL, SIMULATED, "aws"):
        named = endpoint_of(named, None, file=source, option="--target") or LOCAL
    scenario = with_files_of(scenario, Path(manifest.scenario_path or "").parent)
    rerun = Rerun(
        scenario=scenario, measured=None, billing=Billing(load_prices()), target_utilisation=_target()
    )
    return Start(rerun=rerun, diagnosis=diagnosis, target=target or named)


def _target() -> float:
    return load_thresholds().recommend.target_utilisation


def _not_valid(folder: Path, diagnosis: Diagnosis) -> str:
    """Say why an invalid run has nothing to fix, and what to do."""
    verdict = diagnosis.verdict
    if verdict.constraint == "undetermined" and not diagnosis.generator.bound:
        evidence = read_evidence(folder / FILES[EVIDENCE])
        nothing = f"{folder} is undetermined, so there is nothing to fix yet."
        return f"{nothing} {what_settles(diagnosis, evidence)}"
    return f"{folder} is invalid, so there is nothing to fix. {' '.join(verdict.because[:2])} Run it again."


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
        billing=Billing(load_prices()), target_utilisation=_target(),
        heats=with_assumed_key(incident.heats, incident.arranged, incident.heaviest),
    )  # fmt: skip
    if rerun is None:
        raise ValueError(
            f"{folder} has no scenario, and its evidence lacks the capacity of the table: collect it with "
            "--describe-json"
        )
    return Start(rerun=rerun, diagnosis=incident.diagnosis, target=SIMULATED, incident=incident.labels)


def remedy_of(start: Start, action: str | None) -> Applied:
    """The recommendation as a scenario. Raises `ValueError` with what can be done by hand."""
    on = Setting(
        target_utilisation=_target(),
        simulated=start.target == SIMULATED, whole=True,
    )  # fmt: skip
    choose = partial(chosen, start.diagnosis, start.scenario, action=action)
    remedy, assumed = choose(on), start.rerun.assumed
    if isinstance(remedy, Applied):
        remedy = _with_enough_shards(start, remedy, on)
        return replace(remedy, notes=(*remedy.notes, *assumed))
    by_hand = "\n".join(f"  {step}" for step in remedy)
    message = f"no rerun can show what is recommended; by hand:\n{by_hand}"
    if assumed:
        message += "\n`keyheat init --from-diagnosis DIR` writes a scenario of it, with a hot key if need be"
    if isinstance(choose(replace(on, simulated=True)), Applied):
        message += f"\nOn the simulator it can be shown: add --target {SIMULATED}"
    raise ValueError(message)


def _with_enough_shards(start: Start, remedy: Applied, on: Setting) -> Applied:
    """A number of shards by formula, or more where chance lets some of them meet in one partition.

    It stays where it was simulated, where a scenario describes the demand, or if no larger one is enough.
    """
    first = remedy.actions[0], remedy.resource, remedy.direction
    sharded = [item for item in start.diagnosis.recommendations if item.shards]
    by_formula = next(
        (item for item in sharded if (item.action, item.resource, item.direction) == first), None
    )
    if start.diagnosis.cure is not None or start.rerun.by_schedule or by_formula is None:
        return remedy
    for factor in (1.0, *MORE):
        more = by_formula.model_copy(update={"shards": ceil(factor * (by_formula.shards or 1))})
        candidate = apply([more], start.scenario, on)
        if not isinstance(candidate, Applied):
            continue
        outcome = start.rerun.having(candidate).simulated()
        if throttled_by(outcome, start.limit_of(candidate)) <= HARDLY:
            shared = (
                f"By the formula it takes {by_formula.shards:,}; some of those would share a partition here."
            )
            notes = (*candidate.notes, *([shared] if factor > 1 else []))
            return replace(candidate, notes=notes, not_tried=remedy.not_tried)
    return remedy


def chosen(
    diagnosis: Diagnosis, scenario: Scenario, on: Setting, *, action: str | None = None
) -> Applied | tuple[str, ...]:
    """A diagnosis' cure, else the first recommendation that a rerun can show, applied to the scenario.

    With an `action`, that one. It says why those before it are not tried. Where no rerun shows
    it, or not every step of the cure, what is to be done by hand. Raises `ValueError` for an action that is
    not recommended.
    """
    if action is None and diagnosis.cure is not None:
        outcome = apply(diagnosis.cure.steps, scenario, on)
        return outcome if isinstance(outcome, Applied) else (outcome,)
    advised = [item for item in diagnosis.recommendations if action in (item.action, None)]
    if action is not None and not advised:
        there = ", ".join(dict.fromkeys(item.action for item in diagnosis.recommendations)) or "nothing"
        raise ValueError(f"--recommendation {action}: this diagnosis does not recommend it, but {there}")
    by_hand: list[str] = []
    for item in in_order([item for item in advised if action or item.kind != "insufficient"], diagnosis):
        outcome = apply([item], scenario, on)
        if isinstance(outcome, Applied):
            return replace(outcome, not_tried=tuple(by_hand))
        by_hand.append(outcome)
    return tuple(by_hand)


def turns(before: Scenario, after: Scenario, repetitions: int, folder: Path) -> list[Job]:
    """Every run, in its order: before after, after before, before after ... with a seed for each pair."""
    jobs = []
    for number in range(repetitions):
        pair = [(BEFORE, before), (AFTER, after)]
        for side, scenario in pair if number % 2 == 0 else reversed(pair):
            name = f"{side}-{number + 1}"
            repeated = with_own_tables(scenario, f"-{name}")
            repeated = repeated.model_copy(update={"seed": scenario.seed + number})
            jobs.append(Job(repeated, folder / f"{name}.json", folder / name))
    return jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One run of either side, in numbers."""

    folder: Path
    diagnosis: Diagnosis
    manifest: Manifest
    traffic: Mapping[Direction, RunTraffic]
    dollars_per_month: float | None
    measures: Mapping[str, float]  # of its summary
    on_burst: Burst | None = None  # who consumes more than is provisioned, in words

    @property
    def valid(self) -> bool:
        """Whether it says something about its table."""
        return self.diagnosis.verdict.valid

    @property
    def attempts(self) -> int:
        return sum(side.attempts for side in self.traffic.values())

    @property
    def throttles(self) -> int:
        """Attempts that were throttled."""
        return sum(side.throttled for side in self.traffic.values())

    @property
    def throttled_share(self) -> float:
        return self.throttles / self.attempts if self.attempts else 0.0

    @property
    def units_per_read(self) -> float | None:
        """Read units per checked, or simulated, read of a whole collection."""
        counted = self.manifest.counted
        for units, reads in (("reads.units", "reads.checked"), ("simulated.read_units", "simulated.reads")):
            if counted.get(reads) and units in counted:
                return counted[units] / counted[reads]
        return None

    @property
    def throttles_notably(self) -> bool:
        """Whether there are more throttles than an application notices."""
        return self.diagnosis.verdict.constraint != "none" and self.throttled_share > HARDLY

    @property
    def limits(self) -> dict[Limit, int]:
        """Throttles by the limit that refused them, the most first."""
        return {group.limit: group.throttles for group in groups(self.diagnosis.labels)}

    def notably_by(self, limit: Limit) -> bool:
        """Whether a limit alone refused more than an application notices."""
        return bool(self.attempts) and self.limits.get(limit, 0) / self.attempts > HARDLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of it. `limit` is the one that was to be fixed, `now` the one that throttles afterwards."""

    kind: Kind
    limit: Limit
    before: tuple[Tried, ...]
    after: tuple[Tried, ...]
    now: Limit | None = None
    on_burst: str | None = None  # nothing throttles yet, and why it will
    invalid: tuple[Path, ...] = ()


def tried(
    folder: Path,
    scenario: Scenario,
    billing: Billing,
    *,
    replayed: bool = False,
) -> Tried:
    """A run directory with a diagnosis; `replayed`: of an incident's demand. Raises `FileProblem`."""
    manifest = read_manifest(folder)
    traffic, most = traffic_of(manifest, read_seconds(folder)), most_provisioned(manifest, scenario)
    return Tried(
        folder=folder,
        diagnosis=read_diagnosis(folder / FILES[DIAGNOSIS]),
        manifest=manifest,
        traffic=traffic,
        dollars_per_month=month_of(scenario, traffic, manifest.scale, billing, replayed=replayed),
        measures=read_summary(folder).measures,
        on_burst=None if scenario.timeline else beyond_provisioned(traffic, most),
    )


def month_of(
    scenario: Scenario,
    traffic: Mapping[Direction, RunTraffic],
    scale: float,
    billing: Billing,
    *,
    replayed: bool = False,
) -> float | None:
    """Dollars of a month with the demand of a run, of an incident that is replayed in the busier half."""
    per_s = {side: rows.going_on_per_s if replayed else rows.units_per_s for side, rows in traffic.items()}
    known = {side: rate for side, rate in per_s.items() if rate is not None}
    enough = known if len(known) == len(per_s) else None  # else it was too short
    return dollars_per_month(scenario, enough, billing, scale)


def once_dollars(scenario: Scenario, prices: Prices) -> float | None:
    """What pre-warming is paid once; None where it is not done, or has no price."""
    tables = [table for table in capacities_of(scenario) if table.table == scenario.table.name]
    dollars = [
        line.each_dollars and line.quantity * line.each_dollars for line in pre_warming(tables, prices)
    ]
    known = [each for each in dollars if each is not None]
    return sum(known) if known and len(known) == len(dollars) else None


def proof_of(limit: Limit, before: Sequence[Tried], after: Sequence[Tried]) -> Proof:
    """Hold both sides against each other; every repetition has to say the same of a fix."""
    (kind, now), on_burst = _judged(limit, before, after), None
    if kind == "fixed" and (beyond := [run.on_burst for run in after if run.on_burst]):
        resource, direction, on_burst = beyond[0]
        now = ("table", resource, direction)
        kind = "not_fixed" if now == limit else "moved"
    return Proof(
        kind=kind,
        limit=limit,
        before=tuple(before),
        after=tuple(after),
        now=now,
        on_burst=on_burst,
        invalid=tuple(run.folder for run in (*before, *after) if not run.valid),
    )


def _judged(limit: Limit, before: Sequence[Tried], after: Sequence[Tried]) -> tuple[Kind, Limit | None]:
    if not before or not after or not all(run.valid for run in (*before, *after)):
        return "invalid", None
    if not all(run.notably_by(limit) for run in before):
        return "not_shown", None
    throttling = [run for run in after if run.throttles_notably]
    if not throttling:
        return "fixed", None
    if any(run.notably_by(limit) for run in throttling):
        return "not_fixed", limit
    return "moved", next(iter(throttling[0].limits))
