"""What a write's request and its answer tell the ledger: the one hook between writers and readers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import orjson

from keyheat.load.transport.answer import Answer

if TYPE_CHECKING:
    from keyheat.load.users.collections import Item
    from keyheat.load.users.ledger import Ledger
    from keyheat.load.users.places import Identity

OPERATIONS = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
_KINDS: dict[str, Literal["put", "update", "delete"]] = {
    "Put": "put", "Update": "update", "Delete": "delete",
    "PutRequest": "put", "DeleteRequest": "delete",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Write:
    """One item's write, wherever in a request it stands."""

    kind: Literal["put", "update", "delete"]
    table: str
    item: "Item"  # of an update or a delete: its key
    returns: str = "NONE"

    @property
    def after(self) -> "Item | None":
        """What it leaves of the item, as far as the request says: of an updated one, the key."""
        return None if self.kind == "delete" else self.item


def noting(
    ledger: "Ledger | None", operation: str, body: bytes, send: Callable[[str, bytes], Answer]
) -> Answer:
    """Send a request, and tell the ledger what became of the writes in it."""
    if ledger is None or operation not in OPERATIONS:
        return send(operation, body)
    writes = [write for write in writes_in(operation, orjson.loads(body)) if ledger.has(write.table)]
    named = [(ledger.identity(write.table, write.item), write) for write in writes]
    for identity, write in named:
        ledger.begin(identity, write.after)
    answer = send(operation, body)
    unprocessed = _unprocessed(ledger, answer) if operation == "BatchWriteItem" and answer.accepted else set()
    for identity, write in named:
        if answer.accepted and identity not in unprocessed:
            _acknowledge(ledger, identity, write, answer)
        elif answer.accepted or (answer.status == 400 and answer.failure is None):
            ledger.refused(identity)
        else:
            ledger.unknown(identity, write.after)
    return answer


def writes_in(operation: str, request: dict[str, Any]) -> Iterator[Write]:
    """The writes that a request asks for."""
    if operation == "BatchWriteItem":
        yield from _batch(request["RequestItems"])
    elif operation == "TransactWriteItems":
        for entry in request["TransactItems"]:
            ((action, part),) = entry.items()
            if action in _KINDS:  # a ConditionCheck writes nothing
                yield _write(action, part)
    else:
        yield _write(operation.removesuffix("Item"), request)


def _write(action: str, part: dict[str, Any]) -> Write:
    item = part["Item"] if action == "Put" else part["Key"]
    return Write(_KINDS[action], part["TableName"], item, part.get("ReturnValues", "NONE"))


def _batch(request_items: dict[str, Any]) -> Iterator[Write]:
    for table, entries in request_items.items():
        for entry in entries:
            ((action, part),) = entry.items()
            yield Write(_KINDS[action], table, part["Item"] if action == "PutRequest" else part["Key"])


def _unprocessed(ledger: "Ledger", answer: Answer) -> "set[Identity]":
    left = answer.content().get("UnprocessedItems") or {}
    return {ledger.identity(write.table, write.item) for write in _batch(left) if ledger.has(write.table)}


def _acknowledge(ledger: "Ledger", identity: "Identity", write: Write, answer: Answer) -> None:
    if write.returns == "ALL_NEW":
        ledger.applied(identity, answer.content()["Attributes"])
    elif write.returns == "UPDATED_NEW":
        ledger.updated(identity, {**answer.content().get("Attributes", {}), **write.item})
    else:
        ledger.applied(identity, write.after)
