"""Questions of numbers: how many shards, how much capacity, or how much load holds.

A question defines the scenario for a number, and which attempts count.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any, Final, Literal

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import with_capacity, with_demand, with_index_shards, with_shards
from keyheat.simulator.outcome import SPENT, STEADY
from keyheat.simulator.search import Range
from keyheat.words import Direction

Kind = Literal["shards", "capacity", "load"]
SHARE_MOST: Final = 0.001
SHARDS_MOST: Final = 100
CAPACITY_STEP: Final = 0.01
"""Part of a capacity below which it is not worth telling two of them apart."""
LOAD_STEP: Final = 0.05
WIDE: Final = 64  # times the scenario's own demand, up and down
DEMAND_MOST: Final = 10_000_000.0  # per second: what a scenario may ask for
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
            return _sharded(self.scenario, self.index, int(value))
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
        return present_units(self.scenario, self.direction, self.index)

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
    precision: float = CAPACITY_STEP,
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
    first = min(start or present_units(scenario, direction, index), most)
    within = Range(start=first, least=start or 1, most=most, precision=precision)
    return Question(
        kind="capacity", scenario=scenario, index=index, direction=direction, within=within, **more
    )


def load_question(
    scenario: Scenario,
    *,
    start: float | None = None,
    most: float | None = None,
    precision: float = LOAD_STEP,
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
        most=most or min(DEMAND_MOST, first * WIDE), precision=precision, larger_holds=False,
    )  # fmt: skip
    lasts_s = step_s or seconds_for(precision)
    return Question(kind="load", scenario=scenario, within=within, step_s=lasts_s, **more)


def seconds_for(precision: float) -> float:
    """Return how long each demand lasts, in seconds.

    A demand above the limit by the precision must outlast a partition's burst twice, and must end before a
    hot partition splits.
    """
    return float(max(60, min(ceil(2 * DEFAULT.partition_depth_s / precision), DEFAULT.split_heat_s[0] - 10)))


def _check_not_replayed(scenario: Scenario, why: str) -> None:
    if scenario.load.arrivals == "trace":
        raise ValueError(f"scenario {scenario.name} replays a trace, {why} @ $.load.arrivals")


def _sharded(scenario: Scenario, index: str | None, shards: int) -> Scenario:
    """Return the scenario with shards of the table's keys, or of an index's described attribute."""
    candidate = None if index is None else with_index_shards(scenario, index, shards)
    return with_shards(scenario, shards) if candidate is None else candidate


def present_units(scenario: Scenario, direction: Direction, index: str | None) -> int:
    """Return the units provisioned now, where the search begins."""
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
