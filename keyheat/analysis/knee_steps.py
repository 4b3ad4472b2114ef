"""One step towards a knee: what a demand comes to, by numbers alone, simulated or loaded."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Final

import numpy as np

from keyheat.analysis.analyzers import labels_of
from keyheat.analysis.knee import KneeStep, State
from keyheat.analysis.run_result import most_provisioned, traffic_of
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.verdict import verdict
from keyheat.evidence.simulated import evidence_of
from keyheat.model.behaviour import DEFAULT
from keyheat.plan.quotas import DEFAULT_QUOTAS, ON_DEMAND, GivenCapacity, Quotas, given_to
from keyheat.plan.totals import LoadTotals, SideTotals, expected
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import BEYOND, Diagnosis, GeneratorFacts, SecondCount, Verdict
from keyheat.runs.manifest import Keys, Manifest
from keyheat.runs.run import Run
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.alterations import spread_traffic, spreads_itself
from keyheat.simulator.flow import Traffic
from keyheat.simulator.folder import keys_of
from keyheat.simulator.outcome import STEADY, SimulationOutcome, outcome_of
from keyheat.simulator.simulate import simulate
from keyheat.words import Direction, KnownConstraint, label_of

SHARE_MOST: Final = 0.001
"""A step is carried where no larger share of the attempts is throttled: retries hide it."""


def seconds_for(precision: float) -> float:
    """How long a step lasts: twice as long as a demand above the limit by the precision is served from what a
    partition may give in an instant; and shorter than the time in which a hot partition splits."""
    return float(max(60, min(ceil(2 * DEFAULT.partition_depth_s / precision), DEFAULT.split_heat_s[0] - 10)))


def simulated_step(
    scenario: Scenario,
    seed: int,
    numbers: Thresholds,
    *,
    folder: Path = Path(),
    progress: Callable[[float], None] | None = None,
) -> KneeStep:
    """Simulate the scenario on a table without burst; `folder` is the scenario's. Raises `ScenarioError`."""
    traffic, _notes = spread_traffic(scenario, seed, folder)
    simulation = simulate(
        scenario, seed=seed, traffic=traffic, folder=folder, behaviour=STEADY, progress=progress
    )
    evidence = evidence_of(simulation)
    keys = Keys.model_validate(keys_of(simulation))
    labels = labels_of(Run(evidence, client=ClientFiles(keys=keys)), numbers)
    healthy = GeneratorFacts(bound=False)
    judged = verdict(labels, evidence, client=None, generator=healthy, numbers=numbers)
    return _of_outcome(scenario, seed, outcome_of(simulation), judged)


def _of_outcome(scenario: Scenario, seed: int, outcome: SimulationOutcome, judged: Verdict) -> KneeStep:
    return step_of(
        demand_per_s=scenario.load.target_per_s,
        seed=seed,
        judged=judged,
        generator_bound=False,
        attempts_per_s=sum(outcome.attempts.values()) / outcome.seconds,
        throttled_per_s=sum(outcome.throttled.values()) / outcome.seconds,
        units_per_s={side: outcome.consumed_per_s(side) for side in Direction},
    )


def loaded_step(
    scenario: Scenario,
    diagnosis: Diagnosis,
    manifest: Manifest,
    seconds: Iterable[SecondCount],
    folder: Path,
) -> KneeStep:
    """A step that was sent to an endpoint, from the files of its run."""
    rows = sorted(seconds, key=lambda row: row.second)
    from keyheat.runs.frames import seconds_of  # with pandas, which a simulated step does without

    traffic = traffic_of(manifest, seconds_of(rows))
    return step_of(
        demand_per_s=scenario.load.target_per_s,
        seed=scenario.seed,
        judged=diagnosis.verdict,
        generator_bound=diagnosis.generator.bound,
        attempts_per_s=sum(one.attempts_per_s or 0.0 for one in traffic.values()),
        throttled_per_s=sum(one.throttled_per_s or 0.0 for one in traffic.values()),
        units_per_s={side: one.units_per_s or 0.0 for side, one in traffic.items()},
        on_burst=beyond_provisioned(rows, most_provisioned(manifest, scenario)),
        folder=str(folder),
    )


def step_of(
    *,
    demand_per_s: float,
    seed: int,
    judged: Verdict,
    generator_bound: bool,
    attempts_per_s: float,
    throttled_per_s: float,
    units_per_s: Mapping[str, float],
    on_burst: tuple[str, Direction, str] | None = None,
    folder: str | None = None,
) -> KneeStep:
    """A step with its state; `on_burst` is the resource that consumed more than it has, and that in words."""
    share = throttled_per_s / attempts_per_s if attempts_per_s else 0.0
    throttles = judged.constraint != "none" and share > SHARE_MOST
    state = _state(judged, throttles=throttles, bound=generator_bound, on_burst=on_burst is not None)
    step = KneeStep(
        demand_per_s=demand_per_s,
        seed=seed,
        state=state,
        attempts_per_s=attempts_per_s,
        throttled_per_s=throttled_per_s,
        write_units_per_s=units_per_s.get("write", 0.0),
        read_units_per_s=units_per_s.get("read", 0.0),
        folder=folder,
    )
    return _with_limit(step, judged, None if throttles else on_burst) if state == "limited" else step


def _state(judged: Verdict, *, throttles: bool, bound: bool, on_burst: bool) -> State:
    if bound and not (throttles and judged.valid):
        return "generator"
    if throttles and (judged.valid or judged.constraint == "undetermined"):
        return "limited"
    if not judged.valid:
        return "undecided"
    return "limited" if on_burst else "carried"


def _with_limit(step: KneeStep, judged: Verdict, on_burst: tuple[str, Direction, str] | None) -> KneeStep:
    if on_burst is not None:
        resource, direction, because = on_burst
        return replace(
            step, constraint="table", resource=resource, direction=direction, grade="inferred",
            confidence=0.9, because=because, on_burst=True,
        )  # fmt: skip
    return replace(
        step, constraint=judged.constraint, resource=judged.resource, direction=judged.direction,
        grade=judged.grade, confidence=judged.confidence, because=judged.because[0] if judged.because else "",
    )  # fmt: skip


def beyond_provisioned(
    rows: Iterable[SecondCount], most: Mapping[tuple[str, Direction], float]
) -> tuple[str, Direction, str] | None:
    """The resource that consumed most beyond what it has at `most` in the second half, and that in words.

    None if nothing did, by more than `BEYOND`.
    """
    listed = sorted(rows, key=lambda row: row.second)
    if not listed:
        return None
    first, last = listed[0].second.timestamp(), listed[-1].second.timestamp() + 1
    half_s = first + (last - first) // 2
    units = dict.fromkeys(most, 0.0)
    for row in listed:
        key = label_of(row.index), row.direction
        if key in units and row.second.timestamp() >= half_s:
            units[key] += row.consumed
    per_s = {key: amount / (last - half_s) for key, amount in units.items()}
    beyond = [key for key in most if per_s[key] > most[key] * (1 + BEYOND)]
    if not beyond:
        return None
    key = max(beyond, key=lambda key: per_s[key] / most[key])
    return *key, f"{per_s[key]:,.0f} units/s were consumed where {most[key]:,.0f} are provisioned."


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """One limit, and what is asked of it in the busiest second."""

    constraint: KnownConstraint
    resource: str  # "table", or the name of an index
    direction: Direction
    asked_per_s: float  # units
    limit_per_s: float
    key_per_s: float | None = None  # of a partition: what its most used key asks for; None: none is known

    @property
    def share(self) -> float:
        """What is asked for, as a share of what there is."""
        return self.asked_per_s / self.limit_per_s


def used_by(
    scenario: Scenario,
    *,
    folder: Path = Path(),
    quotas: Quotas = DEFAULT_QUOTAS,
    scale: float = 1.0,
    traffic: Traffic | None = None,
) -> tuple[LimitUse, ...]:
    """Every limit of the scenario's own table and its indexes, the most used one first.

    `scale` multiplies all limits; `traffic` is sent in place of what the load test sends. Nothing where
    nobody can say what that is, or where its keys are divided on their way to as many shards as it knows
    nothing of.
    """
    if traffic is None and scenario.keys.shards > 1 and not spreads_itself(scenario, folder):
        return ()
    sent = expected(scenario, folder=folder, scale=scale, traffic=traffic)
    if sent is None:
        return ()
    given = {one.index: one for one in given_to(scenario) if one.table == scenario.table.name}
    found = [
        use
        for side, asked in sent.sides.items()
        if side.table == scenario.table.name
        for use in _of_side(asked, given[side.index], sent, scale)
    ]
    if scenario.table.billing_mode == ON_DEMAND:
        found += _of_account(scenario, sent, quotas, scale)
    return tuple(sorted(found, key=lambda use: -use.share))


def _of_side(asked: SideTotals, given: GivenCapacity, sent: LoadTotals, scale: float) -> Iterator[LimitUse]:
    side = asked.side
    resource, direction = label_of(side.index), side.direction
    hottest = asked.hottest
    if hottest is not None:
        yield LimitUse(
            constraint="partition",
            resource=resource,
            direction=direction,
            asked_per_s=hottest.asked_per_s,
            limit_per_s=hottest.ceiling_per_s,
            key_per_s=hottest.key_per_s or None,
        )
    peak = asked.demand(sent.duration_s).peak_per_s
    for constraint, limit in (
        ("table", given.provisioned.of(direction)),
        ("max_on_demand", given.max_on_demand.of(direction)),
    ):
        if limit:
            yield LimitUse(
                constraint=constraint,  # type: ignore[arg-type]  # one of the two
                resource=resource,
                direction=direction,
                asked_per_s=peak,
                limit_per_s=limit * scale,
            )


def _of_account(scenario: Scenario, sent: LoadTotals, quotas: Quotas, scale: float) -> Iterator[LimitUse]:
    """The quota of an on-demand table together with its indexes."""
    for direction in Direction:
        quota = quotas.table.of(direction)
        mine = [
            asked.per_s
            for side, asked in sent.sides.items()
            if side.table == scenario.table.name and side.direction is direction
        ]
        if quota and mine:
            yield LimitUse(
                constraint="account",
                resource="table",
                direction=direction,
                asked_per_s=float(np.sum(mine, axis=0).max()),
                limit_per_s=quota * scale,
            )
