"""A case as a scenario: the file that `keyheat simulate` takes, run by the simulator, and what it gives."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import NamedTuple

from keyheat.scenario.scenario import load_scenario
from keyheat.simulator.simulate import Simulation, simulate
from keyheat.words import Direction
from tests.calibration.cases import Case

FOLDER = Path(__file__).with_name("scenarios")


class Second(NamedTuple):
    """What one operation on the table, or one index, saw within a second of the load."""

    at_s: float
    of_index: str | None
    direction: str
    operation: str | None  # None on the rows of an index
    attempts: int
    accepted: int
    throttled: int
    errors: int
    units: float


@dataclass(frozen=True)
class Simulated:
    """One simulated run; times count from `starts_s`, when what was before the measurement is over."""

    simulation: Simulation
    starts_s: float = 0.0

    @cached_property
    def seconds(self) -> list[Second]:
        """The client's rows, a second each."""
        zero_s = self.simulation.started_s + self.starts_s
        return [Second(*row)._replace(at_s=row[0] - zero_s) for row in self.simulation.client.seconds]

    @property
    def elapsed_s(self) -> float:
        """Seconds that the measured part of the load lasted."""
        return self.simulation.ended_s - self.simulation.started_s - self.starts_s

    def metric(self, name: str, from_s: float | None = None, to_s: float | None = None) -> float:
        """One number of the run between two times, whole seconds.

        Raises `KeyError` for an unknown metric, and `ValueError` for a time when the run was over.
        """
        if name == "index_units_first_minute":
            return self.metric("index_units", 0.0, 60.0)
        start_s, end_s = from_s or 0.0, self.elapsed_s if to_s is None else to_s
        if end_s > self.elapsed_s:
            raise ValueError(f"the run lasted {self.elapsed_s:g} s, which tells nothing about {end_s:g} s")
        what, _, reason = name.partition(":")
        if what == "reason":
            return self._reasons(reason, start_s, end_s)
        within = [row for row in self.seconds if start_s <= row.at_s < end_s]
        rows = [row for row in within if row.of_index is None]
        span_s = end_s - start_s
        asked, accepted = sum(row.attempts for row in rows), sum(row.accepted for row in rows)
        by_name = {
            "accepted": accepted,
            "accepted_per_s": accepted / span_s,
            "throttles": asked - accepted,
            "throttled_share": 1 - accepted / max(1, asked),
            "throttled": float(accepted < asked),
            "first_throttle_s": next((row.at_s for row in rows if row.throttled), inf),
            "partitions": self._partitions_at(end_s),
            "further_splits": float(self._partitions_at(inf) > self._partitions_at(start_s)),
            "more_than_6000_writes_per_s": float(_units(rows, Direction.WRITE) / span_s > 6_000),
            "index_units": sum(row.units for row in within if row.of_index is not None),
            "read_units_per_s": _units(rows, Direction.READ) / span_s,
            "write_units_per_s": _units(rows, Direction.WRITE) / span_s,
        }
        return by_name[name]

    def _partitions_at(self, at_s: float) -> int:
        until_s = self.simulation.started_s + self.starts_s + at_s
        later = sum(split_s >= until_s for _number, split_s in self.simulation.model.partitions.splits)
        return self.simulation.model.partition_count() - later

    def _reasons(self, reason: str, start_s: float, end_s: float) -> int:
        zero_s = self.simulation.started_s + self.starts_s
        return sum(
            row[7]
            for row in self.simulation.client.throttles
            if row[3] == reason and start_s <= row[0] - zero_s < end_s
        )


def runs(case: Case) -> Iterator[Simulated]:
    """The case's scenario, simulated once for each of its seeds; nothing where it has none."""
    if not case.simulated:
        return
    scenario = load_scenario(FOLDER / case.simulated["scenario"])
    for seed in range(1, case.simulated.get("seeds", 1) + 1):
        made = simulate(scenario, seed=seed)
        yield Simulated(made, case.simulated.get("starts_s", 0.0))


def _units(rows: list[Second], direction: Direction) -> float:
    return sum(row.units for row in rows if row.direction == direction.value)
