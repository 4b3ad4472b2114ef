"""One step towards a knee: what a demand came to, simulated or loaded, as carried or not, and by whose limit.

A simulated step plays a table that has spent what it had saved. A loaded one cannot wait for that (300 s of
capacity take hours to spend at a demand just above it), so a step that consumed more than is provisioned
without a throttle is not carried either: it lived on what was saved, and would throttle once that is spent.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Final

from keyheat.analysis.analyzers import labels_of
from keyheat.analysis.knees.search import State, Step
from keyheat.analysis.measures.measured import traffic_of
from keyheat.analysis.thresholds import Thresholds
from keyheat.analysis.verdict import verdict
from keyheat.evidence.simulated import evidence_of
from keyheat.model.behaviour import DEFAULT
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Diagnosis, GeneratorFacts, SecondCount, TableFacts, Verdict
from keyheat.runs.manifest import Keys, Manifest
from keyheat.runs.run import Run
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.alterations import spread_traffic
from keyheat.simulator.folder import keys_of
from keyheat.simulator.outcome import STEADY, SimulationOutcome, outcome_of
from keyheat.simulator.simulate import simulate
from keyheat.words import WRITES_FIRST, Direction

SHARE_MOST: Final = 0.001
"""A step is carried where no larger share of the attempts is throttled: retries hide it."""
ABOVE: Final = 0.02
"""By how much the second half of a loaded step may consume more than is provisioned: nobody sends evenly."""


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
) -> Step:
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


def _of_outcome(scenario: Scenario, seed: int, outcome: SimulationOutcome, judged: Verdict) -> Step:
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
) -> Step:
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
        on_burst=beyond_provisioned(rows, manifest.table, manifest.scale),
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
) -> Step:
    """A step with its state; `on_burst` is the resource that consumed more than it has, and that in words."""
    share = throttled_per_s / attempts_per_s if attempts_per_s else 0.0
    throttles = judged.constraint != "none" and share > SHARE_MOST
    state = _state(judged, throttles=throttles, bound=generator_bound, on_burst=on_burst is not None)
    step = Step(
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
    if bound:
        return "generator"
    if throttles and (judged.valid or judged.constraint == "undetermined"):
        return "limited"
    if not judged.valid:
        return "undecided"
    return "limited" if on_burst else "carried"


def _with_limit(step: Step, judged: Verdict, on_burst: tuple[str, Direction, str] | None) -> Step:
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
    rows: Iterable[SecondCount], table: TableFacts, scale: float
) -> tuple[str, Direction, str] | None:
    """The resource that consumed most beyond what is provisioned in the second half, and that in words.

    None where nothing did, by more than `ABOVE`, or where nothing is provisioned.
    """
    listed = sorted(rows, key=lambda row: row.second)
    if not listed:
        return None
    first, last = listed[0].second.timestamp(), listed[-1].second.timestamp() + 1
    half_s = first + (last - first) // 2
    found = []
    for index, pair in ((None, table.provisioned), *((one.name, one.provisioned) for one in table.indexes)):
        for side in WRITES_FIRST:
            rate = pair.of(side) if pair is not None else None
            if not rate:
                continue
            units = sum(
                row.consumed
                for row in listed
                if (row.index, row.direction) == (index, side) and row.second.timestamp() >= half_s
            )
            per_s, has = units / (last - half_s), rate * scale
            if per_s > has * (1 + ABOVE):
                found.append((per_s / has, index or "table", side, per_s, has))
    if not found:
        return None
    _share, resource, direction, per_s, has = max(found)
    return resource, direction, f"{per_s:,.0f} units/s were consumed where {has:,.0f} are provisioned."
