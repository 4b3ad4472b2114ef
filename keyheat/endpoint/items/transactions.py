"""TransactWriteItems and TransactGetItems: all of the operations, or none of them.

A cancelled transaction says of each operation, in the order of the request, why it could not be done.
Handlers run one at a time, so two transactions meet on an item only where they are told to take their time
(`Durations.transaction_s`): each then holds its items, and its answer waits, for so long. What a conflict
costs is not published; here it costs nothing.
A transaction over several tables asks them one after another: what an earlier one admitted stays spent if
a later one refuses.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from orjson import Fragment

from keyheat.endpoint.errors import CONFLICT, ServiceError, cancellation, validation_error
from keyheat.endpoint.expressions.compiler import Projection
from keyheat.endpoint.itemkeys import Key, checked_key
from keyheat.endpoint.items import capacity, single
from keyheat.endpoint.items.capacity import ConsumedByTable, ConsumedCapacity, WriteBill, level_of
from keyheat.endpoint.items.single import WriteRequest
from keyheat.endpoint.itemstore import ItemChange, digest_of, json_of, size_of
from keyheat.endpoint.keycounts import Insights
from keyheat.endpoint.requests import Request, check_shape, checked
from keyheat.endpoint.service import Context
from keyheat.endpoint.tables.catalog import Aim, Table
from keyheat.endpoint.values import check_item
from keyheat.model.limits import TRANSACT_BYTES
from keyheat.model.resources import Refusal
from keyheat.model.table import Op
from keyheat.model.units import item_bytes, read_units
from keyheat.words import Direction

Answer = dict[str, Any]
AskedOp = tuple[Table, Op, bytes, WriteBill | None]
"""What a table is asked for: the operation, the stored key it is for, and for a write its capacity.bill."""
NO_REASON = {"Code": "None"}
SEVERAL = "Transaction request cannot include multiple operations on one item"
FAILED = "ConditionalCheckFailed", "The conditional request failed"
DUPLICATE = "DuplicateItem", "Duplicate primary key exists in table"
ASK: dict[str, tuple[Callable[[Table, Request], WriteRequest], tuple[str, ...]]] = {
    "Put": (single.put_request, ("TableName", "Item")),
    "Update": (single.update_request, ("TableName", "Key", "UpdateExpression")),
    "Delete": (single.delete_request, ("TableName", "Key")),
    "ConditionCheck": (single.delete_request, ("TableName", "Key", "ConditionExpression")),
}
"""How each kind is read, and the members that it must have."""


@dataclass(slots=True)
class TransactionStep:
    """One operation of a transaction: what is asked, what it would change and cost, why it cannot be.

    `kind`: a key of `ASK`, or `Insert`, a put of an item that must not be there.
    """

    kind: str
    table: Table
    write: WriteRequest
    entry: Request
    change: ItemChange | None = None
    cost: WriteBill | None = None
    reason: Answer | None = None


def transact_write_items(context: Context, request: Request) -> Answer:
    """Up to 100 puts, updates, deletes and condition checks of different items."""
    digest = digest_of(request.get("TransactItems"))
    checked("TransactWriteItems", request)
    steps = [_step(context, entry, request) for entry in request["TransactItems"]]
    return write_together(context, "TransactWriteItems", steps, request, digest)


def write_together(
    context: Context, operation: str, steps: Sequence[TransactionStep], request: Request, digest: bytes
) -> Answer:
    """Make all of these writes, or none: what was consumed, if that is to be told.

    `digest` is of what the request asks for, where it may come twice with one token; `operation` is as its
    metrics have it, with a further dimension where there is one. Raises `ServiceError`.
    """
    capacity.check_distinct([(step.table.name, step.write.key) for step in steps], SEVERAL)
    aims = [Aim(step.table, Direction.WRITE, step.write.key[0]) for step in steps]
    _meet_faults(context, operation, aims)
    now_s, level, consumed = context.now_s, level_of(request), ConsumedByTable()
    token, tokens = request.get("ClientRequestToken"), steps[0].table.items.tokens
    if token is not None and tokens.seen(token, digest, now_s):  # it changes nothing, and reads every item
        for step in steps:
            units = _read_units(step.table.items.get(step.write.key[0]))
            consumed.spend(step.table.name, ConsumedCapacity(units))
        return consumed.rendered(level, "ReadCapacityUnits")
    _check_meetings([(step.table, step.write.key[0]) for step in steps], now_s)
    for step in steps:
        _work_out(step)
    if sum(step.change.new_bytes for step in steps if step.change is not None) > TRANSACT_BYTES:
        raise validation_error("Collection size exceeded: Transaction request cannot exceed 4 MB")
    ops = [_asked(step) for step in steps]
    _ask(context, operation, ops, [step.reason for step in steps])
    for step in steps:
        if step.change is not None:
            capacity.make(step.table, step.change, now_s)
    for step in steps:  # the transaction is under way on its items until it is answered
        step.table.ongoing.begin((step.write.key[0],), now_s)
    if takes_s := context.service.durations.transaction_s:
        context.delay().waits_s += takes_s
    if token is not None:
        tokens.add(token, digest, now_s)
    for step in steps:
        if step.cost is not None:
            consumed.spend(step.table.name, step.cost.consumed)
    return consumed.rendered(level, "WriteCapacityUnits")


def _check_meetings(items: Sequence[tuple[Table, bytes]], now_s: float) -> None:
    """Raises TransactionCanceledException where another one is under way on any of the items."""
    if not any(table.ongoing.lasts_s for table, _item in items):
        return
    busy = [table.ongoing.meets(item, now_s) for table, item in items]
    for (table, _item), is_busy in zip(items, busy, strict=True):
        if is_busy:
            table.model.minutes.transaction_conflict(now_s)
    if any(busy):
        raise _cancelled([CONFLICT if is_busy else NO_REASON for is_busy in busy])


def _meet_faults(context: Context, operation: str, aims: Sequence[Aim]) -> None:
    """Raises TransactionCanceledException, or another error, where rules of faults strike."""
    struck = context.strike(operation, aims)
    if not struck:
        return
    reasons = [NO_REASON for _ in aims]
    throttled: dict[str, Table] = {}
    for number, refusal in struck.items():
        table = aims[number].table
        reasons[number] = CONFLICT if refusal is None else cancellation(table, refusal)
        if refusal is not None:
            throttled[table.name] = table
    for table in throttled.values():
        table.model.minutes.throttled_request(operation, context.now_s)
    raise _cancelled(reasons)


def _step(context: Context, entry: Any, request: Request) -> TransactionStep:
    if type(entry) is not dict or any(type(operation) is not dict for operation in entry.values()):
        check_shape("TransactWriteItems", request)
        entry = {kind: operation for kind, operation in entry.items() if operation is not None}
    if len(entry) != 1 or not entry.keys() <= ASK.keys():
        raise validation_error("TransactItems can only contain one of Check, Put, Update or Delete")
    ((kind, operation),) = entry.items()
    parse, required = ASK[kind]
    if any(operation.get(member) is None for member in required) or type(operation["TableName"]) is not str:
        check_shape("TransactWriteItems", request)
    table = context.service.catalog.get(operation["TableName"])
    return TransactionStep(kind, table, parse(table, operation), operation)


def _work_out(step: TransactionStep) -> None:
    """What the step would change and cost; or the reason why it cannot be done."""
    old = step.table.items.get(step.write.key[0])
    if not step.write.holds({} if old is None else orjson.loads(json_of(old))):
        new_bytes = 0 if step.write.put is None else item_bytes(step.write.put)
        step.cost = capacity.bill_of_failed(old, new_bytes, transactional=True)
        code, message = DUPLICATE if step.kind == "Insert" else FAILED
        step.reason = {"Code": code, "Message": message}
        if old is not None and step.entry.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
            step.reason["Item"] = Fragment(json_of(old))
        return
    if step.kind == "ConditionCheck":
        step.cost = capacity.bill_of_failed(old, transactional=True)
        return
    try:
        step.change = single.planned(step.table, step.write, old)
    except ServiceError as error:
        if step.kind != "Update" or error.code != "ValidationException":
            raise
        step.cost = capacity.bill_of_failed(old, transactional=True)
        step.reason = {"Code": "ValidationError", "Message": error.message}
        return
    step.cost = capacity.bill(step.change, transactional=True)


def _asked(step: TransactionStep) -> AskedOp:
    assert step.cost is not None, "a step that was worked out has a cost"
    (stored, at), cost = step.write.key, step.cost
    op = Op(direction=Direction.WRITE, position=at, units=cost.units, index_writes=cost.index_writes)
    return step.table, op, stored, cost


def _ask(context: Context, operation: str, ops: Sequence[AskedOp], reasons: Sequence[Answer | None]) -> None:
    """Ask every table for its part. Raises TransactionCanceledException if there are reasons, or refusals."""
    errors, now_s = list(reasons), context.now_s
    tables = {table.name: table for table, *_ in ops}
    for table in tables.values():
        mine = [number for number, (other, *_) in enumerate(ops) if other is table]
        refusals = table.model.admit_together(
            [ops[number][1] for number in mine], now_s, connection=context.connection
        )
        if table.counting is not None:
            _count(table.counting, [ops[number] for number in mine], refusals, now_s)
        for number, refusal in zip(mine, refusals, strict=True):
            if refusal is not None and errors[number] is None:
                errors[number] = cancellation(table, refusal)
        if any(refusals):
            table.model.minutes.throttled_request(operation, now_s)
        if any(reason["Code"] == "ConditionalCheckFailed" for n in mine if (reason := errors[n]) is not None):
            table.model.minutes.conditional_check_failed(now_s)
    if any(errors):
        raise _cancelled([reason or NO_REASON for reason in errors])


def _count(
    counting: Insights, ops: Sequence[AskedOp], refusals: Sequence[Refusal | None], now_s: float
) -> None:
    """Tell Contributor Insights: all were served, or those with a refusal were throttled."""
    served = not any(refusals)
    for (_table, op, stored, cost), refusal in zip(ops, refusals, strict=True):
        if refusal is not None:
            counting.refused(stored, refusal, now_s)
        elif served and cost is not None:
            capacity.count_write(counting, stored, cost, None, now_s)
        elif served:
            counting.read(stored, op.units, now_s)


def _cancelled(reasons: list[Answer]) -> ServiceError:
    codes = ", ".join(reason["Code"] for reason in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return ServiceError("TransactionCanceledException", message, Message=message, CancellationReasons=reasons)


def _read_units(record: bytes | None) -> float:
    return read_units(0 if record is None else size_of(record), consistent=True, transactional=True)


def transact_get_items(context: Context, request: Request) -> Answer:
    """Up to 100 items by key, as they are at one moment; each costs two strongly consistent reads."""
    checked("TransactGetItems", request)
    reads: list[KeyedRead] = []
    for entry in request["TransactItems"]:
        get = entry.get("Get") if type(entry) is dict else None
        if type(get) is not dict or get.get("Key") is None or type(get.get("TableName")) is not str:
            check_shape("TransactGetItems", request)
            raise validation_error("TransactItems can only contain Get")
        table = context.service.catalog.get(get["TableName"])
        key = checked_key(table.schema.keys, check_item(get["Key"]))
        reads.append((table, key, single.projection_of_request(get)))
    return read_together(context, "TransactGetItems", reads, level_of(request))


KeyedRead = tuple[Table, Key, Projection | None]
"""An item by its key, and what is answered of it."""


def read_together(context: Context, operation: str, reads: Sequence[KeyedRead], level: str) -> Answer:
    """These items as they are at one moment; what was consumed, to a level. Raises `ServiceError`."""
    capacity.check_distinct([(table.name, key) for table, key, _ in reads], SEVERAL)
    _meet_faults(context, operation, [Aim(table, Direction.READ, key[0]) for table, key, _ in reads])
    _check_meetings([(table, key[0]) for table, key, _ in reads], context.now_s)
    items = [table.items.get(key[0]) for table, key, _ in reads]
    units = [_read_units(item) for item in items]
    ops: list[AskedOp] = [
        (table, Op(direction=Direction.READ, position=key[1], units=spent), key[0], None)
        for (table, key, _), spent in zip(reads, units, strict=True)
    ]
    _ask(context, operation, ops, [None] * len(ops))
    answer: Answer = {
        "Responses": [
            {} if item is None else {"Item": Fragment(single.shown_item(item, projection))}
            for item, (_, _, projection) in zip(items, reads, strict=True)
        ]
    }
    consumed = ConsumedByTable()
    for (table, _, _), spent in zip(reads, units, strict=True):
        consumed.spend(table.name, ConsumedCapacity(spent))
    return {**answer, **consumed.rendered(level, "ReadCapacityUnits")}
