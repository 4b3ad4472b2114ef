"""What came of a request: put in the record, by attempt or by item, and told to the ledger of writes.

A batch's items are admitted one by one, so each of them is an attempt: what comes back unprocessed was
throttled, and nobody says why. Their request is timed once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import orjson

from keyheat.load.record.attempt import Attempt
from keyheat.load.transport.answer import CANCELLED, THROTTLED_ITEMS, Answer, Reason

if TYPE_CHECKING:
    from keyheat.load.record.record import Record
    from keyheat.load.users.collections import Item
    from keyheat.load.users.ledger import Identity, Ledger


Note = Callable[["Record", Attempt, Answer], str | None]
"""Records one answer; gives the short name of what went wrong, None where nothing did."""
NO_REASON = Reason(None, None)
CONDITION_FAILED = "ConditionalCheckFailedException"
CONFLICT = "TransactionConflict"
CONDITION = "ConditionalCheckFailed"
MET = {
    "TransactionConflictException": "writes.conflicts",
    "ReplicatedWriteConflictException": "replication.conflicts",
    "ReplicationInProgress": "replication.conflicts",
}
"""Errors of a write that met another one on its item, and what counts them.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html"""


class NotSeen(Exception):
    """What was to be looked up after the load could not be; the message says what is now not known."""


@dataclass(frozen=True, slots=True)
class RequestPart:
    """One item of a request that touches several: its keys, as they stand in it, and what it may cost."""

    key: str
    sort_key: str | None
    units: float


def note_single(record: "Record", attempt: Attempt, answer: Answer, units: float) -> str | None:
    """One request that is one attempt; `units` is what it would have cost."""
    if answer.accepted:
        record.accepted(attempt, *consumed(answer))
        return None
    if answer.throttled:
        reason = next(iter(answer.reasons), NO_REASON)
        record.throttled(attempt, units, reason.reason, reason.index)
        return reason.reason or answer.error_code
    failure = failure_of(answer)
    record.failed(attempt, failure)
    if failure in MET:
        record.count(MET[failure])
        record.contended(attempt, "conflicts")
    return failure


def failure_of(answer: Answer) -> str:
    """A short stable name for why a request failed: error tables grow with the number of names."""
    return answer.failure or answer.error_code or f"HTTP{answer.status}"


def consumed(answer: Answer) -> tuple[float, dict[str, float]]:
    """Units that an accepted request consumed: in all, and by each global index (with INDEXES only).

    Those of a batch or a transaction are a list, an entry for each table.
    """
    capacity = answer.content().get("ConsumedCapacity") or {}
    if isinstance(capacity, dict):
        return _of_table(capacity)
    total, indexes = 0.0, dict[str, float]()
    for entry in capacity:
        units, by_index = _of_table(entry)
        total += units
        for name, part in by_index.items():
            indexes[name] = indexes.get(name, 0.0) + part
    return total, indexes


def _of_table(capacity: Mapping[str, Any]) -> tuple[float, dict[str, float]]:
    indexes = capacity.get("GlobalSecondaryIndexes") or {}
    units = {name: float(part["CapacityUnits"]) for name, part in indexes.items()}
    return float(capacity.get("CapacityUnits", 0.0)), units


@dataclass(frozen=True, slots=True)
class Conditional:
    """Notes a write with a condition. One that fails was admitted, and costs what the write would have cost.

    The error does not tell the units, so they are the documented ones, `failed_units`:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
    """

    units: float
    failed_units: float

    def __call__(self, record: "Record", attempt: Attempt, answer: Answer) -> str | None:
        if answer.status != 400 or answer.error_code != CONDITION_FAILED:
            return note_single(record, attempt, answer, self.units)
        record.accepted(attempt, self.failed_units)
        record.count("conditions.failed")
        record.count("conditions.failed_units", self.failed_units)
        record.contended(attempt, "conditions")
        return None


@dataclass(frozen=True, slots=True)
class Batch:
    """Notes a BatchWriteItem or BatchGetItem, item by item."""

    parts: Sequence[RequestPart]
    partition_key: str
    sort_key: str | None

    def __call__(self, record: "Record", attempt: Attempt, answer: Answer) -> str | None:
        record.count("batch.requests")
        record.count("batch.items", len(self.parts))
        if not answer.accepted:
            return _note_refused(record, attempt, answer, self.parts)
        left = self.unprocessed(answer.content())
        done = [part for part in self.parts if (part.key, part.sort_key) not in left]
        _note_accepted(record, attempt, answer, done)
        for part in self.parts:
            if (part.key, part.sort_key) in left:
                record.throttled(_item(attempt, part.key, timed=False), part.units, None, None)
        record.count("batch.unprocessed", len(left))
        return None

    def unprocessed(self, content: Mapping[str, Any]) -> set[tuple[str, str | None]]:
        """The keys of the items that came back, of the only table that the batch names."""
        writes = [entry for entries in (content.get("UnprocessedItems") or {}).values() for entry in entries]
        keys = [
            entry["PutRequest"]["Item"] if "PutRequest" in entry else entry["DeleteRequest"]["Key"]
            for entry in writes
        ]
        keys += [key for entry in (content.get("UnprocessedKeys") or {}).values() for key in entry["Keys"]]
        return {
            (_text(key[self.partition_key]), _text(key[self.sort_key]) if self.sort_key else None)
            for key in keys
        }


@dataclass(frozen=True, slots=True)
class Transaction:
    """Notes a transaction. All of its items are accepted, or none is: then those that were throttled are
    throttled attempts, and the others were never asked for.
    """

    parts: Sequence[RequestPart]

    def __call__(self, record: "Record", attempt: Attempt, answer: Answer) -> str | None:
        record.count("transactions.requests")
        if answer.accepted:
            _note_accepted(record, attempt, answer, self.parts)
            return None
        if answer.status != 400 or answer.error_code != CANCELLED:
            return _note_refused(record, attempt, answer, self.parts)
        record.count("transactions.cancelled")
        return self._note_cancelled(record, attempt, answer)

    def _note_cancelled(self, record: "Record", attempt: Attempt, answer: Answer) -> str:
        codes = answer.cancellations
        for code, what in ((CONFLICT, "conflicts"), (CONDITION, "conditions")):
            if code in codes:
                record.count(f"transactions.{what}")
            for part, said in zip(self.parts, codes, strict=False):
                if said == code:
                    record.contended(_item(attempt, part.key, timed=False), what)
        told = [(part, code) for part, code in zip(self.parts, codes, strict=False) if code != "None"]
        throttled = [(part, code) for part, code in told if code in THROTTLED_ITEMS]
        for number, (part, _) in enumerate(throttled):
            one = _item(attempt, part.key, timed=number == 0)
            record.throttled(one, part.units, None, None)
        if throttled:
            return throttled[0][1]
        part, code = told[0] if told else (self.parts[0], CANCELLED)
        record.failed(_item(attempt, part.key, timed=True), code)
        return code


def _text(value: Mapping[str, str]) -> str:
    """A key's value, of whatever type it is."""
    return next(iter(value.values()))


def _note_accepted(record: "Record", attempt: Attempt, answer: Answer, parts: Sequence[RequestPart]) -> None:
    """Every part is an attempt; the units that the request consumed are divided as they were expected."""
    total, by_index = consumed(answer)
    expected = sum(part.units for part in parts)
    for number, part in enumerate(parts):
        share = part.units / expected
        indexes = {name: units * share for name, units in by_index.items()}
        record.accepted(_item(attempt, part.key, timed=number == 0), total * share, indexes)


def _note_refused(record: "Record", attempt: Attempt, answer: Answer, parts: Sequence[RequestPart]) -> str:
    """Nothing of the request was done: every part was throttled, or failed."""
    reason = next(iter(answer.reasons), NO_REASON) if answer.throttled else NO_REASON
    failure = (reason.reason or failure_of(answer)) if answer.throttled else failure_of(answer)
    for number, part in enumerate(parts):
        one = _item(attempt, part.key, timed=number == 0)
        if answer.throttled:
            record.throttled(one, part.units, reason.reason, reason.index)
        else:
            record.failed(one, failure)
    return failure


def _item(attempt: Attempt, key: str, *, timed: bool) -> Attempt:
    """The attempt as that of one item: `dataclasses.replace`, but several times faster."""
    return Attempt(
        attempt.operation,
        attempt.direction,
        key,
        attempt.sent_s,
        attempt.late_us,
        attempt.service_us,
        attempt.table,
        timed,
    )


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


def noting(ledger: "Ledger", operation: str, body: bytes, send: Callable[[str, bytes], Answer]) -> Answer:
    """Send a request, and tell the ledger what became of the writes in it."""
    if operation not in OPERATIONS:
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
