"""The last minutes of a run for the live page: series, rates, hot keys, and one sentence on what goes on."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import add
from typing import Any

import numpy as np

from keyheat.load.record.record import Record, heat_of
from keyheat.load.record.rows import ACCEPTED, ATTEMPTS, CONSUMED, ERRORS, THROTTLED, Seconds, ThrottleRows
from keyheat.load.record.sketch import SETTLED_S
from keyheat.model.resources import parse_reason
from keyheat.numbers import percent
from keyheat.words import LIMITS, Constraint, Direction, Resource, label_of, whose

SHOWN_S = 300


@dataclass(frozen=True, slots=True)
class Refuser:
    """What refused a request: an index, or the table (None), and the reason DynamoDB gave, if it gave one."""

    index: str | None
    direction: str
    reason: str | None

    @property
    def constraint(self) -> Constraint:
        known = parse_reason(self.reason or "")
        return known[2].constraint if known else "undetermined"


@dataclass(slots=True)
class ThrottleTally:
    """Throttles by what refused them: over the run, and in each of the last seconds."""

    total: Counter[Refuser] = field(default_factory=Counter)
    by_operation: Counter[tuple[str, Refuser]] = field(default_factory=Counter)  # the same, over the run
    by_second: dict[int, Counter[Refuser]] = field(default_factory=dict)
    _read: int = 0

    def read_on(self, rows: ThrottleRows) -> None:
        """Count the rows that were added since the last call; forget seconds that are no longer shown."""
        for second, operation, refused, number in _counted(rows, self._read):
            self.total[refused] += number
            self.by_operation[operation, refused] += number
            self.by_second.setdefault(second, Counter())[refused] += number
        self._read = len(rows)
        newest = max(self.by_second, default=0)
        for second in [second for second in self.by_second if second <= newest - SHOWN_S - 60]:
            del self.by_second[second]

    def between(self, start: int, end: int) -> Counter[Refuser]:
        """Throttles of the requests sent from `start` up to `end`."""
        found: Counter[Refuser] = Counter()
        for second in range(start, end):
            found.update(self.by_second.get(second, Counter()))
        return found


def _counted(rows: ThrottleRows, start: int) -> Iterator[tuple[int, str, Refuser, int]]:
    """Second, operation, what refused it, and how many, of the rows from `start` on."""
    if len(rows) <= start:
        return
    names, base = ("index", "direction", "reason", "operation"), len(rows.words)
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
        operation, reason, direction, index = places
        yield first + rest, operation or "", Refuser(index, direction or "", reason), int(number)


HotKey = tuple[str, float]
"""A key, and its share of the throttles."""
Series = tuple[list[float], list[int]]
"""Units consumed, and throttles, in each of the seconds shown."""


def series(seconds: Seconds, start: int, end: int) -> dict[Resource, Series]:
    """What every resource that was used did, second by second from `start` up to `end`."""
    found: dict[Resource, Series] = {}
    for place, second in enumerate(range(start, end)):
        for row, counts in seconds.of_second(second):
            resource = Resource(row.resource, Direction(row.direction))
            consumed, throttled = found.setdefault(resource, ([0.0] * (end - start), [0] * (end - start)))
            consumed[place] += counts[CONSUMED]
            throttled[place] += int(counts[THROTTLED])
    return found


Asked = tuple[str | None, str, str | None]
"""An index (None: the table), a direction, and the operation, which an index has not."""


@dataclass(slots=True)
class RunTotals:
    """The counts of a whole run by what was asked, added up from the seconds that may still change."""

    _settled: dict[Asked, list[float]] = field(default_factory=dict)
    _open: deque[int] = field(default_factory=deque)
    _next: int = 0

    def until(self, seconds: Seconds, start: int, end: int) -> dict[Asked, list[float]]:
        """What came of the run's seconds from `start` up to `end`."""
        self._open.extend(range(max(start, self._next), end))
        self._next = max(end, self._next)
        while len(self._open) > SETTLED_S:
            self._add(self._settled, seconds, self._open.popleft())
        total = {asked: list(counts) for asked, counts in self._settled.items()}
        for second in self._open:
            self._add(total, seconds, second)
        return total

    @staticmethod
    def _add(total: dict[Asked, list[float]], seconds: Seconds, second: int) -> None:
        for row, counts in seconds.of_second(second):
            before = total.get(row[1:])
            total[row[1:]] = list(counts) if before is None else list(map(add, before, counts))


def of_requests(totals: Mapping[Asked, list[float]], what: int) -> int:
    """So many of all requests; those that an index answered are the table's as well."""
    return int(sum(counts[what] for (index, *_), counts in totals.items() if index is None))


RECENT_S = 5
ALL = 0.995
MOSTLY = 0.5


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and what it is about: a constraint, `good`, `invalid`, or `idle`."""

    text: str
    about: str


def throttling(recent: Counter[Refuser], seconds: int, hot: HotKey | None) -> Sentence:
    total = recent.total()
    refused, number = recent.most_common(1)[0]
    per_s = total / seconds
    rate = f"{per_s:,.0f}" if per_s >= 1 else f"{per_s:.1f}"
    share = number / total
    part = "all" if share >= ALL else f"{percent(share)}"
    return Sentence(f"Throttling: {rate}/s, {part} {_by(refused, hot)}.", refused.constraint)


def _by(refused: Refuser, hot: HotKey | None) -> str:
    where = "" if refused.index is None else f" of index {refused.index}"
    if refused.constraint == "partition":
        key, share = hot or ("", 0.0)
        if share >= ALL:
            return f"from the partition of key {key}{where}"
        if share >= MOSTLY:
            return f"by a partition limit{where}, {percent(share)} of them on key {key}"
        return f"by a partition limit{where}, on many keys"
    return f"by {LIMITS[refused.constraint]} of {whose(label_of(refused.index))}"


def quiet(total: int, ago_s: int | None, used: tuple[float, float, str] | None) -> Sentence:
    """Nothing is being throttled now. `used`: units/s consumed, units/s provisioned, and their name."""
    if used is not None and used[1]:
        consumed, limit, unit = used
        beside = f": {consumed:,.0f} of {limit:,.0f} {unit}/s are used"
    else:
        beside = ""
    if not total:
        return Sentence(f"No throttling{beside}.", "good")
    when = "earlier" if ago_s is None else f"the last {ago_s:,} s ago"
    return Sentence(f"Not throttling now{beside}. {total:,} throttles so far, {when}.", "good")


UNLIMITED = Sentence("This endpoint has no capacity model: nothing is ever throttled there.", "invalid")


def ended(total: Counter[Refuser], elapsed_s: float, hot: HotKey | None) -> Sentence:
    after = f"Ended after {elapsed_s:,.0f} s"
    if not total:
        return Sentence(f"{after}: nothing was throttled.", "good")
    refused, number = total.most_common(1)[0]
    share = number / total.total()
    part = "all" if share >= ALL else f"{percent(share)}"
    throttles = f"{total.total():,} throttle{'s' if total.total() != 1 else ''}"
    return Sentence(f"{after}: {throttles}, {part} {_by(refused, hot)}.", refused.constraint)


TOP_KEYS = 10


def rates(record: Record, end: int) -> dict[str, float]:
    recent = [record.seconds.in_second(second) for second in range(end - RECENT_S, end)]
    names = {"attempts": ATTEMPTS, "accepted": ACCEPTED, "throttled": THROTTLED, "errors": ERRORS}
    return {name: sum(counts[place] for counts in recent) / RECENT_S for name, place in names.items()}


def hottest_throttled(record: Record, refused: Refuser, *, since_s: float | None) -> HotKey | None:
    """The key that was throttled most: in the newest window that ended after `since_s`, or in the whole run.

    Of an index whose own keys are counted, it is the index's.
    """
    named = heat_of(refused.direction, refused.index) if refused.index else refused.direction
    heat = record.heat.get(named) or record.heat.get(refused.direction)
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
    name = max(throttles, key=lambda key: throttles[key], default=None)
    return None if name is None or not throttles[name] else (name, throttles[name] / total)


def hot_keys(record: Record) -> dict[str, list[dict[str, Any]]]:
    """The hottest keys of the run so far, once by what they consumed and once by throttles."""
    found: dict[str, list[dict[str, Any]]] = {"by_units": [], "by_throttles": []}
    for direction in Direction:
        heat = record.heat[direction]
        total = heat.sketch.total_units
        for name, top in (
            ("by_units", heat.sketch.top_consumed),
            ("by_throttles", heat.sketch.top_throttled),
        ):
            found[name] += [
                {
                    "key": key.name,
                    "direction": direction,
                    "unit": direction.unit,
                    "asked_units": key.units,
                    "consumed_units": key.consumed,
                    "share": min(1.0, key.units / total) if total else 0.0,
                    "throttles": key.throttles,
                }
                for key in top(TOP_KEYS)
            ]
    found["by_units"] = sorted(found["by_units"], key=lambda key: -key["consumed_units"])[:TOP_KEYS]
    found["by_throttles"] = sorted(found["by_throttles"], key=lambda key: -key["throttles"])[:TOP_KEYS]
    return found


def beside(record: Record, table: str) -> dict[str, Any]:
    """What became of requests to a table that is not judged."""
    names = ("accepted", "throttled", "error", "read_units", "write_units")
    return {"table": table, **{name: record.counted.get(f"tables.{table}.{name}", 0) for name in names}}
