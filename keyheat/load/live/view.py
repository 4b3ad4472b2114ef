"""What the live page shows of a run: plain values made anew each second, with one sentence first."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any, NamedTuple, get_args

from keyheat.load.live.readings import (
    RECENT_S,
    HotKey,
    Refuser,
    RunTotals,
    ThrottleTally,
    Totals,
    consumed_in,
    consumption,
    hottest_throttled,
    of_requests,
    rates,
    shown_keys,
)
from keyheat.load.record.record import Record
from keyheat.load.record.rows import ERRORS
from keyheat.numbers import percent, some
from keyheat.runs.manifest import GeneratorHealth
from keyheat.words import LIMITS, WRITES_FIRST, KnownConstraint, Resource, has_capacity_model, label_of, whose

KNOWN_LIMITS = frozenset(get_args(KnownConstraint))
WINDOWS_AGO_S = 15  # a window of keys lasts five seconds, and workers send it some seconds later
ALL, MOSTLY = 0.995, 0.5


class Sentence(NamedTuple):
    """A sentence, and what it is about: a constraint, `good`, `invalid`, or `idle`."""

    text: str
    about: str


@dataclass(slots=True)
class LiveView:
    """A run as the page and Prometheus show it. Each look costs the same, however long the run lasts."""

    manifest: Mapping[str, Any]  # what `run.json` says as the load begins
    started_s: float
    duration_s: float | None = None  # None: until stopped
    target_unit: str = "requests"
    tally: ThrottleTally = field(default_factory=ThrottleTally)
    totals: RunTotals = field(default_factory=RunTotals)

    def look(self, record: Record) -> None:
        """Read the record's new throttles; call it every second or so, so that no look has much to read."""
        self.tally.read_on(record.throttles)

    def counts(self, record: Record, end: int) -> Totals:
        """Add up what was sent until `end`, an epoch second."""
        return self.totals.until(record.seconds, int(self.started_s), end)

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
        recent, capacity = self.tally.recent(end), self._capacity(record, end)
        sentence = with_fault(self._sentence(record, recent, capacity, state, end), verdict)
        run = self.manifest
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
            "sentence": sentence._asdict(),
            "now": rates(record, end),
            "errors": {
                "total": of_requests(self.counts(record, end), ERRORS),
                "by_kind": dict(record.errors_by_kind.most_common(5)),
            },
            "capacity": capacity,
            "throttles": self._throttles(recent),
            "keys": {
                "by_units": shown_keys(record, "top_consumed", "consumed"),
                "by_throttles": shown_keys(record, "top_throttled", "throttles"),
            },
            "generator": {
                "bound": bool(verdict and verdict.bound),
                "checks": list(verdict.checks) if verdict else [],
                "missing": list(missing),
                "processes": processes,
            },
        }

    def _capacity(self, record: Record, end: int) -> list[dict[str, Any]]:
        """The table and its indexes as far as they were used: units per second, and of how many."""
        now, totals = consumption(record.seconds, end), consumed_in(self.counts(record, end))
        return [
            {
                "index": resource.index, "direction": resource.direction, "unit": resource.direction.unit,
                "limit": limit, "limit_is": limit_is, "consumed_per_s": now.get(resource, 0.0),
                "consumed": totals[resource.index, resource.direction],
            }
            for resource, limit, limit_is in self.limits()
            if (resource.index, resource.direction) in totals
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

    def _throttles(self, recent: Counter[Refuser]) -> dict[str, Any]:
        total = self.tally.total
        rows = [
            {"constraint": refuser.constraint, **asdict(refuser), "total": number,
             "per_s": recent[refuser] / RECENT_S}
            for refuser, number in total.most_common()
        ]  # fmt: skip
        return {"total": total.total(), "per_s": recent.total() / RECENT_S, "rows": rows}

    def _sentence(
        self,
        record: Record,
        recent: Counter[Refuser],
        capacity: Sequence[Mapping[str, Any]],
        state: str,
        end: int,
    ) -> Sentence:
        total = self.tally.total
        if not has_capacity_model(self.manifest.get("endpoint")) and not total:
            return Sentence(
                "This endpoint has no capacity model: nothing is ever throttled there.", "invalid"
            )
        if state == "ended":
            return _ended(record, total, end - self.started_s)
        if recent:
            per_s = recent.total() / RECENT_S
            start = f"Throttling: {per_s:,.0f}/s" if per_s >= 1 else f"Throttling: {per_s:.1f}/s"
            return _mostly(start, recent, record, since_s=end - WINDOWS_AGO_S)
        if not sum(rates(record, end).values()):
            return Sentence("Nothing has been sent in the last seconds.", "idle")
        return self._quiet(total.total(), capacity, end)

    def _quiet(self, total: int, capacity: Sequence[Mapping[str, Any]], end: int) -> Sentence:
        """Nothing is being throttled now."""
        limited = [row for row in capacity if row["index"] is None and row["limit"]]
        busiest = max(limited, key=lambda row: row["consumed_per_s"] / row["limit"], default=None)
        used = busiest and "{consumed_per_s:,.0f} of {limit:,.0f} {unit}/s are used".format_map(busiest)
        used = f": {used}" if used else ""
        if not total:
            return Sentence(f"No throttling{used}.", "good")
        ago_s = end - (self.tally.last or end)
        so_far = f"{some(total, 'throttle')} so far, the last {ago_s:,} s ago."
        return Sentence(f"Not throttling now{used}. {so_far}", "good")


def _ended(record: Record, total: Counter[Refuser], elapsed_s: float) -> Sentence:
    after = f"Ended after {elapsed_s:,.0f} s"
    if not total:
        return Sentence(f"{after}: nothing was throttled.", "good")
    return _mostly(f"{after}: {some(total.total(), 'throttle')}", total, record, since_s=None)


def _mostly(start: str, throttles: Counter[Refuser], record: Record, *, since_s: float | None) -> Sentence:
    """A sentence on throttles that ends with what refused most of them."""
    refuser, number = throttles.most_common(1)[0]
    share = number / throttles.total()
    amount = "all" if share >= ALL else percent(share)
    hot = hottest_throttled(record, refuser, since_s=since_s)
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


def with_fault(sentence: Sentence, verdict: GeneratorHealth | None) -> Sentence:
    """The sentence, after the generator's own fault if it has one."""
    if verdict is None or not verdict.bound:
        return sentence
    if verdict.fell_behind and sentence.about in KNOWN_LIMITS:
        fault = "The load generator is the limit: the load asked for throttles at least this much."
        return Sentence(f"{fault} {sentence.text}", sentence.about)
    fault = "The load generator is the limit, and what follows says little of the table."
    return Sentence(f"{fault} {sentence.text}", "invalid")
