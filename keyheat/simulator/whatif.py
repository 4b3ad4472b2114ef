"""What if: how many shards, how much capacity, or how much load holds, and the search for the answer.

A question defines the scenario for a number, and which attempts count. A measure tries each number: the
simulator here, a real load elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import orjson

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.resources import Cause
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.variants import lasting, with_capacity, with_demand, with_index_shards, with_shards
from keyheat.simulator.search import (
    SPENT,
    STEADY,
    Measure,
    Range,
    SimulationOutcome,
    Step,
    Tries,
    outcome_of,
    worst_of,
)
from keyheat.simulator.simulate import ClientRecord, simulate
from keyheat.simulator.traffic import spread_traffic
from keyheat.words import WRITES_FIRST, Direction

CHANGING_MOST_S: Final = 600.0  # seconds of a load that changes which are simulated whole
SEED: Final = 1
"""Seed of all repetitions of a scenario: the answer is the scenario's, not that of one run."""
NotSearched = Literal["not_simulated", "too_long"]
Files = tuple[tuple[str, int], ...]
Kind = Literal["shards", "capacity", "load"]
SHARE_MOST: Final = 0.001
SHARDS_MOST: Final = 100
CAPACITY_STEP: Final = 0.01
"""Part of a capacity below which it is not worth telling two of them apart."""
LOAD_STEP: Final = 0.05
WIDE: Final = 64  # times the scenario's own demand, up and down
DEMAND_MOST: Final = 10_000_000.0  # per second: what a scenario may ask for
DEMAND_S: Final = 60.0
"""Seconds of each demand: one above the limit by `LOAD_STEP` outlasts a partition's burst twice, and ends
before a hot partition splits."""
STEADY_S: Final = 60.0  # seconds of a load that stays the same which stand for all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is searched: the smallest number of shards or units, or the largest demand, that holds.

    It holds where at most `share_most` of the attempts are throttled. Unless `burst`, nothing that was saved
    up counts, so that it holds however long the load lasts.
    """

    kind: Kind
    scenario: Scenario
    within: Range
    index: str | None = None  # whose keys, or whose capacity; None: the table's
    direction: Direction | None = None  # of the capacity
    share_most: float = SHARE_MOST
    burst: bool = False
    step_s: float = STEADY_S  # of a load: how long each demand lasts

    def candidate(self, value: float) -> Scenario:
        """The scenario with a number."""
        if self.kind == "shards":
            of_index = self.index and with_index_shards(self.scenario, self.index, int(value))
            return of_index or with_shards(self.scenario, int(value))
        if self.kind == "capacity":
            assert self.direction is not None
            return with_capacity(self.scenario, self.direction, int(value), self.index)
        return with_demand(self.scenario, value, self.step_s)

    @property
    def present(self) -> float | None:
        """The number that the scenario has; None for a load."""
        if self.kind == "load":
            return None
        if self.kind == "shards":
            return self.scenario.keys.shards
        assert self.direction is not None
        return _present_units(self.scenario, self.direction, self.index)

    @property
    def behaviour(self) -> Behaviour:
        """How the simulated table behaves: with its burst, or without."""
        return DEFAULT if self.burst else SPENT if self.kind == "capacity" else STEADY


def shards_question(
    scenario: Scenario, *, index: str | None = None, start: int = 1, most: int = SHARDS_MOST, **more: Any
) -> Question:
    """How many shards of every hot key: the table's, or those of a global `index`. Raises `ValueError`."""
    if scenario.dynamic_sharding is not None:
        raise ValueError(f"scenario {scenario.name} adds shards by itself @ $.dynamic_sharding")
    _check_not_replayed(scenario, "whose keys are what they are")
    _check_index(scenario, index)
    within = Range(start=start, least=start, most=most)
    return Question(kind="shards", scenario=scenario, index=index, within=within, **more)


def capacity_question(
    scenario: Scenario,
    direction: Direction,
    *,
    index: str | None = None,
    start: int | None = None,
    most: int | None = None,
    **more: Any,
) -> Question:
    """How many provisioned units per second of the table, or of a global `index`. Raises `ValueError`.

    Every other capacity stays; timeline and auto scaling are left out. `most` is by default the account's
    quota for a table.
    """
    _check_index(scenario, index)
    if scenario.table.billing_mode != "PROVISIONED":
        raise ValueError(
            f"table {scenario.table.name} is on demand: it has no capacity. `keyheat simulate` "
            "says whether pre-warming helps, `keyheat whatif NAME shards` asks for its keys "
            "@ $.table.billing_mode"
        )
    quota = limits.TABLE_READ_UNITS_PER_S if direction is Direction.READ else limits.TABLE_WRITE_UNITS_PER_S
    most = most or quota
    first = min(start or _present_units(scenario, direction, index), most)
    within = Range(start=first, least=start or 1, most=most, precision=CAPACITY_STEP)
    return Question(
        kind="capacity", scenario=scenario, index=index, direction=direction, within=within, **more
    )


def load_question(
    scenario: Scenario,
    *,
    start: float | None = None,
    most: float | None = None,
    step_s: float | None = None,
    **more: Any,
) -> Question:
    """How much demand, in the unit of the scenario's load. Raises `ValueError`.

    Below `start` nothing is tried; without one, demand is halved where the scenario's own does not hold.
    """
    _check_not_replayed(scenario, "whose demand is what it is; keys.speed sends it faster")
    first = start or min(scenario.load.target_per_s, most or DEMAND_MOST)
    within = Range(
        start=first, least=first if start is not None else first / WIDE,
        most=most or min(DEMAND_MOST, first * WIDE), precision=LOAD_STEP, larger_holds=False,
    )  # fmt: skip
    return Question(kind="load", scenario=scenario, within=within, step_s=step_s or DEMAND_S, **more)


def _check_not_replayed(scenario: Scenario, why: str) -> None:
    if scenario.load.arrivals == "trace":
        raise ValueError(f"scenario {scenario.name} replays a trace, {why} @ $.load.arrivals")


def _present_units(scenario: Scenario, direction: Direction, index: str | None) -> int:
    table = scenario.table
    owner = table if index is None else next(spec for spec in table.indexes if spec.name == index)
    units = owner.provisioned.rates.of(direction) if owner.provisioned else None
    return int(units or 1)


def _check_index(scenario: Scenario, index: str | None) -> None:
    table = scenario.table
    global_indexes = [spec.name for spec in table.indexes if not spec.local]
    if index is not None and index not in global_indexes:
        names = ", ".join(global_indexes) or "none"
        raise ValueError(
            f"table {table.name} has no global index {index!r}; it has {names} @ $.table.indexes"
        )


class SearchWatch(Protocol):
    """Follows the progress of a search."""

    def trying(self, value: float) -> None:
        """Another number is tried."""

    def simulated(self, share: float) -> None:
        """The share of its simulation that is done, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A question, what was tried, and the last number that holds with the first one that does not."""

    question: Question
    steps: tuple[Step, ...]  # in the order in which they were made
    answer: Step | None  # None: nothing that was tried holds
    failing: Step | None  # None: everything that was tried holds
    confirmed: bool  # the answer holds with two seeds

    @property
    def in_order(self) -> tuple[Step, ...]:
        """What each number came to, by the seed that throttled most; in ascending order."""
        return tuple(worst_of(self.steps).values())

    @property
    def direction(self) -> Direction:
        """Of the capacity; else that in which the smallest number throttles most."""
        throttled = self.in_order[0].outcome.throttled
        return self.question.direction or max(WRITES_FIRST, key=throttled.__getitem__)


def searched(question: Question, measure: Measure, *, most_steps: float = inf) -> Search:
    """Search the answer by a measure; `most_steps` bounds a search with real loads."""
    tries = Tries(measure=measure, within=question.within, most_steps=most_steps)
    if question.kind == "shards":
        tries.neighbours = most_steps == inf
        tries.is_vain = lambda step: all(each.cause is not Cause.KEY_RANGE for each in step.outcome.limits)
    good, bad = tries.edge()
    if bad is not None and question.within.larger_holds:
        below = [step.value for step in tries.steps if not step.holds and (good is None or step.value < good)]
        bad = max(below, default=bad)
    worst = worst_of(tries.steps)
    return Search(
        question=question,
        steps=tuple(tries.steps),
        answer=None if good is None else worst.get(good),
        failing=None if bad is None else worst.get(bad),
        confirmed=sum(step.value == good for step in tries.steps) > 1,
    )


def simulated_search(
    question: Question, folder: Path = Path(), watch: SearchWatch | None = None, *, briefly: bool = False
) -> Search:
    """Search the answer on the simulator; `folder` is the scenario's. Raises `ValueError`.

    `briefly`: a number that does not hold is given up as soon as that is certain, so that its share is that
    of the beginning.
    """
    if question.kind == "shards" and not question.burst:
        question = replace(question, scenario=steady(question.scenario))
    constant = briefly and not question.scenario.is_changing
    lost_s = 2 * question.share_most * question.scenario.load.duration_s if constant else inf

    def is_lost(client: ClientRecord) -> bool:
        """Whether a constant load will not hold, even at twice its rate till now."""
        per_s = sum(client.attempts.values()) / max(1, client.loaded_s)
        return sum(client.throttled.values()) > lost_s * per_s

    def measure(value: float, again: int) -> Step:
        if watch is not None:
            watch.trying(value)
        candidate = question.candidate(value)
        seed = candidate.seed + again
        traffic, _notes = spread_traffic(candidate, seed, folder, question.index)
        run = simulate(
            candidate, seed=seed, traffic=traffic, folder=folder, behaviour=question.behaviour,
            progress=None if watch is None else watch.simulated, counts_only=True, until=is_lost,
        )  # fmt: skip
        return step_of(question, value, candidate, outcome_of(run))

    return searched(question, measure)


def step_of(question: Question, value: float, scenario: Scenario, outcome: SimulationOutcome) -> Step:
    """A simulated number with its outcome."""
    share = outcome.share(question.direction)
    return Step(
        value=value, scenario=scenario, outcome=outcome, share=share,
        state="carried" if share <= question.share_most else "limited",
        attempts_per_s=sum(outcome.attempts.values()) / outcome.seconds,
        throttled_per_s=sum(outcome.throttled.values()) / outcome.seconds,
    )  # fmt: skip


def smallest_shards(
    scenario: Scenario,
    *,
    share_most: float = SHARE_MOST,
    most: int = SHARDS_MOST,
    index: str | None = None,
    burst: bool = False,
    measure: Callable[[Scenario, int], SimulationOutcome] | None = None,
    share_of: Callable[[SimulationOutcome], float] = SimulationOutcome.share,
    folder: Path = Path(),
) -> Search:
    """The smallest number of shards of every hot key with which hardly an attempt (`share_most`) throttles.

    A load test that spreads no key is taken as if it did. `measure` simulates a candidate with a seed,
    `share_of` says what of an outcome counts as throttled. Raises `ValueError`.
    """
    question = shards_question(scenario, index=index, most=most, share_most=share_most, burst=burst)
    if measure is None:
        return simulated_search(question, folder, briefly=True)

    def tried(value: float, again: int) -> Step:
        candidate = question.candidate(value)
        step = step_of(question, value, candidate, measure(candidate, candidate.seed + again))
        share = share_of(step.outcome)
        return replace(step, share=share, state="carried" if share <= share_most else "limited")

    return searched(question, tried)


def steady(scenario: Scenario) -> Scenario:
    """Return the scenario with a minute of its load if the load is constant; else the scenario."""
    changes = scenario.is_changing or scenario.table.scaled
    return scenario if changes else lasting(scenario, STEADY_S)


def shards_enough(scenario: Scenario, index: str | None = None) -> int | NotSearched | None:
    """The number of `smallest_shards` for a whole load, by a minute of it; None where no number is enough.

    A load that stays the same is simulated for a minute, however long it lasts: the number is that of the
    demand and its keys, and the same in every repetition. One that changes is simulated whole, if that is at
    most ten minutes. Where it is not simulated, why.
    """
    if scenario.dynamic_sharding is not None or scenario.load.arrivals == "trace":
        return "not_simulated"
    whole = steady(scenario)
    if whole.load.duration_s > CHANGING_MOST_S:
        return "too_long"
    fingerprint = scenario_fingerprint(whole.model_copy(update={"seed": SEED}))
    try:
        return _shards_enough(fingerprint, files_fingerprint(whole), index)
    except (ScenarioError, FileNotFoundError):  # a load test that the simulator does not know
        return "not_simulated"


@lru_cache(maxsize=256)  # advice, summary and the repetitions of one scenario need the same
def _shards_enough(scenario: bytes, _files: Files, index: str | None) -> int | None:
    raw = orjson.loads(scenario) | {"name": "a", "question": "a"}
    candidate = scenario_from_dict(raw, "run.json")
    answer = smallest_shards(candidate, index=index).answer
    return None if answer is None else int(answer.value)


def throttled_directions(question: Question, folder: Path = Path()) -> list[Direction]:
    """The directions that throttle at the present capacity; if none does, the one that takes more units."""
    scenario = question.scenario
    traffic, _notes = spread_traffic(scenario, scenario.seed, folder)
    run = simulate(scenario, traffic=traffic, folder=folder, behaviour=question.behaviour, counts_only=True)
    outcome = outcome_of(run)
    directions = [side for side in WRITES_FIRST if outcome.share(side) > question.share_most]
    return directions or [max(WRITES_FIRST, key=outcome.consumed_per_s)]


def scenario_fingerprint(scenario: Scenario) -> bytes:
    """Return all of a scenario that determines its simulation; `files_fingerprint` has its files."""
    stated = scenario.model_dump(mode="json", exclude={"name", "question", "expects"})
    return orjson.dumps(stated, option=orjson.OPT_SORT_KEYS)


def files_fingerprint(scenario: Scenario) -> Files:
    """Return the files that determine the requests, as they are now. Raises `FileNotFoundError`."""
    trace = scenario.keys.trace
    files = [scenario.locustfile(Path()), *([] if trace is None else [Path(trace)])]
    return tuple((str(file.resolve()), file.stat().st_mtime_ns) for file in files)
