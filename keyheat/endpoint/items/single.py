"""PutItem, GetItem, UpdateItem and DeleteItem.

A write is worked out completely, then asked for, then made: a refused one leaves no trace.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB.html
"""

from typing import Any, NamedTuple

import orjson
from orjson import Fragment

from keyheat.endpoint.errors import ServiceError, transaction_conflict, validation_error
from keyheat.endpoint.expressions.compiler import (
    Expressions,
    ParsedCondition,
    Projection,
    require_expressions,
)
from keyheat.endpoint.expressions.updates import Update
from keyheat.endpoint.itemkeys import Key, check_index_keys, checked_item_key, checked_key
from keyheat.endpoint.items.capacity import (
    TOO_LARGE,
    TOO_LARGE_TO_UPDATE,
    ConsumedCapacity,
    WriteBill,
    admit,
    bill,
    bill_of_failed,
    check_size,
    collection_metrics,
    injected,
    level_of,
    make,
    refused,
    rendered,
)
from keyheat.endpoint.itemstore import ItemChange, json_of, size_of
from keyheat.endpoint.requests import Request, checked
from keyheat.endpoint.service import Context
from keyheat.endpoint.tables.catalog import Table
from keyheat.endpoint.values import INVALID, Item, check_item
from keyheat.model.units import item_bytes, read_units
from keyheat.words import Direction

CONDITION, UPDATE = "ConditionExpression", "UpdateExpression"
Answer = dict[str, Any]


class WriteRequest(NamedTuple):
    """A put, update or delete as a request states it: what, under which key, on which condition."""

    key: Key
    named: Item
    condition: ParsedCondition | None = None
    expressions: Expressions | None = None
    put: Item | None = None
    update: Update | None = None

    def holds(self, item: Item) -> bool:
        if self.condition is None:
            return True
        assert self.expressions is not None
        return self.condition.test(item, self.expressions.values)


def put_request(table: Table, request: Request) -> WriteRequest:
    """A put, checked. Raises ValidationException."""
    item = check_item(request["Item"])
    expressions, condition, _ = _parsed(request, (CONDITION,))
    key = checked_item_key(table.schema.keys, item)
    if table.schema.indexes:
        check_index_keys(table.schema.indexes, item)
    return WriteRequest(key, item, condition, expressions, item)


def delete_request(table: Table, request: Request) -> WriteRequest:
    """A delete, or a condition check, checked. Raises ValidationException."""
    named = check_item(request["Key"])
    expressions, condition, _ = _parsed(request, (CONDITION,))
    return WriteRequest(checked_key(table.schema.keys, named), named, condition, expressions)


def update_request(table: Table, request: Request) -> WriteRequest:
    """An update, checked as far as the item's content does not matter. Raises ValidationException."""
    named = check_item(request["Key"])
    expressions, condition, update = _parsed(request, (UPDATE, CONDITION))
    key = checked_key(table.schema.keys, named)
    if update is not None:
        check_no_key(table, update)
    return WriteRequest(key, named, condition, expressions, update=update or Update((), (), frozenset(), ()))


def _parsed(
    request: Request, kinds: tuple[str, ...]
) -> tuple[Expressions | None, ParsedCondition | None, Update | None]:
    if not require_expressions(request, kinds):
        return None, None, None
    expressions, text = Expressions(request), request.get(CONDITION)
    condition = None if text is None else expressions.condition(CONDITION, text)
    change = request.get(UPDATE) if UPDATE in kinds else None
    update = None if change is None else expressions.update(change)
    expressions.finish()
    return expressions, condition, update


def check_no_key(table: Table, update: Update) -> None:
    """Raises ValidationException for an update of an attribute that is part of the key."""
    keys = [attribute.name for attribute in table.schema.keys.attributes]
    for path in update.paths:
        if path[0] in keys:
            raise validation_error(
                INVALID + f"Cannot update attribute {path[0]}. This attribute is part of the key"
            )


def planned(table: Table, action: WriteRequest, old: bytes | None) -> ItemChange:
    """What a checked write changes. Raises ValidationException for an update that the item does not allow."""
    if action.put is not None:
        change = table.items.plan(action.key, old, action.put)
        check_size(change, TOO_LARGE)
        return change
    if action.update is None:
        return table.items.plan(action.key, old, None)
    before: Item = {} if old is None else orjson.loads(json_of(old))
    after: Item = dict(action.named) if old is None else orjson.loads(json_of(old))
    if action.expressions is not None:
        action.update.run(before, after, action.expressions.values)
        check_index_keys(table.schema.indexes, after)
    change = table.items.plan(action.key, old, after)
    check_size(change, TOO_LARGE_TO_UPDATE)
    return change


def write(
    context: Context, operation: str, table: Table, action: WriteRequest, shows_failed: str | None = None
) -> tuple[ItemChange, WriteBill]:
    """Test, bill, ask and make one write: what it changed and cost. Raises `ServiceError`.

    `operation` is as its metrics have it, with a further dimension where there is one; `shows_failed`:
    ReturnValuesOnConditionCheckFailure.
    """
    now_s, old = context.now_s, table.items.get(action.key[0])
    if table.ongoing.lasts_s and table.ongoing.meets(action.key[0], now_s):
        table.model.minutes.transaction_conflict(now_s)
        raise transaction_conflict()
    if action.condition is not None and not action.holds({} if old is None else orjson.loads(json_of(old))):
        new_bytes = 0 if action.put is None else item_bytes(action.put)
        admit(context, table, operation, action.key, bill_of_failed(old, new_bytes))
        table.model.minutes.conditional_check_failed(now_s)
        shown: Answer = {}
        if old is not None and shows_failed == "ALL_OLD":
            shown["Item"] = Fragment(json_of(old))
        raise ServiceError("ConditionalCheckFailedException", "The conditional request failed", **shown)
    change = planned(table, action, old)
    cost = bill(change)
    admit(context, table, operation, action.key, cost)
    make(table, change, now_s)
    return change, cost


def _write(context: Context, operation: str, table: Table, action: WriteRequest, request: Request) -> Answer:
    """Make one write; return the answer that the request asks for."""
    shows_failed = request.get("ReturnValuesOnConditionCheckFailure")
    change, cost = write(context, operation, table, action, shows_failed)
    answer: Answer = returned(action, change, request.get("ReturnValues"))
    level = level_of(request)
    if level != "NONE":
        answer["ConsumedCapacity"] = rendered(table.name, cost.consumed, level)
    if (metrics := collection_metrics(table, action.named, request)) is not None:
        answer["ItemCollectionMetrics"] = metrics
    return answer


def returned(action: WriteRequest, change: ItemChange, wish: Any) -> Answer:
    """The member Attributes that ReturnValues wishes for, if any."""
    if wish is None or wish == "NONE":
        return {}
    stored = change.old if wish in ("ALL_OLD", "UPDATED_OLD") else change.new
    if stored is None:
        return {}
    if wish in ("ALL_OLD", "ALL_NEW"):
        return {"Attributes": Fragment(json_of(stored))}
    assert action.update is not None
    changed = Projection(action.update.paths).of(orjson.loads(json_of(stored)))
    return {"Attributes": changed} if changed else {}


def _only_all_old(request: Request) -> None:
    if request.get("ReturnValues") not in (None, "NONE", "ALL_OLD"):
        raise validation_error("ReturnValues can only be ALL_OLD or NONE")


def put_item(context: Context, request: Request) -> bytes | Answer:
    """Store an item, in the place of the one under its key."""
    request = checked("PutItem", request)
    table = context.service.catalog.get(request["TableName"])
    _only_all_old(request)
    return _write(context, "PutItem", table, put_request(table, request), request) or b"{}"


def delete_item(context: Context, request: Request) -> bytes | Answer:
    request = checked("DeleteItem", request)
    table = context.service.catalog.get(request["TableName"])
    _only_all_old(request)
    return _write(context, "DeleteItem", table, delete_request(table, request), request) or b"{}"


def update_item(context: Context, request: Request) -> bytes | Answer:
    """Change an item, or make it if it is not there."""
    request = checked("UpdateItem", request)
    table = context.service.catalog.get(request["TableName"])
    return _write(context, "UpdateItem", table, update_request(table, request), request) or b"{}"


def get_item(context: Context, request: Request) -> bytes | Answer:
    """One item, or the named parts of it, read eventually consistent unless asked otherwise."""
    request = checked("GetItem", request)
    table = context.service.catalog.get(request["TableName"])
    projection = projection_of_request(request)
    key = checked_key(table.schema.keys, check_item(request["Key"]))
    stored = table.items.get(key[0])
    consistent = bool(request.get("ConsistentRead"))
    units = read_units(0 if stored is None else size_of(stored), consistent=consistent)
    now_s = context.now_s
    refusal = None
    if context.service.faults is not None:
        refusal = injected(context, "GetItem", table, Direction.READ, key[0])
    if refusal is None:
        refusal = table.model.admit_read(
            key[1], units, now_s, eventual=not consistent, connection=context.connection
        )
    if table.counting is not None:
        table.counting.read_or_refused(key[0], units, refusal, now_s)
    if refusal is not None:
        raise refused(context, "GetItem", table, refusal)
    level = level_of(request)
    item_json = None if stored is None else shown_item(stored, projection)
    if level == "NONE":
        return b"{}" if item_json is None else b'{"Item":' + item_json + b"}"
    answer: Answer = {} if item_json is None else {"Item": Fragment(item_json)}
    answer["ConsumedCapacity"] = rendered(table.name, ConsumedCapacity(units), level)
    return answer


def projection_of_request(request: Request) -> Projection | None:
    """The projection of a request that has no other expression."""
    if not require_expressions(request, ("ProjectionExpression",)):
        return None
    expressions = Expressions(request)
    projection = expressions.projection(request["ProjectionExpression"])
    expressions.finish()
    return projection


def shown_item(stored: bytes, projection: Projection | None) -> bytes:
    json = json_of(stored)
    return json if projection is None else orjson.dumps(projection.of(orjson.loads(json)))
