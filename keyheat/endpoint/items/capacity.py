"""What an operation costs: a write's bill, asking the model for it, and ConsumedCapacity in an answer.

`NONE` tells nothing, `TOTAL` one number, `INDEXES` the table and each index apart. Transactions also say
which kind of units they are; single operations do not.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ConsumedCapacity.html
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from keyheat.endpoint.errors import ServiceError, throttled, transaction_conflict, validation_error
from keyheat.endpoint.itemkeys import Key
from keyheat.endpoint.itemstore import EntryChange, ItemChange, size_of
from keyheat.endpoint.keycounts import Insights
from keyheat.endpoint.schema import IndexSchema
from keyheat.endpoint.service import Context
from keyheat.endpoint.tables.catalog import Aim, Table
from keyheat.endpoint.values import Item
from keyheat.model.limits import INSIGHT_WRITE_WEIGHT, MAX_ITEM_BYTES
from keyheat.model.resources import Refusal
from keyheat.model.transactions import IndexWrite
from keyheat.model.units import write_units
from keyheat.words import Direction

Kind = str
"""`ReadCapacityUnits` or `WriteCapacityUnits`."""


@dataclass(slots=True)
class ConsumedCapacity:
    """Units of one table spent by one request: on the table, and on each index by name."""

    table: float = 0.0
    local: dict[str, float] = field(default_factory=dict)
    glob: dict[str, float] = field(default_factory=dict)

    def add(self, other: "ConsumedCapacity") -> None:
        self.table += other.table
        for mine, theirs in ((self.local, other.local), (self.glob, other.glob)):
            for name, units in theirs.items():
                mine[name] = mine.get(name, 0.0) + units

    @property
    def total(self) -> float:
        return self.table + sum(self.local.values()) + sum(self.glob.values())


class ConsumedByTable(dict[str, ConsumedCapacity]):
    """What one request spent on each table, by name."""

    def spend(self, table: str, consumed: ConsumedCapacity) -> None:
        self.setdefault(table, ConsumedCapacity()).add(consumed)

    def rendered(self, level: str, kind: Kind | None = None) -> dict[str, Any]:
        """The member ConsumedCapacity of an answer; nothing at the level `NONE`."""
        if level == "NONE":
            return {}
        return {"ConsumedCapacity": [rendered(name, units, level, kind) for name, units in self.items()]}


def level_of(request: dict[str, Any]) -> str:
    """How much the request, whose members were checked, wants to be told."""
    return request.get("ReturnConsumedCapacity") or "NONE"


def rendered(table: str, consumed: ConsumedCapacity, level: str, kind: Kind | None = None) -> dict[str, Any]:
    """One ConsumedCapacity; `kind` is the member that a transaction adds beside CapacityUnits."""
    answer: dict[str, Any] = {"TableName": table, **_units(consumed.total, kind)}
    if level == "INDEXES":
        answer["Table"] = _units(consumed.table, kind)
        for member, parts in (
            ("LocalSecondaryIndexes", consumed.local),
            ("GlobalSecondaryIndexes", consumed.glob),
        ):
            if parts:
                answer[member] = {name: _units(units, kind) for name, units in parts.items()}
    return answer


def _units(units: float, kind: Kind | None) -> dict[str, float]:
    return {"CapacityUnits": units} if kind is None else {"CapacityUnits": units, kind: units}


TOO_LARGE = "Item size has exceeded the maximum allowed size"
TOO_LARGE_TO_UPDATE = "Item size to update has exceeded the maximum allowed size"


class WriteBill(NamedTuple):
    """The units of one write: those asked of the table (its local indexes' among them) and of each index."""

    units: float
    index_writes: tuple[IndexWrite, ...] = ()
    entries: tuple[EntryChange, ...] = ()

    @property
    def consumed(self) -> ConsumedCapacity:
        local: dict[str, float] = {}
        glob: dict[str, float] = {}
        for entry in self.entries:
            spent = sum(write.units for write in _entry_writes(entry))
            (local if entry.index.local else glob)[entry.index.name] = spent
        return ConsumedCapacity(self.units - sum(local.values()), local, glob)


def bill(change: ItemChange, *, transactional: bool = False) -> WriteBill:
    """What a planned write costs. A transaction writes its items twice, and their index entries once.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
    """
    units = write_units(change.old_bytes, change.new_bytes, transactional=transactional)
    if not change.entries:
        return WriteBill(units)
    index_writes: list[IndexWrite] = []
    for entry in change.entries:
        parts = _entry_writes(entry)
        if entry.index.local:
            units += sum(write.units for write in parts)
        else:
            index_writes += parts
    return WriteBill(units, tuple(index_writes), change.entries)


def bill_of_failed(old: bytes | None, new_bytes: int = 0, *, transactional: bool = False) -> WriteBill:
    """What a write costs whose condition failed: as if it had been made, but at least one where nothing was.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
    """
    sizes = (0, 0) if old is None else (size_of(old), new_bytes)
    return WriteBill(write_units(*sizes, transactional=transactional))


def _entry_writes(entry: EntryChange) -> list[IndexWrite]:
    """The writes in one index: a moved entry is deleted in one place and put in another."""
    name = entry.index.name
    old_bytes = 0 if entry.old is None else size_of(entry.old)
    new_bytes = 0 if entry.new is None else size_of(entry.new)
    if entry.moved and entry.old_key is not None and entry.new_key is not None:
        return [
            IndexWrite(name, entry.old_key[1], write_units(old_bytes, 0)),
            IndexWrite(name, entry.new_key[1], write_units(0, new_bytes)),
        ]
    key = entry.new_key or entry.old_key
    assert key is not None, "an entry that changes was there before or is there after"
    return [IndexWrite(name, key[1], write_units(old_bytes, new_bytes))]


def count_write(
    counting: Insights, stored: bytes, cost: WriteBill, refusal: Refusal | None, now_s: float
) -> None:
    """Tell Contributor Insights, which is on, of a write that was asked for, also of each global index."""
    if refusal is not None:
        counting.refused(stored, refusal, now_s)
        return
    counting.read(stored, INSIGHT_WRITE_WEIGHT * cost.units, now_s)
    for entry in cost.entries:
        if not entry.index.local:
            keys = (entry.old_key, entry.new_key) if entry.moved else (entry.new_key or entry.old_key,)
            for key, write in zip(keys, _entry_writes(entry), strict=True):
                assert key is not None, "an entry that changes was there before or is there after"
                counting.read(key[0], INSIGHT_WRITE_WEIGHT * write.units, now_s, write.index)


def injected(
    context: Context,
    operation: str,
    table: Table,
    direction: Direction,
    stored: bytes | None,
    index: IndexSchema | None = None,
) -> Refusal | None:
    """The throttle of one item or page by a fault rule. Raises the error of another fault."""
    struck = context.strike(operation, (Aim(table, direction, stored, index),))
    if 0 in struck and struck[0] is None:
        raise transaction_conflict()
    return struck.get(0)


def refused(context: Context, operation: str, table: Table, refusal: Refusal) -> ServiceError:
    """The throttling exception of a refused request, which is counted."""
    table.model.minutes.throttled_request(operation, context.now_s)
    return throttled(table, refusal)


def admit(context: Context, table: Table, operation: str, key: Key, cost: WriteBill) -> None:
    """Ask fault rules and the model for a write. Raises the throttling exception, and counts the request."""
    refusal = None
    if context.service.faults is not None:
        refusal = injected(context, operation, table, Direction.WRITE, key[0])
    if refusal is None:
        refusal = table.model.admit_write(
            key[1], cost.units, context.now_s, cost.index_writes, connection=context.connection
        )
    if table.counting is not None:
        count_write(table.counting, key[0], cost, refusal, context.now_s)
    if refusal is not None:
        raise refused(context, operation, table, refusal)


def make(table: Table, change: ItemChange, now_s: float) -> None:
    """Make an admitted write, and tell the table's stream, and the model how the stored data grew."""
    table.items.apply(change)
    if table.stream is not None:
        table.stream.note(change, now_s)
    grown = change.new_bytes - change.old_bytes
    if grown:
        table.model.grown(change.key[1], grown, now_s)


def check_distinct(keys: list[tuple[str, Key]], otherwise: str) -> None:
    """Raises ValidationException where an item is named twice."""
    if len(set(keys)) != len(keys):
        raise validation_error(otherwise)


def check_size(change: ItemChange, message: str = TOO_LARGE) -> None:
    """Raises ValidationException for an item above 400 KB."""
    if change.new_bytes > MAX_ITEM_BYTES:
        raise validation_error(message)


def collection_metrics(table: Table, item: Item, request: dict[str, Any]) -> dict[str, Any] | None:
    """ItemCollectionMetrics of a write, if asked for: an estimate that is small and wide.

    Only tables with a local index have them.
    """
    if request.get("ReturnItemCollectionMetrics") != "SIZE":
        return None
    if not any(index.local for index in table.schema.indexes):
        return None
    name = table.schema.keys.partition.name
    return {"ItemCollectionKey": {name: item[name]}, "SizeEstimateRangeGB": [0.0, 1.0]}
