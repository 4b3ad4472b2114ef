"""What is counted of each key of a table: Contributor Insights, and the recording that tests ask for.

Contributor Insights says which partition keys of a table and of its indexes are accessed (PKC) and throttled
(PKT) most; there are no rules by item (SKC, SKT). Counts are exact up to `MOST_KEYS` keys of a minute, and
too low beyond (`HeavyHitters`).
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from keyheat.endpoint.itemkeys import partition_end
from keyheat.endpoint.schema import KeySchema
from keyheat.heavyhitters import HeavyHitters
from keyheat.model.limits import MINUTE_S
from keyheat.model.resources import Refusal
from keyheat.model.splits import collection_of
from keyheat.model.table import TableModel
from keyheat.model.transactions import IndexWrite, Op
from keyheat.words import Direction

MOST_KEYS = 2000
SHOWN = 100  # keys kept of a minute that is over: four times as many as a report shows
MINUTES_KEPT = 360  # with 100 keys each some 5 MB for a rule: the endpoint's own bound, AWS keeps 15 days
Kind = Literal["PKC", "PKT"]
Mode = Literal["ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"]
DEFAULT_MODE: Mode = "ACCESSED_AND_THROTTLED_KEYS"
KINDS: dict[Mode, tuple[Kind, ...]] = {DEFAULT_MODE: ("PKC", "PKT"), "THROTTLED_KEYS": ("PKT",)}


@dataclass(slots=True)
class KeyCounts:
    """Values by key in one minute of one rule."""

    values: HeavyHitters[bytes] = field(default_factory=lambda: HeavyHitters(most=MOST_KEYS))
    unique: int = 0  # different keys, once the minute is over

    @property
    def contributors(self) -> int:
        """The number of different keys: a lower bound where there were too many to hold."""
        return max(self.unique, len(self.values.weights), MOST_KEYS + 1 if self.values.taken else 0)

    def close(self) -> None:
        """Keep the largest keys alone, now that the minute is over."""
        self.unique = self.contributors
        self.values.weights = {key: self.values.weights[key] for key in self.values.top(SHOWN)}


@dataclass(slots=True)
class InsightRule:
    """`PKC` adds up consumed units, `PKT` counts throttled requests."""

    name: str
    kind: Kind
    keys: KeySchema
    minutes: dict[int, KeyCounts] = field(default_factory=dict)
    _minute: int = -1

    def count(self, stored: bytes, value: float, now_s: float) -> None:
        """One request for a stored key, or for what begins it."""
        minute = int(now_s // MINUTE_S) * MINUTE_S
        if minute != self._minute:
            self._begin(minute)
        self.minutes[minute].values.add(stored[: partition_end(stored)], value)

    def _begin(self, minute: int) -> None:
        if self._minute in self.minutes:
            self.minutes[self._minute].close()
        self.minutes.setdefault(minute, KeyCounts())
        for old in [minute_s for minute_s in self.minutes if minute_s <= minute - MINUTES_KEPT * MINUTE_S]:
            del self.minutes[old]
        self._minute = minute


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
            for kind in KINDS[mode]
        }
        self.mode, self.updated_s = mode, now_s

    def disable(self, now_s: float) -> None:
        if self.rules:
            self.rules, self.updated_s = {}, now_s


@dataclass(slots=True)
class Insights:
    """The watches of one table: None is the table itself, names are its global indexes."""

    watches: dict[str | None, KeyWatch] = field(default_factory=dict)

    @property
    def on(self) -> bool:
        return any(watch.rules for watch in self.watches.values())

    def read(self, stored: bytes, units: float, now_s: float, index: str | None = None) -> None:
        self._count("PKC", index, stored, units, now_s)

    def read_or_refused(self, stored: bytes, units: float, refusal: Refusal | None, now_s: float) -> None:
        if refusal is None:
            self.read(stored, units, now_s)
        else:
            self.refused(stored, refusal, now_s)

    def refused(self, stored: bytes, refusal: Refusal, now_s: float) -> None:
        """A request was throttled. Writes refused for an index's capacity are counted nowhere, as in AWS."""
        if refusal.index is not None and refusal.direction is Direction.WRITE:
            return
        self._count("PKT", refusal.index, stored, 1.0, now_s)

    def _count(self, kind: Kind, index: str | None, stored: bytes, value: float, now_s: float) -> None:
        watch = self.watches.get(index)
        if watch is not None and (rule := watch.rules.get(kind)) is not None:
            rule.count(stored, value, now_s)


MOST_RECORDED = 100_000
"""Partition keys told apart in one kind of request; those that come later are one together."""
OTHERS = b""
Request = tuple[Direction, str | None, bool, bool]
"""Direction, the index (None: the table), whether a read is eventually consistent, and whether it is an entry
that a write put into the index, admitted or not."""


@dataclass(slots=True)
class PartitionKeyUse:
    """What was asked of one partition key: requests, their units, and how many were refused, by reason."""

    requests: int = 0
    units: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Recording:
    """Everything that was asked of the tables of one name, deleted ones too.

    Keys are the hashes of their positions.
    """

    uses: dict[Request, dict[bytes, PartitionKeyUse]] = field(default_factory=dict)

    def add(self, kind: Request, position: bytes, units: float, refusal: Refusal | None) -> None:
        """One request for one item, or for one page of items."""
        uses, key = self.uses.setdefault(kind, {}), collection_of(position)
        if key not in uses and len(uses) >= MOST_RECORDED:
            key = OTHERS
        use = uses.setdefault(key, PartitionKeyUse())
        use.requests += 1
        use.units += units
        if refusal is not None:
            use.refused[refusal.reason] = use.refused.get(refusal.reason, 0) + 1

    def add_write(
        self, position: bytes, units: float, refusal: Refusal | None, entries: Sequence[IndexWrite]
    ) -> None:
        """One write, with its entries in the global indexes."""
        self.add((Direction.WRITE, None, False, False), position, units, refusal)
        for entry in entries:
            self.add((Direction.WRITE, entry.index, False, True), entry.position, entry.units, None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per kind of request and key."""
        for (direction, index, eventual, entry), by_key in self.uses.items():
            about = {"direction": direction.value, "index": index, "eventual": eventual, "entry": entry}
            for key, use in by_key.items():
                counts = {"requests": use.requests, "units": use.units, "refused": use.refused}
                yield {**about, "key": key, **counts}


class RecordingModel(TableModel):
    """A table's model that writes down what it is asked, in the `recording` that it is given once made."""

    __slots__ = ("recording",)

    recording: Recording

    def admit_read(
        self, position: bytes, units: float, now_s: float, *,
        index: str | None = None, eventual: bool = False, connection: int | None = None,
    ) -> Refusal | None:  # fmt: skip
        refusal = super().admit_read(
            position, units, now_s, index=index, eventual=eventual, connection=connection
        )
        self.recording.add((Direction.READ, index, eventual, False), position, units, refusal)
        return refusal

    def admit_write(
        self, position: bytes, units: float, now_s: float, index_writes: Sequence[IndexWrite] = (), *,
        connection: int | None = None,
    ) -> Refusal | None:  # fmt: skip
        refusal = super().admit_write(position, units, now_s, index_writes, connection=connection)
        self.recording.add_write(position, units, refusal, index_writes)
        return refusal

    def admit_together(
        self, ops: Sequence[Op], now_s: float, *, connection: int | None = None
    ) -> list[Refusal | None]:
        answers = super().admit_together(ops, now_s, connection=connection)
        for op, refusal in zip(ops, answers, strict=True):
            if op.direction is Direction.READ:
                self.recording.add(
                    (Direction.READ, op.index, op.eventual, False), op.position, op.units, refusal
                )
            else:
                self.recording.add_write(op.position, op.units, refusal, op.index_writes)
        return answers
