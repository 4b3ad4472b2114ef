"""What the live page shows of a run: plain values, made anew each second from what was recorded so far."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from keyheat.load.live.readings import (
    RECENT_S,
    SHOWN_S,
    UNLIMITED,
    HotKey,
    Refuser,
    RunTotals,
    Sentence,
    ThrottleTally,
    Totals,
    beside,
    ended,
    hot_keys,
    hottest_throttled,
    of_requests,
    quiet,
    rates,
    series,
    throttling,
)
from keyheat.load.record.record import Record
from keyheat.load.record.rows import ERRORS
from keyheat.runs.manifest import GeneratorHealth
from keyheat.words import WRITES_FIRST, KnownConstraint, Resource

LIMITS = frozenset(get_args(KnownConstraint))
WINDOWS_AGO_S = 15  # a window of keys lasts five seconds, and comes from workers some seconds later


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What does not change while a run goes on."""

    run_id: str
    scenario: str
    question: str
    table: Mapping[str, Any]  # what run.json says of it
    beside: tuple[str, ...]  # tables that are not judged
    target: str
    scale: float
    started_s: float
    duration_s: float | None
    users: int
    target_unit: str = "requests"
    capacity_model: bool = True  # whether the endpoint ever throttles


@dataclass(slots=True)
class LiveView:
    """A run as the page sees it. Each look costs the same, however long the run has been going."""

    subject: Subject
    tally: ThrottleTally = field(default_factory=ThrottleTally)
    totals: RunTotals = field(default_factory=RunTotals)

    def look(self, record: Record) -> None:
        """Read on; call it every second or so, so that no look has much to read."""
        self.tally.read_on(record.throttles)

    def counts(self, record: Record, end: int) -> Totals:
        """Return what came of all that was sent until `end`, an epoch second."""
        return self.totals.until(record.seconds, int(self.subject.started_s), end)

    def content(
        self,
        record: Record,
        verdict: GeneratorHealth | None,
        processes: Sequence[Mapping[str, Any]],
        *,
        missing: Sequence[str],
        state: str,
        end: int,
    ) -> dict[str, Any]:
        """Everything that the page shows, up to the epoch second `end`, which is not over yet."""
        self.look(record)
        recent = self.tally.between(end - RECENT_S, end)
        capacity = self._capacity(record, end)
        errors = of_requests(self.counts(record, end), ERRORS)
        return {
            "state": state,
            "run": {
                **asdict(self.subject),
                "table": self.subject.table["name"],
                "billing_mode": self.subject.table["billing_mode"],
                "elapsed_s": max(0.0, end - self.subject.started_s),
            },
            "sentence": asdict(with_fault(self._sentence(record, recent, capacity, state, end), verdict)),
            "end_s": end,
            "seconds": SHOWN_S,
            "now": rates(record, end),
            "errors": {"total": errors, "by_kind": dict(record.errors_by_kind.most_common(5))},
            "capacity": capacity,
            "throttles": self._throttles(recent, end),
            "keys": hot_keys(record),
            "generator": {
                "bound": bool(verdict and verdict.bound),
                "checks": list(verdict.checks) if verdict else [],
                "missing": list(missing),
                "lag_p99_ms": record.health.lag.percentile_us(99) / 1000,
                "late_p99_ms": record.health.late.percentile_us(99) / 1000,
                "missed": record.health.missed,
                "late": record.counted.get("arrivals.late", 0),
                "dropped": record.counted.get("arrivals.dropped", 0),
                "processes": processes,
            },
            "beside": [beside(record, name) for name in self.subject.beside],
        }

    def _capacity(self, record: Record, end: int) -> list[dict[str, Any]]:
        used = series(record.seconds, end - SHOWN_S, end)
        indexes = [index["name"] for index in self.subject.table["indexes"]]
        order = [Resource(index, side) for index in (None, *indexes) for side in WRITES_FIRST]
        return [
            {
                "index": resource.index, "direction": resource.direction, "unit": resource.direction.unit,
                **self.limit(resource), "consumed": used[resource][0], "throttled": used[resource][1],
            }
            for resource in (*order, *sorted(used.keys() - order, key=str))
            if resource in used
        ]  # fmt: skip

    def limit(self, resource: Resource) -> dict[str, Any]:
        """What the resource may consume in a second, at the run's scale; None if nothing limits it."""
        table = self.subject.table
        parts = {None: table, **{index["name"]: index for index in table["indexes"]}}
        facts = parts.get(resource.index, {})
        for name, words in (("provisioned", "provisioned"), ("max_on_demand", "on-demand maximum")):
            if units := (facts.get(name) or {}).get(resource.direction):
                return {"limit": units * self.subject.scale, "limit_is": words}
        return {"limit": None, "limit_is": None}

    def _sentence(
        self,
        record: Record,
        recent: Counter[Refuser],
        capacity: Sequence[Mapping[str, Any]],
        state: str,
        end: int,
    ) -> Sentence:
        total = self.tally.total
        if not self.subject.capacity_model and not total:
            return UNLIMITED
        if state == "ended":
            hot = self._hottest(record, total, since_s=None)
            return ended(total, end - self.subject.started_s, hot)
        if recent.total():
            hot = self._hottest(record, recent, since_s=end - WINDOWS_AGO_S)
            return throttling(recent, RECENT_S, hot)
        if not sum(rates(record, end).values()):
            return Sentence("Nothing has been sent in the last seconds.", "idle")
        used = [
            (sum(row["consumed"][-RECENT_S:]) / RECENT_S, row["limit"], row["unit"])
            for row in capacity
            if row["index"] is None and row["limit"]
        ]
        last = max((second for second in self.tally.by_second if second < end), default=None)
        busiest = max(used, key=lambda row: row[0] / row[1], default=None)
        return quiet(total.total(), None if last is None else end - last, busiest)

    @staticmethod
    def _hottest(record: Record, throttles: Counter[Refuser], *, since_s: float | None) -> HotKey | None:
        if not throttles:
            return None
        return hottest_throttled(record, throttles.most_common(1)[0][0], since_s=since_s)

    def _throttles(self, recent: Counter[Refuser], end: int) -> dict[str, Any]:
        total, drawn = self.tally.total, dict[str, list[int]]()
        for offset, second in enumerate(range(end - SHOWN_S, end)):
            for refuser, number in self.tally.by_second.get(second, Counter()).items():
                drawn.setdefault(refuser.constraint, [0] * SHOWN_S)[offset] += number
        rows = [
            {
                "constraint": refuser.constraint,
                **asdict(refuser),
                "total": number,
                "per_s": recent[refuser] / RECENT_S,
            }
            for refuser, number in total.most_common()
        ]
        per_s = recent.total() / RECENT_S
        return {"total": total.total(), "per_s": per_s, "rows": rows, "by_constraint": drawn}


def with_fault(sentence: Sentence, verdict: GeneratorHealth | None) -> Sentence:
    """The sentence, after the generator's own fault if it has one."""
    if verdict is None or not verdict.bound:
        return sentence
    if verdict.fell_behind and sentence.about in LIMITS:
        fault = "The load generator is the limit: the load asked for throttles at least this much."
        return Sentence(f"{fault} {sentence.text}", sentence.about)
    fault = "The load generator is the limit, and what follows says little of the table."
    return Sentence(f"{fault} {sentence.text}", "invalid")
