"""What came of a request: put in the record, by attempt or by item; and the writes that a request holds.

A batch's items are admitted one by one, so each of them is an attempt: what comes back unprocessed was
throttled, without a reason. Their request is timed once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from keyheat.load.record.attempt import Attempt
from keyheat.load.transport.answer import CANCELLED, THROTTLED_ITEMS, Answer
from keyheat.load.users.items import text_of
from keyheat.scenario.spec.keys import combined
from keyheat.scenario.spec.tables import TableSpec
from keyheat.words import DirectionName

if TYPE_CHECKING:
    from keyheat.load.record.record import Record


Note = Callable[["Record", Attempt, Answer], str | None]
"""Records one answer; returns the short name of what went wrong, None if nothing did."""
CONDITION_FAILED = "ConditionalCheckFailedException"
CONTENDED: Final = {"TransactionConflict": "conflicts", "ConditionalCheckFailed": "conditions"}
MET = {
    "TransactionConflictException": "writes.conflicts",
    "ReplicatedWriteConflictException": "replication.conflicts",
    "ReplicationInProgress": "replication.conflicts",
}
"""Errors of a write that met another one on its item, and what counts them.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html"""


class Request(NamedTuple):
    """One request as a load test states it."""

    operation: str
    body: bytes
    key: str
    direction: DirectionName
    units: float  # what it costs if it is throttled
    table: str | None = None  # beside the one that is judged
    note: Note | None = None  # of what one attempt does not describe: a batch, a transaction, a condition


class RequestPart(NamedTuple):
    """One item of a request that touches several: its keys, as they stand in it, and what it may cost."""

    key: str
    sort_key: str | None
    units: float


def note_answer(
    record: "Record", request: Request, answer: Answer, sent_s: float, late_us: int
) -> tuple[Attempt, str | None]:
    """Record what came of a request; returns its attempt, and the short name of what went wrong."""
    operation, _body, key, direction, units, table, note = request
    service_us = int(answer.service_s * 1e6)
    if note is None and answer.accepted:  # nearly every one: its attempt is made in one go
        total, by_index = consumed(answer)
        attempt = Attempt(
            operation, direction, key, sent_s, late_us, service_us, table, "accepted", total, by_index
        )
        record.add(attempt)
        return attempt, None
    attempt = Attempt(operation, direction, key, sent_s, late_us, service_us, table)
    if note is None:
        return attempt, note_single(record, attempt, answer, units)
    return attempt, note(record, attempt, answer)


def note_single(record: "Record", attempt: Attempt, answer: Answer, units: float) -> str | None:
    """One request that is one attempt; `units` is what it would have cost."""
    if answer.accepted:
        total, by_index = consumed(answer)
        record.add(attempt._replace(units=total, by_index=by_index))
        return None
    failure = _refused(record, attempt, answer, units)
    if failure in MET:
        record.count(MET[failure])
        record.contended(attempt, "conflicts")
    return failure


def _refused(record: "Record", attempt: Attempt, answer: Answer, units: float) -> str:
    """Count an attempt of which nothing was done: it was throttled, or failed."""
    failure = answer.failure_name
    if answer.throttled:
        reason, resource = next(((entry.reason, entry.index) for entry in answer.reasons), (None, None))
        record.add(attempt._replace(outcome="throttled", units=units, reason=reason, refused_by=resource))
        return reason or failure
    record.add(attempt._replace(outcome="error", reason=failure))
    return failure


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
        for name, index_units in by_index.items():
            indexes[name] = indexes.get(name, 0.0) + index_units
    return total, indexes


def _of_table(capacity: Mapping[str, Any]) -> tuple[float, dict[str, float]]:
    indexes = capacity.get("GlobalSecondaryIndexes") or {}
    units = {name: float(entry["CapacityUnits"]) for name, entry in indexes.items()}
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
        record.add(attempt._replace(units=self.failed_units))
        record.count("conditions.failed")
        record.count("conditions.failed_units", self.failed_units)
        record.contended(attempt, "conditions")
        return None


@dataclass(frozen=True, slots=True)
class Parts:
    """A request that touches several items."""

    parts: Sequence[RequestPart]

    @property
    def units(self) -> float:
        """What it costs if it is throttled."""
        return sum(item.units for item in self.parts)

    def note_accepted(
        self, record: "Record", attempt: Attempt, answer: Answer, parts: Sequence[RequestPart]
    ) -> None:
        """Every part is an attempt; the units that the request consumed are divided as they were expected."""
        total, by_index = consumed(answer)
        expected = sum(item.units for item in parts)
        for number, item in enumerate(parts):
            share = item.units / expected
            indexes = {name: units * share for name, units in by_index.items()}
            record.add(
                attempt._replace(key=item.key, units=total * share, by_index=indexes, timed=number == 0)
            )

    def note_refused(self, record: "Record", attempt: Attempt, answer: Answer) -> str:
        """Nothing of the request was done: every part was throttled, or failed."""
        for number, item in enumerate(self.parts):
            of_item = attempt._replace(key=item.key, timed=number == 0)
            failure = _refused(record, of_item, answer, item.units)
        return failure


@dataclass(frozen=True, slots=True)
class Batch(Parts):
    """Notes a BatchWriteItem or BatchGetItem, item by item."""

    partition_key: str
    sort_key: str | None

    def __call__(self, record: "Record", attempt: Attempt, answer: Answer) -> str | None:
        record.count("batch.requests")
        record.count("batch.items", len(self.parts))
        if not answer.accepted:
            return self.note_refused(record, attempt, answer)
        unprocessed = self.unprocessed(answer.content())
        done = [item for item in self.parts if item[:2] not in unprocessed]
        self.note_accepted(record, attempt, answer, done)
        for item in self.parts:
            if item[:2] in unprocessed:
                record.add(attempt._replace(key=item.key, outcome="throttled", units=item.units, timed=False))
        record.count("batch.unprocessed", len(unprocessed))
        return None

    def unprocessed(self, content: Mapping[str, Any]) -> set[tuple[str, str | None]]:
        """The keys of the items that came back, of the only table that the batch names."""
        keys = [write.item for write in batch_writes(content.get("UnprocessedItems") or {})]
        keys += [key for entry in (content.get("UnprocessedKeys") or {}).values() for key in entry["Keys"]]
        return {
            (text_of(key[self.partition_key]), text_of(key[self.sort_key]) if self.sort_key else None)
            for key in keys
        }


@dataclass(frozen=True, slots=True)
class Transaction(Parts):
    """Notes a transaction. All of its items are accepted, or none is: then those that were throttled are
    throttled attempts, and the others were never asked for.
    """

    def __call__(self, record: "Record", attempt: Attempt, answer: Answer) -> str | None:
        record.count("transactions.requests")
        if answer.accepted:
            self.note_accepted(record, attempt, answer, self.parts)
            return None
        if answer.status != 400 or answer.error_code != CANCELLED:
            return self.note_refused(record, attempt, answer)
        record.count("transactions.cancelled")
        pairs = zip(self.parts, answer.cancellations, strict=False)
        codes = [(item, code) for item, code in pairs if code != "None"]
        for what in {CONTENDED[code]: None for _item, code in codes if code in CONTENDED}:
            record.count(f"transactions.{what}")
        for item, code in codes:
            if code in CONTENDED:
                record.contended(attempt._replace(key=item.key), CONTENDED[code])
        throttled = [(item, code) for item, code in codes if code in THROTTLED_ITEMS]
        for number, (item, _code) in enumerate(throttled):
            record.add(
                attempt._replace(key=item.key, outcome="throttled", units=item.units, timed=number == 0)
            )
        if throttled:
            return throttled[0][1]
        item, code = codes[0] if codes else (self.parts[0], CANCELLED)
        record.add(attempt._replace(key=item.key, outcome="error", reason=code))
        return code


class Write(NamedTuple):
    """One item's write, wherever in a request it stands."""

    kind: str  # Put, Update or Delete
    table: str
    item: dict[str, Any]  # of an update or a delete: its key
    returns: str = "NONE"

    @property
    def after(self) -> dict[str, Any] | None:
        """What it leaves of the item, as far as the request says: of an updated one, the key."""
        return None if self.kind == "Delete" else self.item


def writes_in(operation: str, request: dict[str, Any]) -> Iterator[Write]:
    """The writes of a request, by whichever operation."""
    if operation == "BatchWriteItem":
        yield from batch_writes(request["RequestItems"])
        return
    actions = request.get("TransactItems") or [{operation.removesuffix("Item"): request}]
    for (kind, of), *_none in (entry.items() for entry in actions):
        if kind != "ConditionCheck":  # which writes nothing
            item = of["Item"] if kind == "Put" else of["Key"]
            yield Write(kind, of["TableName"], item, of.get("ReturnValues", "NONE"))


def batch_writes(request_items: dict[str, Any]) -> Iterator[Write]:
    """The writes of a batch, or of what came back of it."""
    for table, entries in request_items.items():
        for entry in entries:
            ((action, of),) = entry.items()
            kind = action.removesuffix("Request")
            yield Write(kind, table, of["Item"] if kind == "Put" else of["Key"])


PUTS: Final = ("PutItem", "BatchWriteItem", "TransactWriteItems")


class IndexEntries:
    """Counts the entries that puts make in the global indexes of a table.

    An update without the index's key changes an entry that is unknown here, and is not counted;
    where too much of an index is not, none of its keys are told (`keyheat.load.run.finish`).
    """

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
        writes = writes_in(attempt.operation, orjson.loads(body))
        items = [write.item for write in writes if write.kind == "Put" and write.table == self._table]
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
