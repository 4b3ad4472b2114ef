"""What a load test sends, added up: units of every table and index second by second, and where they meet."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyheat.plan.forecast import Demand
from keyheat.words import Direction

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, order=True)
class Side:
    """Reads or writes of one table (by name) or of one of its indexes (None: the table itself)."""

    table: str
    index: str | None
    direction: Direction

    @property
    def unit(self) -> str:
        """The capacity unit."""
        return "WCU" if self.direction is Direction.WRITE else "RCU"


@dataclass(frozen=True, slots=True, kw_only=True)
class HottestPartition:
    """The partition that is asked for the most of what one sustains, in the second in which it is."""

    partitions: int  # that the table or index has by then
    at_s: float
    asked_per_s: float  # units
    ceiling_per_s: float  # units that one partition sustains of such requests
    key_per_s: float  # of what is asked for, the part of its most used key; 0 where keys are too many to name

    @property
    def share(self) -> float:
        """What it is asked for, as a share of what it sustains."""
        return self.asked_per_s / self.ceiling_per_s

    @property
    def over(self) -> bool:
        """Whether it is asked for more than it sustains, by more than rounding."""
        return self.share > 1.0 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of one side of a table or index."""

    side: Side
    per_s: Floats  # units in each second of the run
    hottest: HottestPartition | None  # None where nothing is asked

    def total(self, from_s: float = 0.0) -> float:
        """Units from a second of the run on."""
        return float(self.per_s[int(from_s) :].sum())

    def demand(self, duration_s: float) -> Demand:
        """Mean, peak and total."""
        total = self.total()
        peak = float(self.per_s.max()) if len(self.per_s) else 0.0
        return Demand(mean_per_s=total / duration_s, peak_per_s=max(peak, total / duration_s), total=total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """How often one operation is sent over the run, and what its items cost."""

    name: str  # DynamoDB's
    table: str
    index: str | None
    direction: Direction
    requests: float
    items: float
    units: float  # of the table or index it names; those of index entries are the index's


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Everything that a load test sends, if nothing is refused."""

    duration_s: float
    sides: Mapping[Side, Asked]
    operations: tuple[Operation, ...]

    def units(self, direction: Direction) -> float:
        """Units of all tables and their indexes."""
        return sum(asked.total() for side, asked in self.sides.items() if side.direction is direction)

    @property
    def items(self) -> float:
        """Items that are read or written; entries that writes make in indexes are not among them."""
        return sum(one.items for one in self.operations)
