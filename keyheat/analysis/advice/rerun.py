"""A run that the simulator can repeat, from its scenario, else from the demand in the evidence."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from keyheat.analysis.advice.actions import Alteration, Applied
from keyheat.analysis.advice.replay import (
    as_it_behaved,
    assumptions,
    demanded,
    measured_share,
)
from keyheat.analysis.advice.table_then import as_it_is_now, as_it_was, moment_of, scenario_of_table
from keyheat.analysis.checks import throttle_share
from keyheat.analysis.heat import RunHeat
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.plan.bill import consumed_month, provisioned_month
from keyheat.plan.prices import Billing
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Evidence, Label
from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.scenario.spec.part import MOST_UNITS
from keyheat.scenario.spec.tables import TableSpec
from keyheat.scenario.variants import lasting
from keyheat.simulator.alterations import Altered
from keyheat.simulator.flow import Recorded, Traffic
from keyheat.simulator.outcome import SimulationOutcome, outcome_of
from keyheat.simulator.simulate import simulate
from keyheat.simulator.traffic import traffic_of
from keyheat.simulator.whatif import files_fingerprint, scenario_fingerprint

MOST_S: Final = 3_600
"""Most seconds of a run that are simulated, which takes a few seconds."""
MOST_RETRIED: Final = 200_000
"""Most requests of a retrying client, which are simulated one by one: some seconds of work."""
BRIEF_S: Final = 180.0
"""Seconds in which a constant load shows its limits."""
BEGINNING_S: Final = 600.0
"""Seconds of an incident in which numbers of shards are tried, the one that is found then in all of it."""
BEFORE_S: Final = 300
"""Seconds before the throttles at which a repetition starts: the time for which burst is saved."""


def altered(traffic: Traffic, alters: Sequence[Alteration]) -> Traffic:
    """Apply alterations to each request."""
    for make, arguments in alters:
        traffic = Altered(traffic, make(*arguments))
    return traffic


@dataclass(frozen=True, slots=True)
class ScenarioTraffic:
    """The requests of a scenario's load test; equal to another value with the same requests."""

    scenario: Scenario = field(compare=False)
    sent: Hashable

    @classmethod
    def of(cls, scenario: Scenario) -> "ScenarioTraffic":
        """Identify the traffic by the scenario and the present content of its files."""
        return cls(scenario, (scenario_fingerprint(scenario), files_fingerprint(scenario)))

    def __call__(self) -> Traffic:
        return traffic_of(self.scenario, seed=self.scenario.seed)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The inputs of a simulation: the same ones, and their seed, give the same outcome."""

    fingerprint: bytes
    traffic: Callable[[], Traffic]
    scenario: Scenario = field(compare=False)
    alters: tuple[Alteration, ...] = ()
    behaviour: Behaviour = DEFAULT
    retries: bool = False


@lru_cache(maxsize=256)  # of some kilobytes each; a diagnosis has about twenty, both sides of a fix the same
def _outcome(of: _Inputs) -> SimulationOutcome:
    traffic = altered(of.traffic(), of.alters)
    return outcome_of(
        simulate(
            of.scenario,
            traffic=traffic,
            behaviour=of.behaviour,
            counts_only=True,
            policy=of.scenario.client.retries if of.retries else None,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """A run that can be repeated on the simulator, and its measured share of throttled attempts."""

    scenario: Scenario  # whose table it meets
    traffic: Callable[[], Traffic]  # made anew for each simulation, since it remembers what was answered
    by_schedule: bool = False  # whether it is what a scenario's load asks for, rather than what was measured
    alters: tuple[Alteration, ...] = ()
    measured: float | None
    retried_requests: int = 0  # that the scenario's client sent, throttled ones more than once; 0: each once
    billing: Billing
    behaviour: Behaviour = DEFAULT  # of the table: with what burst it begins
    assumed: tuple[str, ...] = ()  # of a demand that evidence shows, in sentences
    table_now: TableSpec | None = None  # as it is described by now
    uncounted: bool = False  # whether evidence leaves out reads or writes, which on-demand mode would bill

    def as_it_was_sent(self, before: SimulationOutcome) -> SimulationOutcome | None:
        """What the run itself is held against: `before`, and where its client retried the same with retries.

        None where those are too many requests to be asked one by one.
        """
        if not self.retried_requests:
            return before
        if self.retried_requests > MOST_RETRIED:
            return None
        return _outcome(
            _Inputs(scenario_fingerprint(self.scenario), self.traffic, self.scenario, retries=True)
        )

    def simulated(self, behaviour: Behaviour | None = None) -> SimulationOutcome:
        """The run once more, its first minutes if it is long; not anew what this process has simulated."""
        scenario = lasting(self.scenario, min(self.scenario.load.duration_s, MOST_S))
        fingerprint = scenario_fingerprint(scenario)
        return _outcome(
            _Inputs(fingerprint, self.traffic, scenario, self.alters, behaviour or self.behaviour)
        )

    def dollars(self, outcome: SimulationOutcome | None) -> float | None:
        """A month of the table with its indexes: as provisioned, else as consumed; None if unknown."""
        if self.scenario.changes_capacity:
            return None
        reserved = provisioned_month(self.scenario.table, self.billing.prices)
        if reserved is not None or outcome is None or self.uncounted:
            return reserved
        per_s = outcome.while_loaded_per_s if self.by_schedule else outcome.going_on_in_all_per_s
        return consumed_month(per_s, self.scenario, self.billing, scale=self.scenario.local.scale)

    def dollars_now(self, outcome: SimulationOutcome | None) -> float | None:
        """A month of the table as it is by now; its capacity may have been changed since it was measured."""
        now = self.table_now and provisioned_month(self.table_now, self.billing.prices)
        return now or self.dollars(outcome)

    def dollars_with(self, then: "Rerun", outcome: SimulationOutcome | None) -> float | None:
        """A month of the table as it is by now, but for what `then` changes; None if its capacity varies."""
        becomes = then.scenario.table
        if then.scenario.changes_capacity:
            return None
        if self.table_now is None or becomes.billing_mode != self.table_now.billing_mode:
            return then.dollars(outcome)
        tables = (table.model_dump(mode="json") for table in (self.table_now, self.scenario.table, becomes))
        table = TableSpec.model_validate(_changed(*tables))
        return provisioned_month(table, self.billing.prices) or then.dollars(outcome)

    def brief(self) -> "Rerun":
        """Shorten a constant load to the time in which bursts are spent and hot partitions split."""
        scenario = self.scenario
        changes = scenario.is_changing or scenario.table.scaled
        if not self.by_schedule or changes or scenario.load.duration_s <= BRIEF_S:
            return self
        return replace(self, scenario=lasting(scenario, BRIEF_S))

    def beginning(self) -> "Rerun":
        """Shorten a replayed incident to its first minutes, which show the shards that share a partition."""
        if self.by_schedule or self.scenario.load.duration_s <= BEGINNING_S:
            return self
        return replace(self, scenario=lasting(self.scenario, BEGINNING_S))

    def taking(self, applied: Applied) -> "Rerun":
        """Return the run with actions that were applied to its scenario."""
        return replace(
            self, scenario=applied.scenario, alters=(*self.alters, *applied.alters),
            traffic=ScenarioTraffic.of(applied.scenario) if self.by_schedule else self.traffic,
        )  # fmt: skip


@lru_cache(maxsize=16)  # one sender for equal demands: what was simulated of one is not simulated again
def _sender(load: Recorded) -> Callable[[], Traffic]:
    return lambda: load


def rerun_of(
    evidence: Evidence,
    arranged: EvidenceTimeline,
    heaviest: Label,
    *,
    client: ClientFiles | None,
    scenario: Scenario | None,
    heats: Sequence[RunHeat],
    billing: Billing,
    most_s: int = MOST_S,
) -> Rerun | None:
    """The run by its scenario; without one whose load test the simulator knows, the time around the heaviest
    label by what was asked for then, of that `most_s` at most.

    None where neither can be repeated: a trace that is elsewhere, a table whose capacity is not known, more
    than any scenario asks for.
    """
    if scenario is not None and scenario.load.arrivals == "trace":
        return None
    if scenario is not None and _is_known(scenario):
        return Rerun(
            scenario=scenario,
            traffic=ScenarioTraffic.of(scenario),
            by_schedule=True,
            measured=throttle_share(evidence, client),
            retried_requests=_retried(client),
            billing=billing,
        )
    first_s = max(int(evidence.window.start.timestamp()), int(heaviest.start.timestamp()) - BEFORE_S)
    seconds = min(int(evidence.window.end.timestamp()) - first_s, most_s)
    table = as_it_was(evidence.table, arranged, moment_of(heaviest).timestamp())
    as_stated = scenario_of_table(table, seconds, scale=evidence.scale)
    if as_stated is None:
        return None
    now = scenario_of_table(as_it_is_now(evidence.table), seconds)
    load = demanded(arranged, heats, first_s, seconds)
    if load.peak_per_s() > MOST_UNITS:
        return None
    measured = measured_share(arranged, range(first_s, first_s + seconds))
    return Rerun(
        scenario=as_stated, traffic=_sender(load), measured=measured, billing=billing,
        behaviour=as_it_behaved(arranged, heaviest, first_s), table_now=now.table if now else None,
        uncounted=as_stated.table.billing_mode == "PROVISIONED"
        and any(track.consumed is None and track.seconds is None for track in arranged.tracks),
        assumed=tuple(assumptions(arranged, heats, heaviest, first_s, seconds)),
    )  # fmt: skip


def _changed(now: Any, was: Any, becomes: Any) -> Any:
    """The fields of now with what differs between two others."""
    if becomes == was:
        return now
    if isinstance(becomes, dict) and isinstance(was, dict) and isinstance(now, dict):
        return {name: _changed(now.get(name), was.get(name), value) for name, value in becomes.items()}
    if isinstance(becomes, list) and len(becomes) == len(was or ()) == len(now or ()):
        return [_changed(*values) for values in zip(now, was, becomes, strict=True)]
    return becomes


def _retried(client: ClientFiles | None) -> int:
    cost = client.manifest.retry_cost if client and client.manifest else None
    return cost.requests if cost is not None else 0


def _is_known(scenario: Scenario) -> bool:
    """Whether the simulator can play the scenario's load test."""
    try:
        traffic_of(scenario, seed=scenario.seed)
    except ScenarioError:
        return False
    return True
