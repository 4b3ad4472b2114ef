"""The writes that a request holds: what became of each, for the ledger, and the index entries that they make.

An update without the index's key changes an entry that is unknown here, and is not counted;
where too much of an index is not, none of its keys are told (`keyheat.load.run.finish`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from keyheat.load.record.attempt import Attempt
from keyheat.load.transport.answer import Answer, Transport
from keyheat.load.users.collections import Item
from keyheat.load.users.items import text_of
from keyheat.load.users.ledger import Identity, Ledger
from keyheat.load.users.outcomes import consumed
from keyheat.scenario.spec.keys import combined
from keyheat.scenario.spec.tables import TableSpec

if TYPE_CHECKING:
    from keyheat.load.record.record import Record

OPERATIONS: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})


class Write(NamedTuple):
    """One item's write, wherever in a request it stands."""

    kind: str  # Put, Update or Delete
    table: str
    item: Item  # of an update or a delete: its key
    returns: str = "NONE"

    @property
    def after(self) -> Item | None:
        """What it leaves of the item, as far as the request says: of an updated one, the key."""
        return None if self.kind == "Delete" else self.item


def writes_in(operation: str, request: dict[str, Any]) -> Iterator[Write]:
    if operation == "BatchWriteItem":
        yield from _batch(request["RequestItems"])
    elif operation == "TransactWriteItems":
        for entry in request["TransactItems"]:
            ((action, request_item),) = entry.items()
            if action != "ConditionCheck":  # which writes nothing
                yield _write(action, request_item)
    else:
        yield _write(operation.removesuffix("Item"), request)


def _write(action: str, request_item: dict[str, Any]) -> Write:
    item = request_item["Item"] if action == "Put" else request_item["Key"]
    return Write(action, request_item["TableName"], item, request_item.get("ReturnValues", "NONE"))


def _batch(request_items: dict[str, Any]) -> Iterator[Write]:
    for table, entries in request_items.items():
        for entry in entries:
            ((action, request_item),) = entry.items()
            kind = action.removesuffix("Request")
            yield Write(kind, table, request_item["Item"] if kind == "Put" else request_item["Key"])


class NotedTransport:
    """Sends by another transport, and tells the ledger what became of the writes."""

    def __init__(self, transport: Transport, ledger: Ledger) -> None:
        self._transport, self._ledger = transport, ledger

    def send(self, operation: str, body: bytes) -> Answer:
        if operation not in OPERATIONS:
            return self._transport.send(operation, body)
        ledger = self._ledger
        named = list(self._named(writes_in(operation, orjson.loads(body))))
        for identity, write in named:
            ledger.begin(identity, write.after)
        answer = self._transport.send(operation, body)
        rest = answer.content().get("UnprocessedItems") if answer.accepted else None
        unprocessed = {identity for identity, _write in self._named(_batch(rest or {}))}
        for identity, write in named:
            if answer.accepted and identity not in unprocessed:
                self._acknowledge(identity, write, answer)
            elif answer.accepted or (answer.status == 400 and answer.failure is None):
                ledger.refused(identity)
            else:
                ledger.unknown(identity)
        return answer

    def close(self) -> None:
        self._transport.close()

    def _named(self, writes: Iterator[Write]) -> Iterator[tuple[Identity, Write]]:
        """The writes to tables of the ledger, with the items that they write."""
        for write in writes:
            if self._ledger.has(write.table):
                yield self._ledger.identity(write.table, write.item), write

    def _acknowledge(self, identity: Identity, write: Write, answer: Answer) -> None:
        if write.returns == "UPDATED_NEW":
            self._ledger.updated(identity, {**answer.content().get("Attributes", {}), **write.item})
        else:
            self._ledger.applied(identity, write.after)


PUTS: Final = ("PutItem", "BatchWriteItem", "TransactWriteItems")


class IndexEntries:
    """Counts the entries that puts make in the global indexes of a table."""

    def __init__(self, table: TableSpec) -> None:
        self._table = table.name
        self._keyed_by = {index.name: index.partition_keys for index in table.indexes if not index.local}
        self._units: dict[str, float] = {}  # of one entry, as the last answers had it

    @classmethod
    def of(cls, table: TableSpec) -> "IndexEntries | None":
        """Those of a table; None if it has no global index."""
        return cls(table) if any(not index.local for index in table.indexes) else None

    def note(self, record: "Record", attempt: Attempt, body: bytes, answer: Answer) -> None:
        """Count one answer to a request that puts items."""
        if attempt.operation not in PUTS or not (answer.accepted or answer.throttled):
            return
        items = [
            write.item
            for write in writes_in(attempt.operation, orjson.loads(body))
            if write.kind == "Put" and write.table == self._table
        ]
        keys = {
            index: [
                combined(text_of(item[name]) for name in names) for item in items if item.keys() >= set(names)
            ]
            for index, names in self._keyed_by.items()
        }
        if answer.accepted:
            units = consumed(answer)[1]
            for index, entries in keys.items():
                if entries and units.get(index):
                    each = self._units[index] = units[index] / len(entries)
                    for key in entries:
                        record.entered(attempt, index, key, each)
            return
        for index in {reason.index for reason in answer.reasons if reason.index in keys}:
            for key in keys[index]:
                record.entered(attempt, index, key, self._units.get(index, 1.0), throttled=True)
