"""BatchWriteItem and BatchGetItem: many items in one request, each admitted by itself.

What is refused comes back as unprocessed, with HTTP 200 and no reason; only a batch of which nothing was
processed is an error.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orjson import Fragment

from keyheat.endpoint.errors import ServiceError, throttled, validation_error
from keyheat.endpoint.expressions.compiler import Projection
from keyheat.endpoint.itemkeys import Key, checked_key
from keyheat.endpoint.items import capacity, single
from keyheat.endpoint.items.capacity import ConsumedByTable, ConsumedCapacity, level_of
from keyheat.endpoint.items.single import WriteRequest
from keyheat.endpoint.itemstore import size_of
from keyheat.endpoint.legacy import translated
from keyheat.endpoint.requests import Request, check_shape, checked
from keyheat.endpoint.service import Context
from keyheat.endpoint.tables.catalog import Aim, Table
from keyheat.endpoint.values import check_item
from keyheat.model.limits import BATCH_GET_BYTES, BATCH_GET_ITEMS, BATCH_WRITE_ITEMS
from keyheat.model.resources import Refusal
from keyheat.model.units import read_units
from keyheat.words import Direction

DUPLICATES = "Provided list of item keys contains duplicates"
Answer = dict[str, Any]


@dataclass(slots=True)
class BatchProgress:
    """How far a batch came: what each table spent, and what was refused."""

    consumed: ConsumedByTable = field(default_factory=ConsumedByTable)
    refused: list[tuple[Table, Refusal]] = field(default_factory=list)
    processed: int = 0

    def spent(self, table: Table, consumed: ConsumedCapacity) -> None:
        self.processed += 1
        self.consumed.spend(table.name, consumed)

    def require_some(self, operation: str, now_s: float) -> None:
        """Raises the throttling exception if nothing was processed; only then was the request throttled."""
        if self.processed or not self.refused:
            return
        for table in {table.name: table for table, _ in self.refused}.values():
            table.model.minutes.throttled_request(operation, now_s)
        table, refusal = self.refused[0]
        raise throttled(table, refusal, batch=True)


def batch_write_item(context: Context, request: Request) -> Answer:
    """Put and delete up to 25 items; no conditions."""
    checked("BatchWriteItem", request)
    writes = list(_writes_of(context, request))
    _check_count(len(writes), BATCH_WRITE_ITEMS, "BatchWriteItem", request)
    capacity.check_distinct([(table.name, write.key) for table, write, _ in writes], DUPLICATES)
    now_s, progress = context.now_s, BatchProgress()
    unprocessed: dict[str, list[Any]] = {}
    metrics: dict[str, list[Any]] = {}
    aims = [Aim(table, Direction.WRITE, write.key[0]) for table, write, _ in writes]
    struck = context.strike("BatchWriteItem", aims)
    for number, (table, write, entry) in enumerate(writes):
        change = single.planned(table, write, table.items.get(write.key[0]))
        cost = capacity.bill(change)
        refusal = struck.get(number) or table.model.admit_write(
            write.key[1], cost.units, now_s, cost.index_writes, connection=context.connection
        )
        if table.counting is not None:
            capacity.count_write(table.counting, write.key[0], cost, refusal, now_s)
        if refusal is not None:
            progress.refused.append((table, refusal))
            unprocessed.setdefault(table.name, []).append(entry)
            continue
        capacity.make(table, change, now_s)
        progress.spent(table, cost.consumed)
        if (of_item := capacity.collection_metrics(table, write.named, request)) is not None:
            metrics.setdefault(table.name, []).append(of_item)
    progress.require_some("BatchWriteItem", now_s)
    answer = {"UnprocessedItems": unprocessed, **progress.consumed.rendered(level_of(request))}
    return {**answer, "ItemCollectionMetrics": metrics} if metrics else answer


def _writes_of(context: Context, request: Request) -> Iterator[tuple[Table, WriteRequest, Request]]:
    """Every write of the batch, checked, with the entry that asks for it."""
    for name, entries in request["RequestItems"].items():
        if type(entries) is not list:
            raise _misshapen("BatchWriteItem", request)
        table = context.service.catalog.get(name)
        for entry in entries:
            if type(entry) is not dict or len(entry) != 1:
                raise _misshapen("BatchWriteItem", request)
            ((kind, inner),) = entry.items()
            if type(inner) is dict and kind == "PutRequest" and inner.get("Item") is not None:
                yield table, single.put_request(table, {"Item": inner["Item"]}), entry
            elif type(inner) is dict and kind == "DeleteRequest" and inner.get("Key") is not None:
                yield table, single.delete_request(table, {"Key": inner["Key"]}), entry
            else:
                raise _misshapen("BatchWriteItem", request)


def batch_get_item(context: Context, request: Request) -> Answer:
    """Read up to 100 items by key; past 16 MB the rest comes back unprocessed."""
    checked("BatchGetItem", request)
    reads = list(_reads_of(context, request))
    _check_count(len(reads), BATCH_GET_ITEMS, "BatchGetItem", request)
    capacity.check_distinct([(read.table.name, read.key) for read in reads], DUPLICATES)
    now_s, progress, total = context.now_s, BatchProgress(), 0
    responses: dict[str, list[Any]] = {read.table.name: [] for read in reads}
    unprocessed: dict[str, Request] = {}
    aims = [Aim(read.table, Direction.READ, read.key[0]) for read in reads]
    struck = context.strike("BatchGetItem", aims)
    for number, read in enumerate(reads):
        stored = read.table.items.get(read.key[0])
        size = 0 if stored is None else size_of(stored)
        refusal = None
        if total + size <= BATCH_GET_BYTES:
            units = read_units(size, consistent=read.consistent)
            refusal = struck.get(number) or read.table.model.admit_read(
                read.key[1], units, now_s, eventual=not read.consistent, connection=context.connection
            )
            if read.table.counting is not None:
                read.table.counting.read_or_refused(read.key[0], units, refusal, now_s)
            if refusal is None:
                total += size
                progress.spent(read.table, ConsumedCapacity(units))
                if stored is not None:
                    responses[read.table.name].append(Fragment(single.shown_item(stored, read.projection)))
                continue
            progress.refused.append((read.table, refusal))
        rest = unprocessed.setdefault(read.table.name, {**read.entry, "Keys": []})
        rest["Keys"].append(read.named)
    progress.require_some("BatchGetItem", now_s)
    return {
        "Responses": responses,
        "UnprocessedKeys": unprocessed,
        **progress.consumed.rendered(level_of(request)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRead:
    table: Table
    key: Key
    named: Request
    consistent: bool
    projection: Projection | None
    entry: Request


def _reads_of(context: Context, request: Request) -> Iterator[AskedRead]:
    for name, entry in request["RequestItems"].items():
        if type(entry) is not dict or type(entry.get("Keys")) is not list or not entry["Keys"]:
            raise _misshapen("BatchGetItem", request)
        table = context.service.catalog.get(name)
        if entry.get("AttributesToGet") is not None:
            check_shape("BatchGetItem", request)
        projection = single.projection_of_request(translated(entry))
        for named in entry["Keys"]:
            yield AskedRead(
                table=table,
                key=checked_key(table.schema.keys, check_item(named)),
                named=named,
                consistent=entry.get("ConsistentRead") is True,
                projection=projection,
                entry=entry,
            )


def _check_count(count: int, most: int, operation: str, request: Request) -> None:
    if count > most:
        check_shape(operation, request)
        raise validation_error(f"Too many items requested for the {operation} call")
    if count == 0:
        raise _misshapen(operation, request)


def _misshapen(operation: str, request: Request) -> ServiceError:
    """What the API's shapes say about a request that does not fit them."""
    check_shape(operation, request)
    return validation_error(
        f"The batch request list for a table cannot be empty, and every entry of {operation} has one request"
    )
