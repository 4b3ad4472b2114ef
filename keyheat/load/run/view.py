"""A run while it goes on: one plain value made each second, for the live page and for Prometheus."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any, NamedTuple, get_args

from keyheat.load.record.record import Record, heat_of
from keyheat.load.record.rows import ATTEMPTS, Totals, consumed_in, of_requests
from keyheat.load.record.sketch import SETTLED_S, Count
from keyheat.model.resources import parse_reason
from keyheat.numbers import percent, some
from keyheat.runs.manifest import GeneratorHealth
from keyheat.words import (
    LIMITS,
    WRITES_FIRST,
    Constraint,
    Direction,
    KnownConstraint,
    Resource,
    has_capacity_model,
    label_of,
    whose,
)

RECENT_S = 5
TOP_KEYS = 10
KNOWN_LIMITS = frozenset(get_args(KnownConstraint))
WINDOWS_AGO_S = 15  # a window of keys lasts five seconds, and workers send it some seconds later
ALL, MOSTLY = 0.995, 0.5


class Sentence(NamedTuple):
    """A sentence, and what it is about: a constraint, `good`, `invalid`, or `idle`."""

    text: str
    about: str


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
class LiveView:
    """A run as the page and Prometheus show it. Each look costs the same, however long the run lasts."""

    record: Record
    manifest: Mapping[str, Any]  # what `run.json` says as the load begins
    started_s: float
    duration_s: float | None = None  # None: until stopped
    target_unit: str = "requests"
    throttles: Counter[tuple[str, Refuser]] = field(default_factory=Counter)  # of the run, by operation
    recently: dict[int, Counter[Refuser]] = field(default_factory=dict)  # throttles of the last minute
    last_throttle: int | None = None  # its second
    _rows_read: int = 0
    _settled: Totals = field(default_factory=dict)
    _unsettled: int = 0  # the first second that may still change

    def read_on(self) -> None:
        """Count the throttles recorded since the last call; forget seconds that are no longer read."""
        rows = self.record.throttles
        seconds = [at_us // 1_000_000 for at_us in rows.columns["at"][self._rows_read :]]
        names = [
            rows.columns[name][self._rows_read :] for name in ("operation", "index", "direction", "reason")
        ]
        self._rows_read = len(rows)
        for (second, *numbers), count in Counter(zip(seconds, *names, strict=True)).items():
            operation, index, direction, reason = (rows.words[number] for number in numbers)
            refuser = Refuser(index, direction or "", reason)
            self.throttles[operation or "", refuser] += count
            self.recently.setdefault(second, Counter())[refuser] += count
        self.last_throttle = max(self.recently, default=self.last_throttle)
        for second in [second for second in self.recently if second <= (self.last_throttle or 0) - SETTLED_S]:
            del self.recently[second]

    def totals(self) -> Totals:
        """Return the counts of the run so far; only seconds that may still change are added up again."""
        seconds, end = self.record.seconds, self.record.seconds.last() + 1
        first = max(self._unsettled, int(self.started_s))
        self._unsettled = max(first, end - SETTLED_S)
        seconds.totals(range(first, self._unsettled), into=self._settled)
        return seconds.totals(range(self._unsettled, end), into=dict(self._settled))

    def content(
        self,
        verdict: GeneratorHealth | None,
        processes: Sequence[Mapping[str, Any]],
        *,
        missing: Sequence[str],
        state: str,
        end: int,
    ) -> dict[str, Any]:
        self.read_on()
        run, totals = self.manifest, self.totals()
        window = range(end - RECENT_S, end)
        recent = self.record.seconds.totals(window)
        throttles = sum((self.recently.get(second, Counter()) for second in window), Counter[Refuser]())
        capacity = self._capacity(consumed_in(recent), consumed_in(totals))
        total = Counter[Refuser]()
        for (_operation, refuser), number in self.throttles.items():
            total[refuser] += number
        sentence = self._sentence(
            throttles, total, capacity, state, end, idle=not of_requests(recent)[ATTEMPTS]
        )
        return {
            "state": state,
            "run": {
                **{name: run[name] for name in ("run_id", "target", "scale")},
                **{name: run["scenario"][name] for name in ("name", "question")},
                "table": run["table"]["name"],
                "billing_mode": run["table"]["billing_mode"],
                "duration_s": self.duration_s,
                "elapsed_s": max(0.0, end - self.started_s),
            },
            "sentence": with_fault(sentence, verdict)._asdict(),
            "capacity": capacity,
            "throttles": {
                "total": total.total(),
                "per_s": throttles.total() / RECENT_S,
                "rows": [
                    {
                        "constraint": refuser.constraint,
                        **asdict(refuser),
                        "total": number,
                        "per_s": throttles[refuser] / RECENT_S,
                    }
                    for refuser, number in total.most_common()
                ],
            },
            "keys": {
                "by_units": self._hottest("consumed", "consumed_units"),
                "by_throttles": self._hottest("throttles", "throttles"),
            },
            "generator": {
                "bound": bool(verdict and verdict.bound),
                "checks": list(verdict.checks) if verdict else [],
                "missing": list(missing),
                "processes": processes,
            },
        }

    def _capacity(self, now: dict[Resource, float], consumed: dict[Resource, float]) -> list[dict[str, Any]]:
        """The table and its indexes as far as they were used: units per second, and of how many."""
        return [
            {
                "index": resource.index, "direction": resource.direction, "unit": resource.direction.unit,
                "limit": limit, "limit_is": limit_is, "consumed_per_s": now.get(resource, 0.0) / RECENT_S,
                "consumed": consumed[resource],
            }
            for resource, limit, limit_is in self.limits()
            if resource in consumed
        ]  # fmt: skip

    def limits(self) -> Iterator[tuple[Resource, float | None, str | None]]:
        """Units per second of each resource at the run's scale, and what sets them; None: no limit."""
        table = self.manifest["table"]
        for facts, side in product((table, *table["indexes"]), WRITES_FIRST):
            resource = Resource(None if facts is table else facts["name"], side)
            for name, words in (("provisioned", "provisioned"), ("max_on_demand", "on-demand maximum")):
                if units := (facts.get(name) or {}).get(side):
                    yield resource, units * self.manifest["scale"], words
                    break
            else:
                yield resource, None, None

    def _hottest(self, most: Count, by: str) -> list[dict[str, Any]]:
        """The hottest keys of table and indexes, by what they have most of."""
        rows: list[dict[str, Any]] = []
        for name, heat in self.record.heat.items():
            side, _, index = name.partition(":")
            all_units = heat.sketch.units.total
            for key, (asked, throttles, consumed) in heat.sketch.top(TOP_KEYS, by=most):
                rows.append(
                    {
                        "key": key, "index": index or None,
                        "direction": side, "unit": Direction(side).unit,
                        "asked_units": asked, "consumed_units": consumed, "throttles": int(throttles),
                        "share": min(1.0, asked / all_units) if all_units else 0.0,
                    }
                )  # fmt: skip
        return sorted(rows, key=lambda row: -row[by])[:TOP_KEYS]

    def _sentence(
        self,
        recent: Counter[Refuser],
        total: Counter[Refuser],
        capacity: Sequence[Mapping[str, Any]],
        state: str,
        end: int,
        *,
        idle: bool,
    ) -> Sentence:
        if not has_capacity_model(self.manifest.get("endpoint")) and not total:
            words = "This endpoint has no capacity model: nothing is ever throttled there."
            return Sentence(words, "invalid")
        if state == "ended":
            after = f"Ended after {end - self.started_s:,.0f} s"
            if not total:
                return Sentence(f"{after}: nothing was throttled.", "good")
            return self._mostly(f"{after}: {some(total.total(), 'throttle')}", total, since_s=None)
        if recent:
            per_s = recent.total() / RECENT_S
            start = f"Throttling: {per_s:,.0f}/s" if per_s >= 1 else f"Throttling: {per_s:.1f}/s"
            return self._mostly(start, recent, since_s=end - WINDOWS_AGO_S)
        if idle:
            return Sentence("Nothing has been sent in the last seconds.", "idle")
        limited = [row for row in capacity if row["index"] is None and row["limit"]]
        busiest = max(limited, key=lambda row: row["consumed_per_s"] / row["limit"], default=None)
        used = busiest and ": {consumed_per_s:,.0f} of {limit:,.0f} {unit}/s are used".format_map(busiest)
        if not total:
            return Sentence(f"No throttling{used or ''}.", "good")
        so_far = (
            f"{some(total.total(), 'throttle')} so far, the last {end - (self.last_throttle or end):,} s ago"
        )
        return Sentence(f"Not throttling now{used or ''}. {so_far}.", "good")

    def _mostly(self, start: str, throttles: Counter[Refuser], *, since_s: float | None) -> Sentence:
        """A sentence on throttles that ends with what refused most of them."""
        refuser, number = throttles.most_common(1)[0]
        share = number / throttles.total()
        amount = "all" if share >= ALL else percent(share)
        where = "" if refuser.index is None else f" of index {refuser.index}"
        key, key_share = self._hottest_throttled(refuser, since_s)
        if refuser.constraint != "partition":
            by = f"by {LIMITS[refuser.constraint]} of {whose(label_of(refuser.index))}"
        elif key_share >= ALL:
            by = f"from the partition of key {key}{where}"
        else:
            keys = f"{percent(key_share)} of them on key {key}" if key_share >= MOSTLY else "on many keys"
            by = f"by a partition limit{where}, {keys}"
        return Sentence(f"{start}, {amount} {by}.", refuser.constraint)

    def _hottest_throttled(self, refuser: Refuser, since_s: float | None) -> tuple[str, float]:
        """The key throttled most, and its share, in the newest window that ended after `since_s`.

        None: in the whole run. It is the index's own key where those are counted.
        """
        heats, side = self.record.heat, refuser.direction
        heat = heats.get(heat_of(side, refuser.index) if refuser.index else side) or heats.get(side)
        if heat is None:
            return "", 0.0
        top, total = heat.sketch.top(1, by="throttles"), heat.sketch.throttles.total
        if since_s is not None:
            newest = max(heat.windows, default=0)
            window = heat.windows[newest] if newest + heat.window_s > since_s else {}
            total = sum(counts[1] for counts in window.values())
            top = [max(window.items(), key=lambda item: item[1][1])] if window else []
        return (top[0][0], top[0][1][1] / total) if top and total else ("", 0.0)


def with_fault(sentence: Sentence, verdict: GeneratorHealth | None) -> Sentence:
    """The sentence, after the generator's own fault if it has one."""
    if verdict is None or not verdict.bound:
        return sentence
    if verdict.fell_behind and sentence.about in KNOWN_LIMITS:
        fault = "The load generator is the limit: the load asked for throttles at least this much."
        return Sentence(f"{fault} {sentence.text}", sentence.about)
    fault = "The load generator is the limit, and what follows says little of the table."
    return Sentence(f"{fault} {sentence.text}", "invalid")
