"""What the live page and Prometheus read of a record: counts, throttles by limit, and the hottest keys."""

from collections import Counter, deque
from dataclasses import dataclass, field
from operator import add
from typing import Any

from keyheat.load.record.record import Record, heat_of
from keyheat.load.record.rows import ACCEPTED, ATTEMPTS, CONSUMED, ERRORS, THROTTLED, Seconds, ThrottleRows
from keyheat.load.record.sketch import SETTLED_S, KeyTotals
from keyheat.model.resources import parse_reason
from keyheat.words import Constraint, Direction, Resource

RECENT_S = 5
TOP_KEYS = 10


@dataclass(frozen=True, slots=True)
class Refuser:
    """What refused a request: an index or the table (None), and DynamoDB's reason, None if it gave none."""

    index: str | None
    direction: str
    reason: str | None

    @property
    def constraint(self) -> Constraint:
        parsed = parse_reason(self.reason or "")
        return parsed[2].constraint if parsed else "undetermined"


@dataclass(slots=True)
class ThrottleTally:
    """Throttles of the run by operation and refuser, and those of the last minute by second."""

    by_operation: Counter[tuple[str, Refuser]] = field(default_factory=Counter)
    by_second: dict[int, Counter[Refuser]] = field(default_factory=dict)
    last: int | None = None  # second of the newest throttle
    _read: int = 0

    @property
    def total(self) -> Counter[Refuser]:
        total: Counter[Refuser] = Counter()
        for (_operation, refuser), number in self.by_operation.items():
            total[refuser] += number
        return total

    def read_on(self, rows: ThrottleRows) -> None:
        """Count the rows added since the last call; forget seconds that are no longer read."""
        seconds = [at_us // 1_000_000 for at_us in rows.columns["at"][self._read :]]
        names = [rows.columns[name][self._read :] for name in ("operation", "index", "direction", "reason")]
        self._read = len(rows)
        for (second, *numbers), count in Counter(zip(seconds, *names, strict=True)).items():
            operation, index, direction, reason = (rows.words[number] for number in numbers)
            refuser = Refuser(index, direction or "", reason)
            self.by_operation[operation or "", refuser] += count
            self.by_second.setdefault(second, Counter())[refuser] += count
        self.last = max(self.by_second, default=self.last)
        for second in [second for second in self.by_second if second <= (self.last or 0) - SETTLED_S]:
            del self.by_second[second]

    def recent(self, end: int) -> Counter[Refuser]:
        seconds = range(end - RECENT_S, end)
        return sum((self.by_second.get(second, Counter()) for second in seconds), Counter())


CountedBy = tuple[str | None, str, str | None]
"""An index (None: the table), a direction, and the operation (None: an index has none)."""
Totals = dict[CountedBy, list[float]]


@dataclass(slots=True)
class RunTotals:
    """The counts of a whole run; only seconds that may still change are added up again."""

    _settled: Totals = field(default_factory=dict)
    _open: deque[int] = field(default_factory=deque)
    _next: int = 0

    def until(self, seconds: Seconds, start: int, end: int) -> Totals:
        """Add up the run's seconds from `start` up to `end`."""
        self._open.extend(range(max(start, self._next), end))
        self._next = max(end, self._next)
        while len(self._open) > SETTLED_S:
            _add(self._settled, seconds, self._open.popleft())
        total = dict(self._settled)
        for second in self._open:
            _add(total, seconds, second)
        return total


def _add(total: Totals, seconds: Seconds, second: int) -> None:
    for row, counts in seconds.of_second(second):
        before = total.get(row[1:])
        total[row[1:]] = list(counts) if before is None else list(map(add, before, counts))


def of_requests(totals: Totals, what: int) -> int:
    """Return one count of all requests; those that an index answered are the table's as well."""
    return int(sum(counts[what] for (index, *_), counts in totals.items() if index is None))


def consumed_in(totals: Totals) -> dict[tuple[str | None, str], float]:
    """Return the units that each index, or the table, consumed in each direction."""
    consumed: dict[tuple[str | None, str], float] = {}
    for (index, direction, _operation), counts in totals.items():
        consumed[index, direction] = consumed.get((index, direction), 0.0) + counts[CONSUMED]
    return consumed


def rates(record: Record, end: int) -> dict[str, float]:
    """Return requests per second by outcome, over the last seconds before `end`."""
    recent = [record.seconds.in_second(second) for second in range(end - RECENT_S, end)]
    names = {"attempts": ATTEMPTS, "accepted": ACCEPTED, "throttled": THROTTLED, "errors": ERRORS}
    return {name: sum(counts[what] for counts in recent) / RECENT_S for name, what in names.items()}


def consumption(seconds: Seconds, end: int) -> dict[Resource, float]:
    """Return units per second of each resource, over the last seconds before `end`."""
    consumed: dict[Resource, float] = {}
    for second in range(end - RECENT_S, end):
        for row, counts in seconds.of_second(second):
            resource = Resource(row.resource, Direction(row.direction))
            consumed[resource] = consumed.get(resource, 0.0) + counts[CONSUMED] / RECENT_S
    return consumed


HotKey = tuple[str, float]
"""A key, and its share of the throttles."""


def hottest_throttled(record: Record, refuser: Refuser, *, since_s: float | None) -> HotKey | None:
    """The key throttled most in the newest window that ended after `since_s`; None: in the whole run.

    It is the index's own key where those are counted.
    """
    name = heat_of(refuser.direction, refuser.index) if refuser.index else refuser.direction
    heat = record.heat.get(name) or record.heat.get(refuser.direction)
    if heat is None:
        return None
    if since_s is None:
        throttles = {key.name: float(key.throttles) for key in heat.sketch.top_throttled(1)}
        total = heat.sketch.throttles.total
    else:
        newest = max(heat.windows, default=0)
        window = heat.windows[newest] if newest + heat.window_s > since_s else {}
        throttles = {name: counts[1] for name, counts in window.items()}
        total = sum(throttles.values())
    hottest = max(throttles, key=lambda key: throttles[key], default=None)
    return None if hottest is None or not throttles[hottest] else (hottest, throttles[hottest] / total)


def hottest_keys(record: Record, top: str, by: str) -> dict[tuple[str, str], KeyTotals]:
    """The hottest keys of all heats, most first, each by its heat's name and its own.

    `top` names the sketch's method, `by` the total that it sorts by.
    """
    keys = [
        ((name, key.name), key)
        for name, heat in record.heat.items()
        for key in getattr(heat.sketch, top)(TOP_KEYS)
    ]
    return dict(sorted(keys, key=lambda item: -getattr(item[1], by))[:TOP_KEYS])


def shown_keys(record: Record, top: str, by: str) -> list[dict[str, Any]]:
    """The hottest keys as rows of the page."""
    rows = []
    for (name, key), totals in hottest_keys(record, top, by).items():
        side, _, index = name.partition(":")
        all_units = record.heat[name].sketch.total_units
        share = min(1.0, totals.units / all_units) if all_units else 0.0
        rows.append(
            {
                "key": key, "index": index or None, "direction": side, "unit": Direction(side).unit,
                "consumed_units": totals.consumed,
                "throttles": totals.throttles, "share": share,
            }
        )  # fmt: skip
    return rows
