"""What if: the smallest number of shards, or the smallest capacity, with which a load is hardly throttled.

    throttled share
      0.4 |x
          |   x
          |       x                 doubled until one holds, halved between,
    most -|- - - - - -x- x- - - -   and then held against its neighbours
          +--------------------
           1  2   4   6  7   8      numbers

Each is simulated with the scenario's seed, and where that is enough with a second one. A larger number of
shards may do worse than a smaller one, where two of them fall on one partition; so the answer is one whose
next larger neighbour holds as well, and whose next smaller one does not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, Protocol

import orjson

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.resources import Cause
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.spec.tables import CapacityPair
from keyheat.scenario.variants import lasting, with_capacity, with_index_shards, with_shards
from keyheat.simulator.alterations import Altered, in_shards
from keyheat.simulator.fingerprint import Files, files_fingerprint, scenario_fingerprint
from keyheat.simulator.flow import Traffic
from keyheat.simulator.outcome import SPENT, STEADY, SimulationOutcome, outcome_of
from keyheat.simulator.simulate import simulate
from keyheat.simulator.traffic import asks_for_shards, traffic_of
from keyheat.words import Direction

Measure = Callable[[Scenario, int], SimulationOutcome]
"""Simulates a scenario with a seed."""


class SearchWatch(Protocol):
    """Who is told how far a search is."""

    def trying(self, value: int) -> None:
        """Another number is tried."""

    def simulated(self, part: float) -> None:
        """So much of its simulation is done, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A number that was tried: its scenario, and what each seed came to. The first seed's comes first."""

    value: int
    scenario: Scenario
    outcomes: tuple[SimulationOutcome, ...]
    share: float  # throttled, of the attempts that the question is about; the worst of the seeds
    enough: bool


@dataclass(slots=True, kw_only=True)
class Trials:
    """Candidates by their number, each simulated once."""

    of: Callable[[int], Scenario]
    measure: Measure
    share_of: Callable[[SimulationOutcome], float]
    share_most: float
    watch: SearchWatch | None
    in_vain: Callable[[SimulationOutcome], bool] = lambda _outcome: False
    """Whether what is throttled would be with any larger number, too."""
    tried: dict[int, Trial] = field(default_factory=dict)

    def holds(self, value: int) -> bool:
        """Whether the number is enough, with both seeds; the second is not asked where the first says no."""
        if value not in self.tried:
            if self.watch is not None:
                self.watch.trying(value)
            scenario = self.of(value)
            outcomes = [self.measure(scenario, scenario.seed)]
            if self.share_of(outcomes[0]) <= self.share_most:
                outcomes.append(self.measure(scenario, scenario.seed + 1))
            share = max(map(self.share_of, outcomes))
            self.tried[value] = Trial(
                value=value,
                scenario=scenario,
                outcomes=tuple(outcomes),
                share=share,
                enough=share <= self.share_most,
            )
        return self.tried[value].enough

    def smallest(self, *, start: int, most: int, step: float) -> int | None:
        """Doubled until one holds, then halved between, down to a part `step` of it; None: none holds."""
        low, high = 0, min(start, most)
        while not self.holds(high):
            if high == most or self.in_vain(self.tried[high].outcomes[0]):
                return None
            low, high = high, min(2 * high, most)
        while high - low > max(1, math.floor(step * high)):
            middle = (low + high) // 2
            low, high = (low, middle) if self.holds(middle) else (middle, high)
        return high

    def settled(self, value: int, most: int) -> int:
        """The number that its larger neighbour bears out, and no smaller neighbour undercuts."""
        while value < most and not self.holds(value + 1):
            larger = next((one for one in range(value + 2, most + 1) if self.holds(one)), None)
            if larger is None:
                return value
            value = larger
        while value > 1 and self.holds(value - 1):
            value -= 1
        return value

    @property
    def candidates(self) -> tuple[Trial, ...]:
        """All that were tried, in ascending order."""
        return tuple(self.tried[value] for value in sorted(self.tried))


Question = Literal["shards", "write-capacity", "read-capacity"]
SHARE_MOST = 0.001
SHARDS_MOST = 100
CAPACITY_STEP = 0.01
"""Part of a capacity below which it is not worth telling two of them apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfSearch:
    """What was asked, what was tried, and the smallest number that is enough; None where none is."""

    question: Question
    scenario: Scenario
    index: str | None  # whose keys, or whose capacity; None: the table's
    direction: Direction  # of the capacity; of shards, that in which a single one throttles most
    share_most: float
    most: int
    burst: bool  # whether capacity that was saved up counts
    candidates: tuple[Trial, ...]  # in ascending order
    answer: Trial | None


def smallest_shards(
    scenario: Scenario,
    *,
    index: str | None = None,
    share_most: float = SHARE_MOST,
    most: int = SHARDS_MOST,
    burst: bool = False,
    measure: Measure | None = None,
    share_of: Callable[[SimulationOutcome], float] = SimulationOutcome.share,
    folder: Path = Path(),
    watch: SearchWatch | None = None,
) -> WhatIfSearch:
    """The smallest number of shards of every hot key with which hardly an attempt (`share_most`) throttles.

    The keys are the table's, or those of a global `index`. A load test that spreads no key is taken as if it
    did, in the direction in which it throttles. Unless `burst`, nothing that was saved up counts: the answer
    holds however long the load lasts. `measure` simulates (absent: the simulator), `share_of` says what of an
    outcome counts as throttled (absent: every throttle), `folder` is the scenario's, `watch` is told how far
    the search is. Raises `ValueError`.
    """
    if scenario.dynamic_sharding is not None:
        raise ValueError(f"scenario {scenario.name} adds shards by itself @ $.dynamic_sharding")
    if scenario.load.arrivals == "trace":
        raise ValueError(
            f"scenario {scenario.name} replays a trace, whose keys are what they are @ $.load.arrivals"
        )
    _check_index(scenario, index)
    if not burst and measure is None:
        scenario = steady(scenario)
    simulator = _Simulator(folder, DEFAULT if burst else STEADY, watch)
    trials = Trials(
        of=lambda shards: _sharded(scenario, index, shards),
        measure=measure or _Shards(scenario, index, simulator),
        share_of=share_of,
        share_most=share_most,
        watch=watch,
        in_vain=lambda outcome: all(one.cause is not Cause.KEY_RANGE for one in outcome.left),
    )
    found = trials.smallest(start=1, most=most, step=0.0)
    if found is not None:
        found = trials.settled(found, most)
    direction = most_throttled(trials.tried[1].outcomes[0])
    return _search(trials, "shards", scenario, found, most, index=index, direction=direction, burst=burst)


STEADY_S: Final = 60.0  # seconds of a load that stays the same which stand for all of it
CHANGING_MOST_S: Final = 600.0  # seconds of a load that changes which are simulated whole
SEED: Final = 1
"""Whose keys are drawn: the number is the scenario's, and not that of one of its repetitions."""
NotSearched = Literal["not_simulated", "too_long"]


def steady(scenario: Scenario) -> Scenario:
    """The scenario, of whose load a minute stands for all, where it stays the same; else as it is."""
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
    made = steady(scenario)
    if made.load.duration_s > CHANGING_MOST_S:
        return "too_long"
    said = scenario_fingerprint(made.model_copy(update={"seed": SEED}))
    try:
        return _shards_enough(said, files_fingerprint(made), index)
    except (ScenarioError, FileNotFoundError):  # a load test that the simulator does not know
        return "not_simulated"


@lru_cache(maxsize=256)  # advice, summary and the repetitions of one scenario need the same
def _shards_enough(scenario: bytes, _files: Files, index: str | None) -> int | None:
    raw = orjson.loads(scenario) | {"name": "a", "question": "a"}
    made = scenario_from_dict(raw, "run.json")
    found = smallest_shards(made, index=index).answer
    return None if found is None else found.value


def smallest_capacity(
    scenario: Scenario,
    direction: Direction,
    *,
    index: str | None = None,
    share_most: float = SHARE_MOST,
    most: int | None = None,
    burst: bool = False,
    measure: Measure | None = None,
    folder: Path = Path(),
    watch: SearchWatch | None = None,
) -> WhatIfSearch:
    """The smallest provisioned reads or writes, units/s, with which at most `share_most` of them throttle.

    Of the table, or of a global `index`; every other capacity stays, and timeline and auto scaling are left
    out. Unless `burst`, nothing that was saved up counts: the answer holds however long the load lasts.
    `most` is the account's default quota for a table, if it is not said. Raises `ValueError`.
    """
    _check_index(scenario, index)
    if scenario.table.billing_mode != "PROVISIONED":
        raise ValueError(
            f"table {scenario.table.name} is on demand: it has no capacity. `keyheat simulate` "
            "says whether pre-warming helps, `keyheat whatif NAME shards` asks for its keys "
            "@ $.table.billing_mode"
        )
    quota = limits.TABLE_READ_UNITS_PER_S if direction is Direction.READ else limits.TABLE_WRITE_UNITS_PER_S
    trials = Trials(
        of=lambda units: with_capacity(scenario, direction, units, index),
        measure=measure or _Simulator(folder, DEFAULT if burst else SPENT, watch),
        share_of=lambda outcome: outcome.share(direction),
        share_most=share_most,
        watch=watch,
    )
    most = most or quota
    found = trials.smallest(start=_present(scenario, direction, index), most=most, step=CAPACITY_STEP)
    question: Question = "read-capacity" if direction is Direction.READ else "write-capacity"
    return _search(trials, question, scenario, found, most, index=index, direction=direction, burst=burst)


def _search(
    trials: Trials,
    question: Question,
    scenario: Scenario,
    found: int | None,
    most: int,
    *,
    index: str | None,
    direction: Direction,
    burst: bool,
) -> WhatIfSearch:
    return WhatIfSearch(
        question=question,
        scenario=scenario,
        index=index,
        direction=direction,
        share_most=trials.share_most,
        most=most,
        burst=burst,
        candidates=trials.candidates,
        answer=None if found is None else trials.tried[found],
    )


@dataclass(frozen=True, slots=True)
class _Simulator:
    """Simulates a scenario with a seed: its load as it is, or another one."""

    folder: Path
    behaviour: Behaviour
    watch: SearchWatch | None

    def __call__(self, scenario: Scenario, seed: int, traffic: Traffic | None = None) -> SimulationOutcome:
        made = simulate(
            scenario,
            seed=seed,
            traffic=traffic,
            folder=self.folder,
            behaviour=self.behaviour,
            progress=None if self.watch is None else self.watch.simulated,
            counts_only=True,
        )
        return outcome_of(made)


@dataclass(slots=True)
class _Shards:
    """Simulates a number of shards: as the load test does it, else with hot keys divided on their way."""

    scenario: Scenario
    index: str | None
    simulator: _Simulator
    one: SimulationOutcome | None = None  # of keys that are not divided; None: not known yet

    def __call__(self, candidate: Scenario, seed: int) -> SimulationOutcome:
        if _shards_itself(self.scenario, candidate, self.index, self.simulator.folder):
            return self.simulator(candidate, seed)
        if self.one is None:
            one = with_shards(self.scenario, 1)
            self.one = self.simulator(one, one.seed)
        if candidate.keys.shards == 1 and seed == self.scenario.seed:
            return self.one
        divided = most_throttled(self.one)
        traffic = _divided(candidate, seed, divided, self.index, self.simulator.folder)
        return self.simulator(candidate, seed, traffic)


def sent_in(search: WhatIfSearch, trial: Trial, folder: Path = Path()) -> Traffic | None:
    """What was sent where the hot keys were divided on their way; None: what its load test sends."""
    if search.question != "shards":
        return None
    if _shards_itself(search.scenario, trial.scenario, search.index, folder):
        return None
    return _divided(trial.scenario, trial.scenario.seed, search.direction, search.index, folder)


def _shards_itself(scenario: Scenario, candidate: Scenario, index: str | None, folder: Path) -> bool:
    """Whether the shards are in what is sent: an index's that says which it has, or the load test's own."""
    of_index = index is not None and with_index_shards(scenario, index, 1) is not None
    return of_index or asks_for_shards(candidate, folder)


def _divided(
    candidate: Scenario, seed: int, direction: Direction, index: str | None, folder: Path
) -> Altered:
    """What the load test sends, with the hot keys of one direction divided on their way."""
    change = in_shards(candidate.keys.shards, direction, index)
    return Altered(traffic_of(candidate, seed, folder), change)


def _sharded(scenario: Scenario, index: str | None, shards: int) -> Scenario:
    """The scenario with so many shards of the table's keys, or of an index's where it says which it has."""
    found = None if index is None else with_index_shards(scenario, index, shards)
    return with_shards(scenario, shards) if found is None else found


def most_throttled(outcome: SimulationOutcome) -> Direction:
    """The direction in which most attempts throttled; writes where none did."""
    return max((Direction.WRITE, Direction.READ), key=lambda side: outcome.throttled[side])


def present_value(search: WhatIfSearch) -> int:
    """The number that the scenario has: its shards, or the capacity that is asked about."""
    if search.question == "shards":
        return search.scenario.keys.shards
    return _present(search.scenario, search.direction, search.index)


def _present(scenario: Scenario, direction: Direction, index: str | None) -> int:
    """What is provisioned now: where the search begins."""
    table = scenario.table
    owner = table if index is None else next(one for one in table.indexes if one.name == index)
    pair = owner.provisioned or CapacityPair()
    return (pair.read if direction is Direction.READ else pair.write) or 1


def _check_index(scenario: Scenario, index: str | None) -> None:
    table = scenario.table
    there = [one.name for one in table.indexes if not one.local]
    if index is not None and index not in there:
        names = ", ".join(there) or "none"
        raise ValueError(
            f"table {table.name} has no global index {index!r}; it has {names} @ $.table.indexes"
        )
