"""The record of a run: every attempt, small enough to keep and to send, and mergeable without loss.

Accepted attempts are counted per second, throttled ones are kept one by one, durations go to histograms and
keys to a sketch. A worker cuts its record off every second and sends the piece to the master, which merges
pieces of its own version alone.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any, Final, NamedTuple, Self

import msgpack  # type: ignore[import-untyped]

from keyheat.heavyhitters import HeavyHitters
from keyheat.load.record.attempt import Attempt, ConsumedUnits
from keyheat.load.record.generator import Health
from keyheat.load.record.rows import (
    ACCEPTED,
    ATTEMPTS,
    CONSUMED,
    ERRORS,
    THROTTLED,
    UNMET,
    Latency,
    Seconds,
    ThrottleRows,
)
from keyheat.load.record.sketch import KeyHeat
from keyheat.scenario.keys import digest_number, digest_of
from keyheat.words import CONTENTION_ERRORS


def heat_of(direction: str, index: str) -> str:
    """Under which name a record has the heat of an index's keys; that of the table's has the direction's."""
    return f"{direction}:{index}"


@dataclass(slots=True)
class Record:
    """Everything known of the attempts of one process, or of several merged."""

    seconds: Seconds = field(default_factory=Seconds)
    throttles: ThrottleRows = field(default_factory=ThrottleRows)
    latencies: dict[str, Latency] = field(default_factory=dict)  # by "PutItem.accepted" ...
    heat: dict[str, KeyHeat] = field(  # by direction, those of indexes by `heat_of`
        default_factory=lambda: {"read": KeyHeat(), "write": KeyHeat()}
    )
    errors_by_kind: Counter[str] = field(default_factory=Counter)
    counted: dict[str, float] = field(default_factory=dict)  # what users count: "reads.missing" ...
    meetings: dict[str, HeavyHitters[str]] = field(default_factory=dict)  # keys on which writers met, by how
    health: Health = field(default_factory=Health)
    consumed: ConsumedUnits = field(default_factory=ConsumedUnits)  # checked against the budget

    def count(self, name: str, number: float = 1) -> None:
        """Add to something that a load test counts; `name` is `group.what`, such as `reads.missing`."""
        self.counted[name] = self.counted.get(name, 0) + number

    def entered(
        self, attempt: Attempt, index: str, key: str, units: float, *, throttled: bool = False
    ) -> None:
        """Count an entry that a write puts into an index, or that the index refused, by the index's key."""
        self._heat(attempt.direction, index).add(key, int(attempt.sent_s), units, throttled)

    def _heat(self, direction: str, index: str | None) -> KeyHeat:
        name = direction if index is None else heat_of(direction, index)
        heat = self.heat.get(name)
        if heat is None:
            heat = self.heat[name] = KeyHeat(show_keys=any(other.show_keys for other in self.heat.values()))
        return heat

    def contended(self, attempt: Attempt, how: str) -> None:
        """Note on which key a write met another one; `how` is `conflicts` or `conditions`."""
        if attempt.table is not None:
            return
        heat = self.heat.get("write")
        name = attempt.key if heat is not None and heat.show_keys else digest_of(attempt.key)
        self.meetings.setdefault(how, HeavyHitters()).add(name, 1.0)

    def add(self, attempt: Attempt) -> None:
        if attempt.timed:
            self.timed(f"{attempt.operation}.{attempt.outcome}", attempt.service_us)
            self.health.late.add(attempt.late_us)
        if attempt.outcome == "accepted":
            self.consumed.add(attempt.direction, attempt.units)
        if attempt.table is not None:  # which is not judged: its seconds and keys are not the table's
            units = attempt.units if attempt.outcome == "accepted" else 0.0
            self.count(f"tables.{attempt.table}.{attempt.outcome}")
            self.count(f"tables.{attempt.table}.{attempt.direction}_units", units)
        elif attempt.outcome == "accepted":
            self._accepted(attempt, int(attempt.sent_s))
        elif attempt.outcome == "throttled":
            self._throttled(attempt, int(attempt.sent_s))
        else:
            counts = self.seconds.counts(int(attempt.sent_s), None, attempt.direction, attempt.operation)
            counts[ATTEMPTS] += 1
            counts[ERRORS] += 1
            counts[UNMET] += attempt.reason not in CONTENTION_ERRORS
            self.errors_by_kind[attempt.reason or "unknown"] += 1

    def _accepted(self, attempt: Attempt, second: int) -> None:
        of_indexes = 0.0
        for index, consumed in attempt.by_index.items():
            counts = self.seconds.counts(second, index, attempt.direction, None)
            counts[ATTEMPTS] += 1
            counts[ACCEPTED] += 1
            counts[CONSUMED] += consumed
            of_indexes += consumed
            if attempt.direction == "read":
                self._heat("read", index).add(attempt.key, second, consumed, False)
        counts = self.seconds.counts(second, None, attempt.direction, attempt.operation)
        counts[ATTEMPTS] += 1
        counts[ACCEPTED] += 1
        counts[CONSUMED] += attempt.units - of_indexes
        if attempt.units > of_indexes or not of_indexes:
            self._heat(attempt.direction, None).add(attempt.key, second, attempt.units - of_indexes, False)

    def _throttled(self, attempt: Attempt, second: int) -> None:
        rows = {
            (None, attempt.operation),
            (attempt.refused_by, None if attempt.refused_by else attempt.operation),
        }
        for resource, operation in rows:
            counts = self.seconds.counts(second, resource, attempt.direction, operation)
            counts[ATTEMPTS] += 1
            counts[THROTTLED] += 1
        self.throttles.add(attempt, digest_number(attempt.key))
        index = attempt.refused_by if attempt.direction == "read" else None  # a write's key is the table's
        self._heat(attempt.direction, index).add(attempt.key, second, attempt.units, True)

    def timed(self, tag: str, us: int) -> None:
        """Note a duration by `NAME.WHAT`.

        `response` is of a request, from its intended start to its end, with all attempts and back-offs;
        `logical` of what took more than one request, such as a read of all shards.
        """
        latency = self.latencies.get(tag)
        if latency is None:
            latency = self.latencies[tag] = Latency()
        latency.add(us)

    def merge(self, other: "Record") -> None:
        self.seconds.merge(other.seconds)
        self.throttles.merge(other.throttles)
        for tag, latency in other.latencies.items():
            self.latencies.setdefault(tag, Latency()).merge(latency)
        for name, heat in other.heat.items():
            self.heat.setdefault(name, KeyHeat(show_keys=heat.show_keys)).merge(heat)
        self.errors_by_kind.update(other.errors_by_kind)
        for name, number in other.counted.items():
            self.count(name, number)
        for how, keys in other.meetings.items():
            self.meetings.setdefault(how, HeavyHitters()).merge(keys)
        self.health.merge(other.health)
        self.consumed = self.consumed.plus(other.consumed)

    def cut(self) -> "Record":
        """Take everything off this record but the windows still open; what is left goes on counting."""
        piece = Record(**{name: getattr(self, name) for name in self.__slots__})
        rest = {
            name: KeyHeat(show_keys=heat.show_keys, open=heat.open, window_s=heat.window_s)
            for name, heat in self.heat.items()
        }
        for heat in piece.heat.values():
            heat.open = {}
        fresh = Record(heat=rest)
        for name in self.__slots__:
            setattr(self, name, getattr(fresh, name))
        return piece

    def to_wire(self) -> dict[str, Any]:
        """Plain values, as they travel from a worker to the master; open windows stay behind."""
        return {
            "seconds": self.seconds.to_wire(),
            "throttles": self.throttles.to_wire(),
            "latencies": {tag: latency.encoded() for tag, latency in self.latencies.items()},
            "heat": {name: heat.to_wire() for name, heat in self.heat.items()},
            "errors_by_kind": dict(self.errors_by_kind),
            "counted": self.counted,
            "meetings": {how: [keys.weights, keys.taken, keys.total] for how, keys in self.meetings.items()},
            "health": self.health.to_wire(),
            "consumed": [self.consumed.write_units, self.consumed.read_units],
        }

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "Record":
        return cls(
            seconds=Seconds.from_wire(wire["seconds"]),
            throttles=ThrottleRows.from_wire(wire["throttles"]),
            latencies={tag: Latency.decoded(encoded) for tag, encoded in wire["latencies"].items()},
            heat={name: KeyHeat.from_wire(heat) for name, heat in wire["heat"].items()},
            errors_by_kind=Counter(wire["errors_by_kind"]),
            counted=dict(wire["counted"]),
            meetings={how: HeavyHitters(*keys) for how, keys in wire["meetings"].items()},
            health=Health.from_wire(wire["health"]),
            consumed=ConsumedUnits(*wire["consumed"]),
        )


@cache
def own_version() -> str:
    """Keyheat's installed version, read from a file once."""
    return version("keyheat")


PIECES_ARRIVE_S = 2  # how far the newest whole second of a worker lies back


DAMAGE: Final = (ValueError, TypeError, LookupError, AttributeError, msgpack.UnpackException)
"""What a piece raises that is not whole: where it is unpacked, or where it is merged."""


class Piece(NamedTuple):
    """A piece of a worker's record, and what the worker says of itself."""

    run_id: str | None
    last: bool
    used_up: bool  # its part of the budget
    users: int
    record: Record

    def to_wire(self) -> dict[str, Any]:
        record = msgpack.packb(self.record.to_wire())
        return {"version": own_version(), **self._asdict(), "record": record}

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> Self:
        """Raises `ValueError` for a piece of another version, and one of `DAMAGE` for a damaged one."""
        if (theirs := wire["version"]) != own_version():
            raise ValueError(f"it runs Keyheat {theirs}, and its master {own_version()}")
        record = Record.from_wire(msgpack.unpackb(wire["record"], strict_map_key=False))
        return cls(**{name: wire[name] for name in cls._fields if name != "record"}, record=record)
