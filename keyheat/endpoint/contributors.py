"""Contributor Insights of a table and of its indexes: which keys are accessed and throttled most.

    PKC  accessed, by partition key      SKC  accessed, by partition and sort key
    PKT  throttled, by partition key     SKT  throttled, by partition and sort key

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html

Counts are exact up to `MOST_KEYS` keys of a minute, and too low beyond (`HeavyHitters`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from keyheat.endpoint.itemkeys import key_texts, partition_end, sort_end
from keyheat.endpoint.schema import KeySchema
from keyheat.heavyhitters import HeavyHitters
from keyheat.model.limits import INSIGHT_WRITE_WEIGHT, MINUTE_S
from keyheat.model.resources import Refusal
from keyheat.words import Direction

MOST_KEYS = 2000
SHOWN = 100  # keys kept of a minute that is over: four times as many as a report shows


@dataclass(slots=True)
class KeyCounts(HeavyHitters[bytes]):
    """Values by key in one minute of one rule."""

    most: int = MOST_KEYS
    unique: int = 0  # different keys, once the minute is over

    @property
    def contributors(self) -> int:
        """The number of different keys: a lower bound where there were too many to hold."""
        return max(self.unique, len(self.weights), self.most + 1 if self.taken else 0)

    def close(self) -> None:
        """Keep the largest keys alone, now that the minute is over."""
        self.unique = self.contributors
        self.weights = {key: self.weights[key] for key in self.top(SHOWN)}


Kind = Literal["PKC", "PKT", "SKC", "SKT"]
Mode = Literal["ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"]
DEFAULT_MODE: Mode = "ACCESSED_AND_THROTTLED_KEYS"
MINUTES_KEPT = 360  # with 100 keys each some 5 MB for a rule: the endpoint's own bound, AWS keeps 15 days


@dataclass(slots=True)
class InsightRule:
    name: str
    kind: Kind
    keys: KeySchema
    minutes: dict[int, KeyCounts] = field(default_factory=dict)
    _minute: int = -1

    @property
    def throttled(self) -> bool:
        """Whether it counts throttled requests; else it adds up consumed units."""
        return self.kind.endswith("T")

    @property
    def labels(self) -> list[str]:
        sorts = self.keys.sorts if self.kind.startswith("S") else ()
        return [attribute.name for attribute in (*self.keys.partitions, *sorts)]

    def key_texts(self, key: bytes) -> list[str]:
        return key_texts(self.keys, key)

    def count(self, stored: bytes, value: float, now_s: float) -> None:
        """One request for the item under a stored key, or for its partition key alone."""
        end = partition_end(stored) if self.kind.startswith("P") else sort_end(self.keys, stored)
        if end is None:
            return
        minute = int(now_s // MINUTE_S) * MINUTE_S
        if minute != self._minute:
            self._begin(minute)
        self.minutes[minute].add(stored[:end], value)

    def _begin(self, minute: int) -> None:
        if self._minute in self.minutes:
            self.minutes[self._minute].close()
        self.minutes.setdefault(minute, KeyCounts())
        for old in [minute_s for minute_s in self.minutes if minute_s <= minute - MINUTES_KEPT * MINUTE_S]:
            del self.minutes[old]
        self._minute = minute


def kinds(mode: Mode, keys: KeySchema) -> Iterator[Kind]:
    """The rules of a mode: throttled keys alone, or accessed ones too; by item where there is a sort key."""
    if mode == DEFAULT_MODE:
        yield "PKC"
        if keys.sort is not None:
            yield "SKC"
    yield "PKT"
    if keys.sort is not None:
        yield "SKT"


def rule_name(kind: Kind, resource: str, now_s: float) -> str:
    """The name that DynamoDB gives a rule: with the resource and when it was made, in milliseconds."""
    return f"DynamoDBContributorInsights-{kind}-{resource}-{round(now_s * 1000)}"


IndexUse = tuple[str, bytes, float]
"""Name of a global index, stored key of the entry, write units."""


@dataclass(slots=True)
class KeyWatch:
    """One table or index: whether its keys are counted, since when, and by which rules.

    `settled_s`: when the change under way is done; while it is, nothing is counted.
    """

    keys: KeySchema
    updated_s: float
    on: bool = False
    mode: Mode = DEFAULT_MODE
    settled_s: float = 0.0
    rules: dict[Kind, InsightRule] = field(default_factory=dict)

    def status(self, now_s: float) -> str:
        if now_s < self.settled_s:
            return "ENABLING" if self.on else "DISABLING"
        return "ENABLED" if self.on else "DISABLED"

    def enable(self, resource: str, mode: Mode, now_s: float, takes_s: float) -> None:
        """Turn on, or switch the mode: rules of both modes go on as they were."""
        if self.on and mode == self.mode:
            return
        new_kinds = list(kinds(mode, self.keys))
        self.rules = {
            kind: self.rules.get(kind) or InsightRule(rule_name(kind, resource, now_s), kind, self.keys)
            for kind in new_kinds
        }
        self._change(on=True, mode=mode, now_s=now_s, takes_s=takes_s)

    def disable(self, now_s: float, takes_s: float) -> None:
        if self.on:
            self.rules = {}
            self._change(on=False, mode=self.mode, now_s=now_s, takes_s=takes_s)

    def _change(self, *, on: bool, mode: Mode, now_s: float, takes_s: float) -> None:
        self.on, self.mode, self.updated_s, self.settled_s = on, mode, now_s, now_s + takes_s

    def accessed(self, stored: bytes, value: float, now_s: float) -> None:
        self._count(("PKC", "SKC"), stored, value, now_s)

    def throttled(self, stored: bytes, now_s: float) -> None:
        self._count(("PKT", "SKT"), stored, 1.0, now_s)

    def _count(self, kinds: Iterable[Kind], stored: bytes, value: float, now_s: float) -> None:
        if now_s < self.settled_s:
            return
        for kind in kinds:
            rule = self.rules.get(kind)
            if rule is not None:
                rule.count(stored, value, now_s)


@dataclass(slots=True)
class Insights:
    """The watches of one table: None is the table itself, names are its global indexes."""

    watches: dict[str | None, KeyWatch] = field(default_factory=dict)

    @property
    def on(self) -> bool:
        return any(watch.on for watch in self.watches.values())

    def wrote(self, stored: bytes, units: float, uses: Iterable[IndexUse], now_s: float) -> None:
        if (table := self.watches.get(None)) is not None:
            table.accessed(stored, INSIGHT_WRITE_WEIGHT * units, now_s)
        for index, entry, index_units in uses:
            if (watch := self.watches.get(index)) is not None:
                watch.accessed(entry, INSIGHT_WRITE_WEIGHT * index_units, now_s)

    def read(self, stored: bytes, units: float, now_s: float, index: str | None = None) -> None:
        if (watch := self.watches.get(index)) is not None:
            watch.accessed(stored, units, now_s)

    def read_or_refused(self, stored: bytes, units: float, refusal: Refusal | None, now_s: float) -> None:
        if refusal is None:
            self.read(stored, units, now_s)
        else:
            self.refused(stored, refusal, now_s)

    def refused(self, stored: bytes, refusal: Refusal, now_s: float) -> None:
        """A request was throttled. Writes refused for an index's capacity are counted nowhere, as in AWS."""
        if refusal.index is not None and refusal.direction is Direction.WRITE:
            return
        if (watch := self.watches.get(refusal.index)) is not None:
            watch.throttled(stored, now_s)
