"""The most used key by a scenario's numbers alone: its demand, and the shards that it needs."""

from dataclasses import dataclass
from math import ceil
from typing import Final

from keyheat.model import limits
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.masses import masses_of
from keyheat.words import Direction

MOST_SHARDS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HotKey:
    """The most used key: its peak demand, in total and per shard."""

    direction: Direction
    share: float
    units_per_s: float
    shards: int
    ceiling_per_s: float
    needed: int  # by the formula
    needed_with_margin: int

    @property
    def shard_units_per_s(self) -> float:
        """Demand per shard of the key, if it uses its shards evenly."""
        return self.units_per_s / self.shards

    @property
    def over_ceiling(self) -> bool:
        """Whether each shard needs more than a whole partition."""
        return self.shard_units_per_s > self.ceiling_per_s


def hot_key_of(scenario: Scenario, *, margin: float = 1.0) -> HotKey | None:
    """The most used key if every request writes an item, or reads one where the target is in read units.

    `margin` multiplies the formula's number of shards. None for a trace, whose rows alone tell.
    """
    if scenario.keys.kind == "replay":
        return None
    masses, load = masses_of(scenario.keys.pattern()), scenario.load
    share = round(max(float(masses.shares.max(initial=0.0)), masses.even / masses.distinct), 12)
    reads = load.target_unit == "RCU"
    sustained = limits.PARTITION_READ_UNITS_PER_S if reads else limits.PARTITION_WRITE_UNITS_PER_S
    per_request = load.mean_write_units if load.target_unit == "requests" else 1.0
    ceiling = sustained * scenario.local.scale
    units_per_s = load.rate_shape().highest_per_s * per_request * share
    return HotKey(
        direction=Direction.READ if reads else Direction.WRITE,
        share=share,
        units_per_s=units_per_s,
        shards=scenario.keys.shards,
        ceiling_per_s=ceiling,
        needed=shards_needed(units_per_s, ceiling),
        needed_with_margin=shards_needed(units_per_s, ceiling, margin),
    )


def shards_needed(units_per_s: float, ceiling_per_s: float, margin: float = 1.0) -> int:
    """Number of shards that keeps each below its partition limit, for ceil(item KB) × writes/s.

        shards = ceil(margin × units/s ÷ partition limit)

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-sharding.html
    """
    return max(1, min(MOST_SHARDS, ceil(margin * round(units_per_s) / ceiling_per_s)))
