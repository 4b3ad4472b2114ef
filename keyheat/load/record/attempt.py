"""One request as the client saw it: the one value that the record counts; and how Locust counts requests."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import time
from typing import Any, Literal, NamedTuple

from keyheat.words import DirectionName

Outcome = Literal["accepted", "throttled", "error"]
METHOD = "DynamoDB"  # Locust's word for a kind of request
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


class LocustStatistics:
    """The accepted requests of one process, as Locust's page and its table at the end count them.

    They reach Locust once a second, together: to log each takes a tenth of the time of a request. As Locust's
    master takes them from its workers, an entry of a second extends the one of the run.
    """

    def __init__(self, environment: Any, now_s: Callable[[], float] = time) -> None:
        self._environment = environment
        self._now_s = now_s
        self._began_s = 0.0  # epoch seconds of the first request that waits
        self._waiting: list[tuple[str, float, int]] = []

    @property
    def suffice(self) -> bool:
        """Whether Locust's statistics alone listen to requests, and no load test does.

        No where a release of Locust keeps its listeners elsewhere.
        """
        handlers = getattr(self._environment.events.request, "_handlers", None)
        return handlers is not None and all(of.__module__ == "locust.runners" for of in handlers)

    def add(self, operation: str, service_s: float, body_bytes: int) -> None:
        if not self._waiting:
            self._began_s = self._now_s()
        self._waiting.append((operation, service_s * 1000, body_bytes))

    def tell(self) -> None:
        """Pass on what was added since the last time."""
        if not self._waiting:
            return
        from locust.stats import StatsEntry  # which replaces the sockets of a process that only watches

        waiting, self._waiting, stats = self._waiting, [], self._environment.stats
        for name in {operation for operation, _ms, _bytes in waiting}:
            answers = [answer for answer in waiting if answer[0] == name]
            times_ms = [ms for _operation, ms, _bytes in answers]
            entry: Any = StatsEntry(stats, name, METHOD)
            entry.start_time, entry.last_request_timestamp = self._began_s, self._now_s()
            entry.num_requests = entry.num_reqs_per_sec[int(entry.last_request_timestamp)] = len(answers)
            entry.total_response_time = sum(times_ms)
            entry.min_response_time, entry.max_response_time = min(times_ms), max(times_ms)
            entry.total_content_length = sum(body_bytes for _operation, _ms, body_bytes in answers)
            for ms, number in Counter(map(round, times_ms)).items():
                entry.response_times[round(ms, min(0, 2 - len(str(ms))))] += number  # to two digits
            stats.entries[name, METHOD].extend(entry)
            stats.total.extend(entry)
