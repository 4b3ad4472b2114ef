"""The metadata table: one item per key of the main table, in a table of its own in on-demand mode.

    number_of_shards   3
    last_updated       1763715823.418207
    shard_history      {"1763715701.101882:1", "1763715762.773301:2", "1763715823.418207:3"}

`last_updated` is the lock: an update is made on the condition that it still is what was read. Whole seconds
would not do, since a change, its undoing and another writer's older view can meet within one second, and the
lock would open for a state that was never read. So it has microseconds, and each change moves it forward by
at least one, whatever the clock says: it never has the same value twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from botocore.exceptions import ClientError

from keyheat.model.units import item_bytes, write_units
from keyheat.sharding.client import Answered, Client, Note, error_code, no_callback

US = 1_000_000
NUMBER, UPDATED, HISTORY = "number_of_shards", "last_updated", "shard_history"


class MetadataError(ValueError):
    """An item of the metadata table that is not what this package writes."""


@dataclass(frozen=True, slots=True, order=True)
class ShardChange:
    at_us: int
    number: int

    def __str__(self) -> str:
        return f"{epoch_text(self.at_us)}:{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """The shards of one key. Every change is a new value with a later `updated_us`."""

    number: int
    updated_us: int
    history: frozenset[ShardChange]

    @classmethod
    def first(cls, now_s: float) -> "Shards":
        now_us = int(now_s * US)
        return cls(number=1, updated_us=now_us, history=frozenset({ShardChange(now_us, 1)}))

    @property
    def updated_s(self) -> float:
        return self.updated_us / US

    @property
    def to_read(self) -> int:
        """Shards that may hold items, those of a higher number in the past included."""
        return max(self.number, *(change.number for change in self.history))

    @property
    def dated_after_lowering(self) -> bool:
        """Whether who made the last change had read that readers look at more shards than are written to."""
        return max(self.history).number > self.number

    def changed(self, number: int, now_s: float, *, keep: int) -> "Shards":
        """Another number of shards; `keep` bounds the history."""
        return self._next(number, number, self.history, now_s, keep)

    def remembered(self, number: int, now_s: float, *, keep: int) -> "Shards":
        """The same number of shards, but readers look at `number` of them at least."""
        return self._next(self.number, max(number, self.number), self.history, now_s, keep)

    def forgotten(self, number: int, now_s: float, *, keep: int) -> "Shards":
        """Shards from `number` on are empty: readers need not look there, unless they are in use."""
        number = max(number, self.number)
        kept = frozenset(change for change in self.history if change.number <= number)
        return self._next(self.number, number, kept, now_s, keep)

    def _next(
        self, number: int, in_use: int, history: frozenset[ShardChange], now_s: float, keep: int
    ) -> "Shards":
        updated_us = max(int(now_s * US), self.updated_us + 1)
        entries = history | {ShardChange(updated_us, in_use)}
        return Shards(number=number, updated_us=updated_us, history=bounded(entries, keep))

    def to_item(self) -> dict[str, Any]:
        """The attributes beside the key, as DynamoDB's low-level clients take them."""
        return {
            NUMBER: {"N": str(self.number)},
            UPDATED: {"N": epoch_text(self.updated_us)},
            HISTORY: {"SS": sorted(str(change) for change in self.history)},
        }

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> "Shards":
        """What `to_item` made. Raises `MetadataError`."""
        try:
            shards = cls(
                number=int(item[NUMBER]["N"]),
                updated_us=epoch_us(item[UPDATED]["N"]),
                history=frozenset(_change(entry) for entry in item[HISTORY]["SS"]),
            )
        except (KeyError, TypeError, ValueError, InvalidOperation) as error:
            raise MetadataError(f"not an item of the shards' metadata: {dict(item)!r}") from error
        if shards.number < 1 or any(change.number < 1 for change in shards.history):
            raise MetadataError(f"a key with less than one shard: {dict(item)!r}")
        return shards


def bounded(history: frozenset[ShardChange], keep: int) -> frozenset[ShardChange]:
    """The newest entries, and the highest one in any case: below it a reader may find items."""
    highest = max(history, key=lambda change: (change.number, change.at_us))
    newest = sorted(history - {highest})[-(keep - 1) :]
    return frozenset({highest, *newest})


def epoch_text(epoch_us: int) -> str:
    """Epoch seconds with exactly six decimals; a float would not come back as it went."""
    return f"{epoch_us // US}.{epoch_us % US:06d}"


def epoch_us(text: str) -> int:
    """Microseconds of what `epoch_text` made, or of DynamoDB's spelling of the same number."""
    exact = Decimal(text) * US
    if exact != int(exact):
        raise ValueError(f"finer than a microsecond: {text}")
    return int(exact)


def _change(entry: str) -> ShardChange:
    at, _, number = entry.partition(":")
    return ShardChange(epoch_us(at), int(number))


CONDITION_FAILED = "ConditionalCheckFailedException"


class Metadata:
    """Reads and replaces the items of the metadata table. Reads are strongly consistent: a reader that missed
    the newest shard would miss what was written there."""

    def __init__(
        self, client: Client, table: str, *, partition_key: str = "pk", note: Note = no_callback
    ) -> None:
        self._client = client
        self._table = table
        self._partition_key = partition_key
        self._note = note

    def read(self, key: str) -> Shards | None:
        """The shards of a key; None where it was never written."""
        answer = self._client.get_item(
            TableName=self._table, Key=self._key(key), ConsistentRead=True, ReturnConsumedCapacity="TOTAL"
        )
        self._note("metadata.read_units", _units(answer))
        item = answer.get("Item")
        return None if item is None else Shards.from_item(item)

    def insert(self, key: str, shards: Shards) -> bool:
        """Write the first metadata of a key; False if another writer just did."""
        item = {**self._key(key), **shards.to_item()}
        return self._written(
            item,
            self._client.put_item,
            TableName=self._table,
            Item=item,
            ConditionExpression="attribute_not_exists(#k)",
            ExpressionAttributeNames={"#k": self._partition_key},
            ReturnConsumedCapacity="TOTAL",
        )

    def replace(self, key: str, before: Shards, after: Shards) -> bool:
        """Replace a key's metadata if it is still `before`; False if another writer has changed it."""
        values = after.to_item()
        return self._written(
            {**self._key(key), **before.to_item()},
            self._client.update_item,
            TableName=self._table,
            Key=self._key(key),
            UpdateExpression="SET #n = :n, #u = :u, #h = :h",
            ConditionExpression="#u = :read",
            ExpressionAttributeNames={"#n": NUMBER, "#u": UPDATED, "#h": HISTORY},
            ExpressionAttributeValues={
                ":n": values[NUMBER],
                ":u": values[UPDATED],
                ":h": values[HISTORY],
                ":read": before.to_item()[UPDATED],
            },
            ReturnConsumedCapacity="TOTAL",
        )

    def _written(self, item: dict[str, Any], write: Any, **request: Any) -> bool:
        try:
            self._note("metadata.write_units", _units(write(**request)))
        except ClientError as error:
            if error_code(error.response) != CONDITION_FAILED:
                raise
            # A failed condition costs what the write would have, and its answer does not say how much.
            self._note("metadata.write_units", write_units(0, item_bytes(item)))
            return False
        return True

    def _key(self, key: str) -> dict[str, Any]:
        return {self._partition_key: {"S": key}}


def _units(answer: Answered) -> float:
    return float(answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0))
