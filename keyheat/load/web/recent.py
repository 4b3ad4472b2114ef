"""The last minutes of a run: a look at them costs the same however long the run has been going."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from keyheat.load.record.seconds import ATTEMPTS, CONSUMED, ERRORS, THROTTLED, Seconds
from keyheat.load.record.throttles import ThrottleRows
from keyheat.model.resources import Cause, parse_reason
from keyheat.words import Direction, Resource

SHOWN_S = 300
TAIL = 50_000  # rows, the newest, in which the hottest throttled key is looked for

CONSTRAINTS = {
    Cause.KEY_RANGE: "partition",
    Cause.PROVISIONED: "table",
    Cause.MAX_ON_DEMAND: "max_on_demand",
    Cause.ACCOUNT: "account",
}


@dataclass(frozen=True, slots=True)
class Refused:
    """What refused a request: an index, or the table (None), and the reason DynamoDB gave, if it gave one."""

    index: str | None
    direction: str
    reason: str | None

    @property
    def constraint(self) -> str:
        known = parse_reason(self.reason or "")
        return CONSTRAINTS[known[2]] if known else "undetermined"


@dataclass(slots=True)
class Tally:
    """Throttles by what refused them: over the run, and in each of the last seconds."""

    total: Counter[Refused] = field(default_factory=Counter)
    by_second: dict[int, Counter[Refused]] = field(default_factory=dict)
    _read: int = 0

    def read_on(self, rows: ThrottleRows) -> None:
        """Count the rows that were added since the last call; forget seconds that are no longer shown."""
        for second, refused, number in _counted(rows, self._read):
            self.total[refused] += number
            self.by_second.setdefault(second, Counter())[refused] += number
        self._read = len(rows)
        newest = max(self.by_second, default=0)
        for second in [second for second in self.by_second if second <= newest - SHOWN_S - 60]:
            del self.by_second[second]

    def between(self, start: int, end: int) -> Counter[Refused]:
        """Throttles of the requests sent from `start` up to `end`."""
        found: Counter[Refused] = Counter()
        for second in range(start, end):
            found.update(self.by_second.get(second, Counter()))
        return found


def _counted(rows: ThrottleRows, start: int) -> Iterator[tuple[int, Refused, int]]:
    """Second, what refused, and how many, of the rows from `start` on."""
    if len(rows) <= start:
        return
    names, base = ("index", "direction", "reason"), len(rows.words)
    seconds = np.frombuffer(rows.columns["at"], dtype=np.int64)[start:] // 1_000_000
    first = int(seconds.min())
    code = seconds - first
    for name in names:
        code = code * base + np.frombuffer(rows.columns[name], dtype=np.uint16)[start:]
    for one, number in zip(*np.unique(code, return_counts=True), strict=True):
        rest, places = int(one), []
        for _ in names:
            rest, place = divmod(rest, base)
            places.append(rows.words[place])
        reason, direction, index = places
        yield first + rest, Refused(index, direction or "", reason), int(number)


def hottest_throttled(rows: ThrottleRows, since_s: float, refused: Refused) -> tuple[int, float] | None:
    """The key that one constraint refused most since a moment: the number of its digest, and its share."""
    start = max(0, len(rows) - TAIL)
    chosen = np.frombuffer(rows.columns["at"], dtype=np.int64)[start:] >= since_s * 1e6
    for name in ("index", "direction", "reason"):
        wanted = rows.words.index(getattr(refused, name)) if getattr(refused, name) in rows.words else -1
        chosen &= np.frombuffer(rows.columns[name], dtype=np.uint16)[start:] == wanted
    keys, counts = np.unique(
        np.frombuffer(rows.columns["key"], dtype=np.uint64)[start:][chosen], return_counts=True
    )
    if not len(keys):
        return None
    hottest = int(counts.argmax())
    return int(keys[hottest]), float(counts[hottest] / counts.sum())


@dataclass(frozen=True, slots=True)
class Series:
    """What one resource did in each of the seconds shown."""

    consumed: list[float]
    throttled: list[int]


def series(seconds: Seconds, start: int, end: int) -> dict[Resource, Series]:
    """What every resource that was used consumed, second by second from `start` up to `end`."""
    found: dict[Resource, Series] = {}
    for place, second in enumerate(range(start, end)):
        for row, counts in seconds.of_second(second):
            resource = Resource(row.resource, Direction(row.direction))
            one = found.get(resource)
            if one is None:
                one = found[resource] = Series([0.0] * (end - start), [0] * (end - start))
            one.consumed[place] += counts[CONSUMED]
            one.throttled[place] += int(counts[THROTTLED])
    return found


@dataclass(slots=True)
class Totals:
    """Attempts and errors of a whole run, added up from the seconds that may still change."""

    _settled: list[float] = field(default_factory=lambda: [0.0, 0.0])
    _open: deque[int] = field(default_factory=deque)
    _next: int = 0

    def until(self, seconds: Seconds, start: int, end: int) -> tuple[int, int]:
        """Attempts and errors of the run's seconds from `start` up to `end`."""
        for second in range(max(start, self._next), end):
            self._open.append(second)
        self._next = max(end, self._next)
        while len(self._open) > SHOWN_S:
            self._add(self._settled, seconds, self._open.popleft())
        total = list(self._settled)
        for second in self._open:
            self._add(total, seconds, second)
        return int(total[0]), int(total[1])

    @staticmethod
    def _add(total: list[float], seconds: Seconds, second: int) -> None:
        counts = seconds.in_second(second)
        total[0] += counts[ATTEMPTS]
        total[1] += counts[ERRORS]
