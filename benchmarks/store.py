"""What the handlers of the item operations cost in this process, without HTTP: microseconds a call.

python -m benchmarks.store. The bounds are what the endpoint's speed over HTTP leaves for each.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks._table import Row, show
from keyheat.endpoint.dynamodb import CONTROL, DATA
from keyheat.endpoint.service import Context, Service

ITEMS = 100_000
SCALE = 1_000_000.0
"""Every request is admitted, so that the whole path is measured."""


@dataclass(frozen=True, slots=True)
class Call:
    """One operation: its name, the request with a given number, and the most microseconds it may take."""

    title: str
    operation: str
    request: Callable[[int], dict[str, Any]]
    bound_us: float


def order(number: int, groups: int) -> dict[str, Any]:
    """An item of about 1 KB."""
    return {
        "pk": {"S": f"order-{number}"},
        "group": {"S": f"group-{number % groups}"},
        "at": {"N": str(1_700_000_000 + number)},
        "count": {"N": "1"},
        "payload": {"S": "x" * 930},
    }


def read(number: int) -> dict[str, Any]:
    """A read of one item."""
    return {"TableName": "plain", "Key": {"pk": {"S": f"order-{number}"}}}


def counter(number: int, items: int) -> dict[str, Any]:
    """An update of a counter."""
    return {
        "TableName": "plain",
        "Key": {"pk": {"S": f"order-{number % items}"}},
        "UpdateExpression": "SET #c = #c + :one",
        "ExpressionAttributeNames": {"#c": "count"},
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }


def page(number: int, groups: int) -> dict[str, Any]:
    """A query of ten items on an index."""
    return {
        "TableName": "indexed",
        "IndexName": "by_group",
        "KeyConditionExpression": "#g = :g",
        "ExpressionAttributeNames": {"#g": "group"},
        "ExpressionAttributeValues": {":g": {"S": f"group-{number % groups}"}},
        "Limit": 10,
    }


def calls() -> Iterator[Call]:
    """What is measured, in this order: the first ones make the items that the others read."""
    groups = ITEMS // 20

    def put(table: str) -> Callable[[int], dict[str, Any]]:
        return lambda number: {"TableName": table, "Item": order(number, groups)}

    yield Call("PutItem, 1 KB, new", "PutItem", put("plain"), 35)
    yield Call("PutItem, 1 KB, again", "PutItem", put("plain"), 35)
    yield Call("GetItem, 1 KB", "GetItem", read, 15)
    yield Call("UpdateItem, counter", "UpdateItem", lambda n: counter(n, ITEMS), 120)
    yield Call("PutItem, 1 KB, one index", "PutItem", put("indexed"), 70)
    yield Call("Query, 10 of an index", "Query", lambda n: page(n, groups), 120)


def make_tables(service: Service) -> None:
    """One table without an index, one with."""
    key = {
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    names = [{"AttributeName": "pk", "AttributeType": "S"}]
    context = Context(service, service.clock())
    CONTROL["CreateTable"](context, {"TableName": "plain", "AttributeDefinitions": names, **key})
    index = {
        "IndexName": "by_group",
        "KeySchema": [
            {"AttributeName": "group", "KeyType": "HASH"},
            {"AttributeName": "at", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "ALL"},
    }
    names += [
        {"AttributeName": "group", "AttributeType": "S"},
        {"AttributeName": "at", "AttributeType": "N"},
    ]
    CONTROL["CreateTable"](
        context,
        {"TableName": "indexed", "AttributeDefinitions": names, "GlobalSecondaryIndexes": [index], **key},
    )


def measured(service: Service, call: Call) -> Row:
    """Mean microseconds of one call, its request parsed anew from JSON but not on the clock."""
    handler, total_s, worst_s = DATA[call.operation], 0.0, 0.0
    for number in range(ITEMS):
        request = orjson.loads(orjson.dumps(call.request(number)))
        start_s = time.perf_counter()
        handler(Context(service, service.clock()), request)
        took_s = time.perf_counter() - start_s
        total_s += took_s
        worst_s = max(worst_s, took_s)
    note = f"worst {worst_s * 1e3:.1f} ms"
    return Row(what=call.title, measured=total_s / ITEMS * 1e6, unit="us", at_most=call.bound_us, note=note)


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    service = Service(clock=time.time, scale=SCALE)
    make_tables(service)
    rows = [measured(service, call) for call in calls()]
    return 0 if show(f"The handlers alone, {ITEMS:,} items", rows) else 1


if __name__ == "__main__":
    sys.exit(main())
