"""What the handlers of the item operations cost in this process, without HTTP: microseconds a call.

Run: `python benchmarks/store.py [ITEMS]`. The bounds are what the endpoint's speed over HTTP leaves for each.
"""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import orjson
import psutil

from tablemodel.endpoint.control import CONTROL
from tablemodel.endpoint.data import DATA
from tablemodel.endpoint.service import Service

MEGABYTE = 1_000_000
SCALE = 1_000_000.0
"""Every request is admitted, so that the whole path is measured."""


@dataclass(frozen=True, slots=True)
class Row:
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


def rows(items: int) -> Iterable[Row]:
    """What is measured, in this order: the first rows make the items that the others read."""
    groups = max(1, items // 20)
    yield Row("PutItem, 1 KB, new", "PutItem", lambda n: {"TableName": "plain", "Item": order(n, groups)}, 35)
    yield Row(
        "PutItem, 1 KB, again", "PutItem", lambda n: {"TableName": "plain", "Item": order(n, groups)}, 35
    )
    yield Row(
        "GetItem, 1 KB",
        "GetItem",
        lambda n: {"TableName": "plain", "Key": {"pk": {"S": f"order-{n}"}}},
        15,
    )
    yield Row("UpdateItem, counter", "UpdateItem", lambda n: counter(n, items), 120)
    yield Row(
        "PutItem, 1 KB, one index",
        "PutItem",
        lambda n: {"TableName": "indexed", "Item": order(n, groups)},
        70,
    )
    yield Row("Query, 10 of an index", "Query", lambda n: page(n, groups), 120)


def make_tables(service: Service) -> None:
    """One table without an index, one with."""
    key = {
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    names = [{"AttributeName": "pk", "AttributeType": "S"}]
    CONTROL["CreateTable"](service, {"TableName": "plain", "AttributeDefinitions": names, **key})
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
        service,
        {"TableName": "indexed", "AttributeDefinitions": names, "GlobalSecondaryIndexes": [index], **key},
    )


def measured(service: Service, row: Row, count: int) -> tuple[float, float]:
    """Mean and worst microseconds of one call, its request parsed anew from JSON but not on the clock."""
    handler, total, worst = DATA[row.operation], 0.0, 0.0
    for number in range(count):
        request = orjson.loads(orjson.dumps(row.request(number)))
        start = time.perf_counter()
        handler(service, request)
        took = time.perf_counter() - start
        total += took
        worst = max(worst, took)
    return total / count * 1e6, worst * 1e6


def main() -> None:
    """Print the table."""
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    service = Service(clock=time.time, scale=SCALE)
    make_tables(service)
    resident = psutil.Process().memory_info().rss
    print(f"{items:,} items; {resident / MEGABYTE:.0f} MB before them")
    print(f"{'operation':<26}{'us':>8}{'bound':>8}{'worst ms':>10}{'MB':>8}")
    for row in rows(items):
        mean_us, worst_us = measured(service, row, items)
        resident = psutil.Process().memory_info().rss
        print(
            f"{row.title:<26}{mean_us:>8.1f}{row.bound_us:>8.0f}"
            f"{worst_us / 1000:>10.1f}{resident / MEGABYTE:>8.0f}"
        )


if __name__ == "__main__":
    main()
