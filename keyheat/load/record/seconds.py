"""What was sent and what came back, second by second, by operation and by index."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from keyheat.parquet import SECONDS_SCHEMA

ATTEMPTS, ACCEPTED, THROTTLED, ERRORS, CONSUMED = range(5)


class Row(NamedTuple):
    """What one row of `seconds.parquet` is about. An index has no operation, the table always has one."""

    second: int
    resource: str | None  # an index; None: the table itself
    direction: str
    operation: str | None


@dataclass(slots=True)
class Seconds:
    """Counts per second. A request counts in the second in which it was sent."""

    rows: dict[Row, list[float]] = field(default_factory=dict)
    _of: dict[int, list[Row]] = field(default_factory=dict)  # by second, to be found without a walk

    def __post_init__(self) -> None:
        for row in self.rows:
            self._of.setdefault(row.second, []).append(row)

    def counts(self, second: int, resource: str | None, direction: str, operation: str | None) -> list[float]:
        """The counts of one row: attempts, accepted, throttled, errors, consumed units. Add to them."""
        row = Row(second, resource, direction, operation)
        counts = self.rows.get(row)
        if counts is None:
            counts = self.rows[row] = [0, 0, 0, 0, 0.0]
            self._of.setdefault(second, []).append(row)
        return counts

    def merge(self, other: "Seconds") -> None:
        """Add all that another one holds."""
        for row, theirs in other.rows.items():
            mine = self.counts(*row)
            for place, count in enumerate(theirs):
                mine[place] += count

    def in_second(self, second: int) -> list[float]:
        """The counts of all requests sent in one second."""
        chosen = [counts for row, counts in self.of_second(second) if row.resource is None]
        return _added(chosen)

    def of_second(self, second: int) -> list[tuple[Row, list[float]]]:
        """The rows of one second."""
        return [(row, self.rows[row]) for row in self._of.get(second, ())]

    def last(self) -> int:
        """The last second in which something was sent; 0 where nothing was."""
        return max(self._of, default=0)

    def total(self, direction: str | None = None) -> list[float]:
        """The counts of all requests, or of those in one direction; indexes are a part of them."""
        return self._sum(lambda row: row.resource is None and direction in (None, row.direction))

    def consumed_units(self, direction: str) -> float:
        """Units consumed in one direction, by the table and all its indexes."""
        return sum(counts[CONSUMED] for row, counts in self.rows.items() if row.direction == direction)

    def _sum(self, wanted: Any) -> list[float]:
        return _added([counts for row, counts in self.rows.items() if wanted(row)])

    def to_wire(self) -> list[Any]:
        """Plain values, as they travel from a worker to the master."""
        return [[*row, *counts] for row, counts in self.rows.items()]

    @classmethod
    def from_wire(cls, wire: list[Any]) -> "Seconds":
        """What `to_wire` made."""
        return cls({Row(*line[:4]): list(line[4:]) for line in wire})

    def table(self) -> pa.Table:
        """The rows as they stand in `seconds.parquet`, in order."""
        ordered = sorted(self.rows.items(), key=lambda item: tuple(word or "" for word in item[0][1:]))
        ordered.sort(key=lambda item: item[0].second)
        columns = zip(*([*row, *counts] for row, counts in ordered), strict=True)
        values = list(columns) or [()] * len(SECONDS_SCHEMA)
        started = pa.array(values[0], pa.timestamp("s", tz="UTC"))
        others = [
            pa.array(column, field.type)
            for field, column in zip(list(SECONDS_SCHEMA)[1:], values[1:], strict=True)
        ]
        return pa.table([started, *others], names=SECONDS_SCHEMA.names).cast(SECONDS_SCHEMA)


def _added(rows: list[list[float]]) -> list[float]:
    return [sum(column) for column in zip([0, 0, 0, 0, 0.0], *rows, strict=True)]
