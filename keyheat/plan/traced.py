"""What a trace is going to ask for: its rows added up, second by second and key by key."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Final

from keyheat.model.units import read_units, write_units
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.shape import Shape, steps
from keyheat.scenario.trace import Row, read_trace

MOST_STEPS: Final = 3_600
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem"})


@dataclass(slots=True)
class TraceTotals:
    """A trace in numbers, for as long as the load lasts. A row without a size counts as the smallest item."""

    duration_s: float
    speed: float
    requests: list[int] = field(default_factory=list)  # of each step
    units: dict[bool, list[float]] = field(default_factory=dict)  # writes (True) and reads, of each step
    keys: dict[bool, dict[str, float]] = field(default_factory=lambda: {True: {}, False: {}})

    def __post_init__(self) -> None:
        count = min(MOST_STEPS, ceil(self.duration_s))
        self.requests = [0] * count
        self.units = {True: [0.0] * count, False: [0.0] * count}

    @property
    def step_s(self) -> float:
        return self.duration_s / len(self.requests)

    def add(self, rows: Iterable[Row]) -> "TraceTotals":
        """Count the rows that come before the load ends."""
        for row in rows:
            at_s = row.at_s / self.speed
            if at_s >= self.duration_s:
                break
            place, writes, size = int(at_s / self.step_s), row.operation in WRITES, row.size_bytes or 0
            units = write_units(0, size) if writes else read_units(size, consistent=False)
            self.requests[place] += 1
            self.units[writes][place] += units
            self.keys[writes][row.key] = self.keys[writes].get(row.key, 0.0) + units
        return self

    @property
    def shape(self) -> Shape:
        """Requests per second over time."""
        return self._shape(self.requests)

    def shape_of(self, *, writes: bool) -> Shape:
        """Write or read units per second over time."""
        return self._shape(self.units[writes])

    def hottest_share(self, *, writes: bool) -> float | None:
        """The part of the units that goes to the most used key; None where there are no units."""
        counted = self.keys[writes]
        return max(counted.values()) / sum(counted.values()) if counted else None

    def _shape(self, amounts: Iterable[float]) -> Shape:
        return steps((amount / self.step_s, self.step_s) for amount in amounts)


def trace_totals(scenario: Scenario, folder: Path) -> TraceTotals:
    """The trace of a scenario added up; `folder` is the scenario's. Raises `TraceError`."""
    rows = read_trace(
        scenario.keys.trace_path(folder),
        has_sort_key=scenario.table.sort_key is not None,
        least=lambda _key, _sort_key: 0,
    )
    return TraceTotals(scenario.load.duration_s, scenario.keys.speed or 1.0).add(rows)
