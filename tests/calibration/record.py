"""What a load has seen: one row for each attempt, and the metrics that observations ask for."""

from collections import Counter
from dataclasses import dataclass, field
from math import inf

from keyheat.model.resources import Refusal
from keyheat.model.table import TableModel
from keyheat.words import Direction


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request, or one item of a batch, as its client saw it; `at_s` counts from the start of the load."""

    at_s: float
    direction: Direction
    units: float
    index_units: float
    refusal: Refusal | None
    label: str = ""


@dataclass(slots=True)
class Record:
    """The attempts of one run; rates are divided by the scale that the table had."""

    model: TableModel
    scale: float = 1.0
    attempts: list[Attempt] = field(default_factory=list)
    partitions: list[tuple[float, int]] = field(default_factory=list)
    elapsed_s: float = 0.0
    notes: dict[str, float] = field(default_factory=dict)
    """What only this kind of load knows."""

    def metric(self, name: str, from_s: float | None = None, to_s: float | None = None) -> float:
        """One number of the run between two times. Raises `KeyError` for an unknown metric."""
        if name in self.notes:
            return self.notes[name]
        start_s, end_s = from_s or 0.0, self.elapsed_s if to_s is None else to_s
        if name == "write_units":
            name = "units"
        rows = [row for row in self.attempts if start_s <= row.at_s < max(end_s, start_s + 1e-9)]
        served = [row for row in rows if row.refusal is None]
        span_s = (end_s - start_s) * self.scale or 1.0
        if name == "elapsed_s":
            return self.elapsed_s
        if name == "partitions":
            return self._partitions_at(end_s)
        by_name = {
            "requests": len(rows),
            "accepted": len(served),
            "accepted_per_s": len(served) / span_s,
            "throttles": len(rows) - len(served),
            "throttled_share": 1 - len(served) / max(1, len(rows)),
            "throttled": float(len(served) < len(rows)),
            "first_throttle_s": next((row.at_s for row in rows if row.refusal), inf),
            "relief_s": _relief_s(rows),
            "further_splits": float(len(self.model.partitions) > self._partitions_at(start_s)),
            "more_than_6000_writes_per_s": float(_units(served, Direction.WRITE) / span_s > 6_000),
            "units": sum(row.units for row in served),
            "index_units": sum(row.index_units for row in served),
            "read_units_per_s": _units(served, Direction.READ) / span_s,
            "write_units_per_s": _units(served, Direction.WRITE) / span_s,
        }
        if name in by_name:
            return by_name[name]
        what, _, reason = name.partition(":")
        if what == "reason":
            return sum(row.refusal is not None and row.refusal.reason == reason for row in rows)
        if what == "accepted":
            return sum(row.label == reason for row in served)
        raise KeyError(name)

    def _partitions_at(self, at_s: float) -> int:
        return max(count for seen_s, count in self.partitions if seen_s <= at_s)


def _relief_s(rows: list[Attempt]) -> float:
    """When the last second began in which more than a tenth was refused."""
    asked, refused = (
        Counter(int(row.at_s) for row in rows),
        Counter(int(row.at_s) for row in rows if row.refusal),
    )
    return max((second for second, count in refused.items() if count > 0.1 * asked[second]), default=0)


def _units(rows: list[Attempt], direction: Direction) -> float:
    return sum(row.units for row in rows if row.direction is direction)
