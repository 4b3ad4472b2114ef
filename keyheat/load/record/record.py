"""The record of a run: every attempt, small enough to keep and to send, and mergeable without loss.

Accepted attempts are counted per second, throttled ones are kept one by one, durations go to histograms and
keys to a sketch. A worker cuts its record off every second and sends the piece to the master, which merges.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyheat.load.record.attempt import Attempt
from keyheat.load.record.consumed import Consumed
from keyheat.load.record.health import Health
from keyheat.load.record.latency import Latency
from keyheat.load.record.seconds import ACCEPTED, ATTEMPTS, CONSUMED, ERRORS, THROTTLED, Seconds
from keyheat.load.record.sketch import KeyHeat
from keyheat.load.record.throttles import ThrottleRows
from keyheat.scenario.keys import digest_number

__all__ = ["Attempt", "Record"]


@dataclass(slots=True)
class Record:
    """Everything known of the attempts of one process, or of several merged."""

    seconds: Seconds = field(default_factory=Seconds)
    throttles: ThrottleRows = field(default_factory=ThrottleRows)
    latencies: dict[str, Latency] = field(default_factory=dict)  # by "PutItem.accepted" ...
    heat: dict[str, KeyHeat] = field(default_factory=lambda: {"read": KeyHeat(), "write": KeyHeat()})
    errors_by_kind: Counter[str] = field(default_factory=Counter)
    counted: dict[str, float] = field(default_factory=dict)  # what users count: "reads.missing" ...
    health: Health = field(default_factory=Health)
    consumed: Consumed = field(default_factory=Consumed)  # what a budget is held against

    def count(self, name: str, number: float = 1) -> None:
        """Add to something that a load test counts; `name` is `group.what`, such as `reads.missing`."""
        self.counted[name] = self.counted.get(name, 0) + number

    def _count_beside(self, attempt: Attempt, outcome: str, units: float) -> None:
        """Count an attempt on a table that is not judged: its seconds and keys are not the table's."""
        self.count(f"tables.{attempt.table}.{outcome}")
        self.count(f"tables.{attempt.table}.{attempt.direction}_units", units)
        self.consumed.add(attempt.direction, units)
        self._time(attempt, outcome)

    def accepted(self, attempt: Attempt, units: float, index_units: Mapping[str, float] = {}) -> None:
        """Count an accepted attempt: `units` in all, of which `index_units` were consumed by indexes."""
        if attempt.table is not None:
            self._count_beside(attempt, "accepted", units)
            return
        second = int(attempt.sent_s)
        of_indexes = 0.0
        for index, consumed in index_units.items():
            counts = self.seconds.counts(second, index, attempt.direction, None)
            counts[ATTEMPTS] += 1
            counts[ACCEPTED] += 1
            counts[CONSUMED] += consumed
            of_indexes += consumed
        counts = self.seconds.counts(second, None, attempt.direction, attempt.operation)
        counts[ATTEMPTS] += 1
        counts[ACCEPTED] += 1
        counts[CONSUMED] += units - of_indexes
        self.consumed.add(attempt.direction, units)
        self._time(attempt, "accepted")
        self.heat[attempt.direction].add(attempt.key, second, units, False)

    def throttled(self, attempt: Attempt, units: float, reason: str | None, index: str | None) -> None:
        """Keep a throttled attempt that would have cost about `units`; `index`: the one that refused it."""
        if attempt.table is not None:
            self._count_beside(attempt, "throttled", 0.0)
            return
        second = int(attempt.sent_s)
        for resource, operation in {(None, attempt.operation), (index, None if index else attempt.operation)}:
            counts = self.seconds.counts(second, resource, attempt.direction, operation)
            counts[ATTEMPTS] += 1
            counts[THROTTLED] += 1
        self.throttles.add(
            at_us=int(attempt.sent_s * 1e6),
            key=digest_number(attempt.key),
            units=units,
            late_us=attempt.late_us,
            service_us=attempt.service_us,
            index=index,
            direction=attempt.direction,
            reason=reason,
            operation=attempt.operation,
        )
        self._time(attempt, "throttled")
        self.heat[attempt.direction].add(attempt.key, second, units, True)

    def failed(self, attempt: Attempt, kind: str) -> None:
        """Count an attempt that failed for another reason than a throttle."""
        if attempt.table is not None:
            self._count_beside(attempt, "error", 0.0)
            return
        counts = self.seconds.counts(int(attempt.sent_s), None, attempt.direction, attempt.operation)
        counts[ATTEMPTS] += 1
        counts[ERRORS] += 1
        self.errors_by_kind[kind] += 1
        self._time(attempt, "error")

    def timed(self, name: str, us: int) -> None:
        """Time something that took more than one request, such as a read of all shards."""
        self._add(f"{name}.logical", us)

    def responded(self, operation: str, us: int) -> None:
        """Time a request from its intended start to its end, with all attempts and back-offs."""
        self._add(f"{operation}.response", us)

    def backed_off(self, operation: str, us: int) -> None:
        """Time a wait before another attempt."""
        self._add(f"{operation}.backoff", us)

    def _time(self, attempt: Attempt, outcome: str) -> None:
        if not attempt.timed:
            return
        self.consumed.answers += 1
        self._add(f"{attempt.operation}.{outcome}", attempt.service_us)
        self.health.late.add(attempt.late_us)

    def _add(self, tag: str, us: int) -> None:
        latency = self.latencies.get(tag)
        if latency is None:
            latency = self.latencies[tag] = Latency()
        latency.add(us)

    def merge(self, other: "Record") -> None:
        """Add all that another record holds."""
        self.seconds.merge(other.seconds)
        self.throttles.merge(other.throttles)
        for tag, latency in other.latencies.items():
            self.latencies.setdefault(tag, Latency()).merge(latency)
        for direction, heat in other.heat.items():
            self.heat[direction].merge(heat)
        self.errors_by_kind.update(other.errors_by_kind)
        for name, number in other.counted.items():
            self.count(name, number)
        self.health.merge(other.health)
        self.consumed.merge(other.consumed)

    def cut(self) -> "Record":
        """Take everything off this record but the windows still open; what is left goes on counting."""
        piece = Record(
            seconds=self.seconds,
            throttles=self.throttles,
            latencies=self.latencies,
            heat={},
            errors_by_kind=self.errors_by_kind,
            counted=self.counted,
            health=self.health,
            consumed=self.consumed,
        )
        fresh = Record()
        for direction, heat in self.heat.items():
            fresh.heat[direction] = KeyHeat(show_keys=heat.show_keys, open=heat.open, window_s=heat.window_s)
            heat.open = {}
            piece.heat[direction] = heat
        for name in self.__slots__:
            setattr(self, name, getattr(fresh, name))
        return piece

    def to_wire(self) -> dict[str, Any]:
        """Plain values, as they travel from a worker to the master; open windows stay behind."""
        return {
            "seconds": self.seconds.to_wire(),
            "throttles": self.throttles.to_wire(),
            "latencies": {tag: latency.encoded() for tag, latency in self.latencies.items()},
            "heat": {direction: heat.to_wire() for direction, heat in self.heat.items()},
            "errors_by_kind": dict(self.errors_by_kind),
            "counted": self.counted,
            "health": self.health.to_wire(),
            "consumed": self.consumed.to_wire(),
        }

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "Record":
        """What `to_wire` made."""
        return cls(
            seconds=Seconds.from_wire(wire["seconds"]),
            throttles=ThrottleRows.from_wire(wire["throttles"]),
            latencies={tag: Latency.decoded(encoded) for tag, encoded in wire["latencies"].items()},
            heat={direction: KeyHeat.from_wire(heat) for direction, heat in wire["heat"].items()},
            errors_by_kind=Counter(wire["errors_by_kind"]),
            counted=dict(wire["counted"]),
            health=Health.from_wire(wire["health"]),
            consumed=Consumed(*wire["consumed"]),
        )
