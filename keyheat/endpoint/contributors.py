"""Contributor Insights of a table and of its indexes: which keys are accessed and throttled most.

    PKC  accessed, by partition key      SKC  accessed, by partition and sort key
    PKT  throttled, by partition key     SKT  throttled, by partition and sort key

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html

Counts are exact up to `MOST_KEYS` keys of a minute, and too low beyond (`HeavyHitters`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from keyheat.endpoint.itemkeys import partition_end, sort_end
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


Kind = Literal["PKC", "SKC", "PKT", "SKT"]
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


def kinds(mode: Mode, keys: KeySchema) -> list[Kind]:
    """The rules of a mode: throttled keys alone, or accessed ones too; by item where there is a sort key."""
    return [
        kind
        for kind in get_args(Kind)
        if (mode == DEFAULT_MODE or kind.endswith("T")) and (keys.sort is not None or kind.startswith("P"))
    ]


IndexUse = tuple[str, bytes, float]
"""Name of a global index, stored key of the entry, write units."""


@dataclass(slots=True)
class KeyWatch:
    """The rules by which the keys of one table or index are counted; none where they are not."""

    keys: KeySchema
    updated_s: float
    mode: Mode = DEFAULT_MODE
    rules: dict[Kind, InsightRule] = field(default_factory=dict)

    def enable(self, resource: str, mode: Mode, now_s: float) -> None:
        """Turn on, or switch the mode: rules of both modes go on as they were."""
        if self.rules and mode == self.mode:
            return
        suffix = f"{resource}-{round(now_s * 1_000)}"  # as DynamoDB names its rules
        self.rules = {
            kind: self.rules.get(kind)
            or InsightRule(f"DynamoDBContributorInsights-{kind}-{suffix}", kind, self.keys)
            for kind in kinds(mode, self.keys)
        }
        self.mode, self.updated_s = mode, now_s

    def disable(self, now_s: float) -> None:
        if self.rules:
            self.rules, self.updated_s = {}, now_s

    def count(self, stored: bytes, value: float, now_s: float, *, throttled: bool) -> None:
        """Count a request for a key that was served, or throttled."""
        for rule in self.rules.values():
            if rule.throttled == throttled:
                rule.count(stored, value, now_s)


@dataclass(slots=True)
class Insights:
    """The watches of one table: None is the table itself, names are its global indexes."""

    watches: dict[str | None, KeyWatch] = field(default_factory=dict)

    @property
    def on(self) -> bool:
        return any(watch.rules for watch in self.watches.values())

    def wrote(self, stored: bytes, units: float, uses: Iterable[IndexUse], now_s: float) -> None:
        for index, key, key_units in ((None, stored, units), *uses):
            self.read(key, INSIGHT_WRITE_WEIGHT * key_units, now_s, index)

    def read(self, stored: bytes, units: float, now_s: float, index: str | None = None) -> None:
        if (watch := self.watches.get(index)) is not None:
            watch.count(stored, units, now_s, throttled=False)

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
            watch.count(stored, 1.0, now_s, throttled=True)
