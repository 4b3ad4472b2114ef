"""One request as the client saw it, and what it consumed: the one value that the record counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from keyheat.words import DirectionName

Outcome = Literal["accepted", "throttled", "error"]
NO_INDEXES: Mapping[str, float] = {}


class Attempt(NamedTuple):
    """One request, or one item of a request that touches several, and what came of it."""

    operation: str
    direction: DirectionName
    key: str
    sent_s: float  # epoch seconds
    late_us: int  # actual start minus intended start
    service_us: int
    table: str | None = None  # a table beside the one that is judged; None: that one
    outcome: Outcome = "accepted"
    units: float = 0.0  # consumed; of a throttled attempt: what it would have cost
    by_index: Mapping[str, float] = NO_INDEXES  # of the units, those that indexes consumed
    reason: str | None = None  # DynamoDB's, of a throttle, if it gave one; the kind of an error
    refused_by: str | None = None  # the index that throttled; None: the table
    timed: bool = True  # False: a further item of a request whose duration is counted already


@dataclass(slots=True)
class ConsumedUnits:
    """Units of all tables and indexes together."""

    write_units: float = 0.0
    read_units: float = 0.0

    @property
    def units(self) -> float:
        return self.write_units + self.read_units

    def add(self, direction: str, units: float) -> None:
        if direction == "write":
            self.write_units += units
        else:
            self.read_units += units

    def plus(self, other: "ConsumedUnits", times: float = 1.0) -> "ConsumedUnits":
        """Add the other one, multiplied by `times`."""
        return ConsumedUnits(
            self.write_units + times * other.write_units, self.read_units + times * other.read_units
        )
