"""The last minutes of a run for the live page: series, rates, hot keys, and one sentence on what goes on."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import add
from typing import Any

from keyheat.load.record.record import Record, heat_of
from keyheat.load.record.rows import ACCEPTED, ATTEMPTS, CONSUMED, ERRORS, THROTTLED, Seconds, ThrottleRows
from keyheat.load.record.sketch import SETTLED_S
from keyheat.model.resources import parse_reason
from keyheat.numbers import percent, some
from keyheat.words import LIMITS, Constraint, Direction, Resource, label_of, whose

SHOWN_S = 300
RECENT_S = 5
TOP_KEYS = 10
ALL, MOSTLY = 0.995, 0.5


@dataclass(frozen=True, slots=True)
class Refuser:
    """What refused a request: an index, or the table (None), and the reason DynamoDB gave, if it gave one."""

    index: str | None
    direction: str
    reason: str | None

    @property
    def constraint(self) -> Constraint:
        parsed = parse_reason(self.reason or "")
        return parsed[2].constraint if parsed else "undetermined"


@dataclass(slots=True)
class ThrottleTally:
    """Throttles by what refused them: over the run, and in each of the last seconds."""

    by_operation: Counter[tuple[str, Refuser]] = field(default_factory=Counter)  # over the run
    by_second: dict[int, Counter[Refuser]] = field(default_factory=dict)
    _read: int = 0

    @property
    def total(self) -> Counter[Refuser]:
        total: Counter[Refuser] = Counter()
        for (_operation, refuser), number in self.by_operation.items():
            total[refuser] += number
        return total

    def read_on(self, rows: ThrottleRows) -> None:
        """Count the rows that were added since the last call; forget seconds that are no longer shown."""
        seconds = [at_us // 1_000_000 for at_us in rows.columns["at"][self._read :]]
        names = [rows.columns[name][self._read :] for name in ("operation", "index", "direction", "reason")]
        self._read = len(rows)
        for (second, *numbers), count in Counter(zip(seconds, *names, strict=True)).items():
            operation, index, direction, reason = (rows.words[number] for number in numbers)
            refuser = Refuser(index, direction or "", reason)
            self.by_operation[operation or "", refuser] += count
            self.by_second.setdefault(second, Counter())[refuser] += count
        newest = max(self.by_second, default=0)
        for second in [second for second in self.by_second if second <= newest - SHOWN_S - 60]:
            del self.by_second[second]

    def between(self, start: int, end: int) -> Counter[Refuser]:
        """Throttles of the requests sent from `start` up to `end`."""
        return sum((self.by_second.get(second, Counter()) for second in range(start, end)), Counter())


Series = tuple[list[float], list[int]]
"""Units consumed, and throttles, in each of the seconds shown."""


def series(seconds: Seconds, start: int, end: int) -> dict[Resource, Series]:
    """Return what every resource that was used did, second by second from `start` up to `end`."""
    resources: dict[Resource, Series] = {}
    for offset, second in enumerate(range(start, end)):
        for row, counts in seconds.of_second(second):
            resource = Resource(row.resource, Direction(row.direction))
            consumed, throttled = resources.setdefault(resource, ([0.0] * (end - start), [0] * (end - start)))
            consumed[offset] += counts[CONSUMED]
            throttled[offset] += int(counts[THROTTLED])
    return resources


Asked = tuple[str | None, str, str | None]
"""An index (None: the table), a direction, and the operation, which an index has not."""
Totals = dict[Asked, list[float]]


@dataclass(slots=True)
class RunTotals:
    """The counts of a whole run by what was asked, added up from the seconds that may still change."""

    _settled: Totals = field(default_factory=dict)
    _open: deque[int] = field(default_factory=deque)
    _next: int = 0

    def until(self, seconds: Seconds, start: int, end: int) -> Totals:
        """Return what came of the run's seconds from `start` up to `end`."""
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


def of_requests(totals: Mapping[Asked, list[float]], what: int) -> int:
    """One count of all requests; those that an index answered are the table's as well."""
    return int(sum(counts[what] for (index, *_), counts in totals.items() if index is None))


HotKey = tuple[str, float]
"""A key, and its share of the throttles."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and what it is about: a constraint, `good`, `invalid`, or `idle`."""

    text: str
    about: str


UNLIMITED = Sentence("This endpoint has no capacity model: nothing is ever throttled there.", "invalid")


def throttling(recent: Counter[Refuser], seconds: int, hot: HotKey | None) -> Sentence:
    per_s = recent.total() / seconds
    return _mostly(f"Throttling: {per_s:,.0f}/s" if per_s >= 1 else f"Throttling: {per_s:.1f}/s", recent, hot)


def ended(total: Counter[Refuser], elapsed_s: float, hot: HotKey | None) -> Sentence:
    after = f"Ended after {elapsed_s:,.0f} s"
    if not total:
        return Sentence(f"{after}: nothing was throttled.", "good")
    return _mostly(f"{after}: {some(total.total(), 'throttle')}", total, hot)


def _mostly(start: str, throttles: Counter[Refuser], hot: HotKey | None) -> Sentence:
    """A sentence on throttles that ends with what refused most of them."""
    refuser, number = throttles.most_common(1)[0]
    share = number / throttles.total()
    amount = "all" if share >= ALL else percent(share)
    return Sentence(f"{start}, {amount} {_by(refuser, hot)}.", refuser.constraint)


def _by(refuser: Refuser, hot: HotKey | None) -> str:
    where = "" if refuser.index is None else f" of index {refuser.index}"
    if refuser.constraint != "partition":
        return f"by {LIMITS[refuser.constraint]} of {whose(label_of(refuser.index))}"
    key, share = hot or ("", 0.0)
    if share >= ALL:
        return f"from the partition of key {key}{where}"
    keys = f"{percent(share)} of them on key {key}" if share >= MOSTLY else "on many keys"
    return f"by a partition limit{where}, {keys}"


def quiet(total: int, ago_s: int | None, used: tuple[float, float, str] | None) -> Sentence:
    """Nothing is being throttled now. `used`: units/s consumed, units/s provisioned, and their name."""
    beside = ""
    if used is not None and used[1]:
        consumed, limit, unit = used
        beside = f": {consumed:,.0f} of {limit:,.0f} {unit}/s are used"
    if not total:
        return Sentence(f"No throttling{beside}.", "good")
    when = "earlier" if ago_s is None else f"the last {ago_s:,} s ago"
    return Sentence(f"Not throttling now{beside}. {total:,} throttles so far, {when}.", "good")


def rates(record: Record, end: int) -> dict[str, float]:
    recent = [record.seconds.in_second(second) for second in range(end - RECENT_S, end)]
    names = {"attempts": ATTEMPTS, "accepted": ACCEPTED, "throttled": THROTTLED, "errors": ERRORS}
    return {name: sum(counts[what] for counts in recent) / RECENT_S for name, what in names.items()}


def hottest_throttled(record: Record, refuser: Refuser, *, since_s: float | None) -> HotKey | None:
    """The key that was throttled most: in the newest window that ended after `since_s`, or in the whole run.

    Of an index whose own keys are counted, it is the index's.
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


def hot_keys(record: Record) -> dict[str, list[dict[str, Any]]]:
    """The hottest keys of the run so far, once by what they consumed and once by throttles."""
    return {
        "by_units": _top(record, "top_consumed", "consumed_units"),
        "by_throttles": _top(record, "top_throttled", "throttles"),
    }


def _top(record: Record, top: str, by: str) -> list[dict[str, Any]]:
    keys = [
        {
            "key": key.name, "direction": direction, "unit": direction.unit, "asked_units": key.units,
            "consumed_units": key.consumed, "throttles": key.throttles,
            "share": min(1.0, key.units / sketch.total_units) if sketch.total_units else 0.0,
        }
        for direction in Direction
        for sketch in (record.heat[direction].sketch,)
        for key in getattr(sketch, top)(TOP_KEYS)
    ]  # fmt: skip
    return sorted(keys, key=lambda key: -key[by])[:TOP_KEYS]


def beside(record: Record, table: str) -> dict[str, Any]:
    """Return what became of requests to a table that is not judged."""
    names = ("accepted", "throttled", "error", "read_units", "write_units")
    return {"table": table, **{name: record.counted.get(f"tables.{table}.{name}", 0) for name in names}}
