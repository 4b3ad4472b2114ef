"""A constraint with everything that was measured about it: what advice is made from."""

from dataclasses import dataclass
from math import ceil, prod

from keyheat.analysis.advising.demand import Demand
from keyheat.analysis.heat import Heat
from keyheat.analysis.thresholds import Recommend
from keyheat.numbers import units
from keyheat.plan.forecast import shards_needed
from keyheat.runs.formats import HotKey
from keyheat.words import Constraint, Direction, whose


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One constraint of one resource and direction, in units per second of an unscaled table."""

    constraint: Constraint
    resource: str
    direction: Direction
    rule: str | None
    demand: Demand | None
    limit: float | None  # what the constraint allows: what is provisioned, a maximum, a quota
    warm: float | None
    heat: Heat | None
    ceiling: float  # what one partition sustains
    numbers: Recommend
    scaled: bool = False  # whether auto scaling is known to be on

    @property
    def whose(self) -> str:
        """The resource in words."""
        return whose(self.resource)

    @property
    def hottest(self) -> HotKey | None:
        """The key that is hot enough to be named: one of the table's own keys with a notable demand."""
        keys = self.heat.hottest if self.heat and self.resource == "table" else ()
        named = [key for key in keys if key.share >= self.numbers.hot_share or key.units_per_s > self.ceiling]
        return max(named, key=lambda key: key.units_per_s, default=None)

    @property
    def asked(self) -> str:
        """The demand as the beginning of a sentence."""
        if self.demand is None:
            return "How much was asked for is not known"
        return self.demand.said(self.direction)

    @property
    def sustained(self) -> str:
        """What one partition sustains, in words."""
        return units(self.ceiling, self.direction)

    @property
    def with_headroom(self) -> float | None:
        """Capacity of which the demand uses the target utilisation.

        The limit was reached, so at least as much was asked for, even if the demand is known only from below.
        """
        if self.demand is None:
            return None
        asked = max(self.demand.units_per_s, self.limit or 0.0)
        return float(ceil(asked / self.numbers.target_utilisation))

    def shards(self, units_per_s: float, margin: float | None = None) -> int:
        """How many keys share a demand so that each, times the margin, stays below a partition's ceiling.

        The demand is rounded to whole units/s, as it is shown.
        """
        factor = self.numbers.shard_margin if margin is None else margin
        return shards_needed(units_per_s, self.ceiling, factor)

    @property
    def partitions(self) -> int | None:
        """About how many partitions there are: warm throughput is the best public lower bound."""
        return max(1, round(self.warm / self.ceiling)) if self.warm else None


def meeting_chance(count: int, partitions: int) -> float:
    """The chance that at least two of `count` keys fall on one of so many equal partitions."""
    if count > partitions:
        return 1.0
    return 1.0 - prod((partitions - n) / partitions for n in range(count))
