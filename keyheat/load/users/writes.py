"""The writes that a request holds, and a transport that tells the ledger what became of each."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import orjson

from keyheat.load.transport.answer import Answer, Transport
from keyheat.load.users.collections import Item
from keyheat.load.users.ledger import Identity, Ledger

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
        if write.returns == "ALL_NEW":
            self._ledger.applied(identity, answer.content()["Attributes"])
        elif write.returns == "UPDATED_NEW":
            self._ledger.updated(identity, {**answer.content().get("Attributes", {}), **write.item})
        else:
            self._ledger.applied(identity, write.after)
