"""A run that the simulator can repeat, from its scenario, else from the demand in the evidence."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from keyheat.analysis.advice.actions import Advised, Alteration, Applied, Setting, apply
from keyheat.analysis.advice.replay import (
    as_it_behaved,
    as_it_is_now,
    as_it_was,
    assumptions,
    demanded,
    measured_share,
    moment_of,
    scenario_of_table,
    with_partitions_seen,
)
from keyheat.analysis.checks import throttle_share
from keyheat.analysis.heat import RunHeat
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.plan.bill import consumed_month, provisioned_month
from keyheat.plan.prices import Billing
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Evidence, Label, MonthlyBill
from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.scenario.spec.part import MOST_UNITS
from keyheat.scenario.spec.tables import TableSpec
from keyheat.scenario.variants import lasting
from keyheat.simulator.flow import Recorded, Traffic
from keyheat.simulator.search import SimulationOutcome, outcome_of
from keyheat.simulator.simulate import simulate
from keyheat.simulator.traffic import Altered, traffic_of
from keyheat.simulator.whatif import files_fingerprint, scenario_fingerprint
from keyheat.words import Direction

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


def traffic_for(scenario: Scenario, recorded: Recorded | None, alters: Sequence[Alteration]) -> Traffic:
    """The demand that was recorded, else that of a scenario's load test, with each request altered."""
    traffic = recorded or traffic_of(scenario, scenario.seed)
    for make, arguments in alters:
        traffic = Altered(traffic, make(*arguments))
    return traffic


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The inputs of a simulation: the same ones, and their seed, give the same outcome."""

    known: Hashable  # all of the scenario and its files, and which record
    lasts_s: float
    alters: tuple[Alteration, ...]
    behaviour: Behaviour
    retries: bool
    scenario: Scenario = field(compare=False)
    recorded: Recorded | None = field(compare=False)


@lru_cache(maxsize=256)  # of some kilobytes each; a diagnosis has about twenty, both sides of a fix the same
def _outcome(of: _Inputs) -> SimulationOutcome:
    run = simulate(
        lasting(of.scenario, of.lasts_s),
        traffic=traffic_for(of.scenario, of.recorded, of.alters),
        behaviour=of.behaviour,
        counts_only=True,
        policy=of.scenario.client.retries if of.retries else None,
    )
    return outcome_of(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """A run that can be repeated on the simulator, and its measured share of throttled attempts."""

    scenario: Scenario  # whose table it meets
    recorded: Recorded | None = None  # demand that was measured; None: what the scenario's load asks for
    alters: tuple[Alteration, ...] = ()
    measured: float | None
    retried_requests: int = 0  # that the scenario's client sent, throttled ones more than once; 0: each once
    billing: Billing
    target_utilisation: float
    behaviour: Behaviour = DEFAULT  # of the table: with what burst it begins
    assumed: tuple[str, ...] = ()  # of a demand that evidence shows, in sentences
    table_now: TableSpec | None = None  # as it is described by now
    uncounted: bool = False  # whether evidence leaves out reads or writes, which on-demand mode would bill

    @property
    def by_schedule(self) -> bool:
        """Whether it is what a scenario's load asks for, rather than what was measured."""
        return self.recorded is None

    def simulated(
        self, behaviour: Behaviour | None = None, *, most_s: float = MOST_S, retries: bool = False
    ) -> SimulationOutcome:
        """The run once more, its first minutes if it is long; not anew what this process has simulated."""
        scenario, recorded = self.scenario, self.recorded
        stated = scenario_fingerprint(scenario)
        return _outcome(
            _Inputs(
                (stated, files_fingerprint(scenario)) if recorded is None else (stated, id(recorded)),
                min(scenario.load.duration_s, most_s), self.alters, behaviour or self.behaviour, retries,
                scenario, recorded,
            )
        )  # fmt: skip

    def dollars(self, outcome: SimulationOutcome | None) -> float | None:
        """A month of the table with its indexes: as provisioned, else as consumed; None if unknown."""
        per_s = None
        if outcome is not None and not self.uncounted:
            per_s = outcome.while_loaded_per_s if self.by_schedule else outcome.going_on_in_all_per_s
        return dollars_per_month(self.scenario, per_s, self.billing, self.scenario.local.scale)

    def bill(
        self,
        then: "Rerun",
        before: SimulationOutcome | None = None,
        after: SimulationOutcome | None = None,
    ) -> MonthlyBill | None:
        """Return dollars a month before and after, if this demand continues; None if capacity changes.

        Without the outcomes of both, only provisioned capacity has a price. What is paid before is of the
        table as it is by now: its capacity may have been changed since it was measured.
        """
        prices, becomes, now = self.billing.prices, then.scenario.table, self.table_now
        was, will = self.dollars(before), then.dollars(after)
        if now is not None and not then.scenario.changes_capacity:
            was = provisioned_month(now, prices) or was
            if becomes.billing_mode == now.billing_mode:
                tables = (table.model_dump(mode="json") for table in (now, self.scenario.table, becomes))
                will = provisioned_month(TableSpec.model_validate(_changed(*tables)), prices) or will
        if was is None or will is None:
            return None
        return MonthlyBill(
            before_dollars_per_month=was,
            after_dollars_per_month=will,
            prices=prices.title,
            hours_per_day=self.billing.hours_per_day,
            by_request=becomes.billing_mode == "PAY_PER_REQUEST",
        )

    def brief(self) -> "Rerun":
        """Shorten a constant load to the time in which bursts are spent and hot partitions split."""
        changes = self.scenario.is_changing or self.scenario.table.scaled
        return self._lasting(BRIEF_S) if self.by_schedule and not changes else self

    def beginning(self) -> "Rerun":
        """Shorten a replayed incident to its first minutes, which show the shards that share a partition."""
        return self if self.by_schedule else self._lasting(BEGINNING_S)

    def _lasting(self, most_s: float) -> "Rerun":
        if self.scenario.load.duration_s <= most_s:
            return self
        return replace(self, scenario=lasting(self.scenario, most_s))

    def having(self, applied: Applied) -> "Rerun":
        """Return the run with actions that were applied to its scenario."""
        return replace(self, scenario=applied.scenario, alters=(*self.alters, *applied.alters))

    def taking(self, *advice: Advised) -> "Rerun | None":
        """Return the run with advice taken; None if the simulator cannot show it."""
        if not advice:
            return self
        applied = apply(advice, self.scenario, Setting(target_utilisation=self.target_utilisation))
        return self.having(applied) if isinstance(applied, Applied) else None


@lru_cache(maxsize=16)
def _same(load: Recorded) -> Recorded:
    """One record for equal demands: what was simulated of one is not simulated again."""
    return load


def rerun_of(
    evidence: Evidence,
    arranged: EvidenceTimeline,
    heaviest: Label,
    *,
    client: ClientFiles | None,
    scenario: Scenario | None,
    heats: Sequence[RunHeat],
    billing: Billing,
    target_utilisation: float,
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
        cost = client.manifest.retry_cost if client and client.manifest else None
        return Rerun(
            scenario=scenario, measured=throttle_share(evidence, client), billing=billing,
            retried_requests=cost.requests if cost else 0, target_utilisation=target_utilisation,
        )  # fmt: skip
    first_s = max(int(evidence.window.start.timestamp()), int(heaviest.start.timestamp()) - BEFORE_S)
    seconds = min(int(evidence.window.end.timestamp()) - first_s, most_s)
    table = as_it_was(evidence.table, arranged, moment_of(heaviest).timestamp())
    if heaviest.constraint == "table":
        table = with_partitions_seen(table, arranged)
    as_stated = scenario_of_table(table, seconds, scale=evidence.scale)
    if as_stated is None:
        return None
    load = demanded(arranged, heats, first_s, seconds)
    if load.peak_per_s() > MOST_UNITS:
        return None
    now = scenario_of_table(as_it_is_now(evidence.table), seconds)
    return Rerun(
        scenario=as_stated, recorded=_same(load), billing=billing, target_utilisation=target_utilisation,
        measured=measured_share(arranged, range(first_s, first_s + seconds)),
        behaviour=as_it_behaved(arranged, heaviest, first_s), table_now=now.table if now else None,
        uncounted=as_stated.table.billing_mode == "PROVISIONED"
        and any(track.consumed is None and track.seconds is None for track in arranged.tracks),
        assumed=tuple(assumptions(arranged, heats, heaviest, first_s, seconds)),
    )  # fmt: skip


def _is_known(scenario: Scenario) -> bool:
    """Whether the simulator can play the scenario's load test."""
    try:
        traffic_of(scenario, seed=scenario.seed)
    except ScenarioError:
        return False
    return True


def dollars_per_month(
    scenario: Scenario, per_s: Mapping[Direction, float] | None, billing: Billing, scale: float
) -> float | None:
    """A month of the table with its indexes, if the load went on: by what is provisioned, else by what was
    consumed. None where capacity changes on the way, or what was consumed is not known."""
    if scenario.changes_capacity:
        return None
    reserved = provisioned_month(scenario.table, billing.prices)
    if reserved is not None or per_s is None:
        return reserved
    return consumed_month(per_s, scenario, billing, scale=scale)


def _changed(now: Any, was: Any, becomes: Any) -> Any:
    """The fields of now with what differs between two others."""
    if becomes == was:
        return now
    if isinstance(becomes, dict) and isinstance(was, dict) and isinstance(now, dict):
        return {name: _changed(now.get(name), was.get(name), value) for name, value in becomes.items()}
    if isinstance(becomes, list) and len(becomes) == len(was or ()) == len(now or ()):
        return [_changed(*values) for values in zip(now, was, becomes, strict=True)]
    return becomes
