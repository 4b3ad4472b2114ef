"""Query and Scan, on a table or on one of its indexes.

Capacity is spent on what was looked at; filters, projections and counting do not make a read cheaper.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html
"""

from dataclasses import dataclass

import orjson

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions.compiler import (
    Expressions,
    ParsedCondition,
    Projection,
    require_expressions,
)
from keyheat.endpoint.expressions.keyconditions import KIND, Range, key_range
from keyheat.endpoint.expressions.parsing import PROJECTION
from keyheat.endpoint.itemkeys import key_of, partition_end
from keyheat.endpoint.items import pages
from keyheat.endpoint.items.capacity import ConsumedCapacity, injected, level_of, refused, rendered
from keyheat.endpoint.items.pages import RecordPage, Selection
from keyheat.endpoint.itemstore import Shelf, json_of, size_of
from keyheat.endpoint.keycounts import Insights
from keyheat.endpoint.requests import Request, checked
from keyheat.endpoint.schema import IndexSchema
from keyheat.endpoint.service import Context
from keyheat.endpoint.tables.catalog import Table
from keyheat.endpoint.values import Item, check_item
from keyheat.model.resources import Refusal
from keyheat.model.splits import HASH_BYTES, WHOLE
from keyheat.model.units import read_units
from keyheat.words import Direction

FILTER = "FilterExpression"
WHOLE_LINE: Range = (b"", b"\xff" * (HASH_BYTES + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """A query or a scan as a request states it: of one partition key, or not.

    `operation` is as its metrics have it, with a further dimension where there is one.
    """

    operation: str
    keyed: bool
    table: Table
    index: IndexSchema | None
    stored: Range
    descending: bool
    expressions: Expressions | None
    filter: ParsedCondition | None
    selection: Selection

    @property
    def shelf(self) -> Shelf:
        return self.table.items.items if self.index is None else self.table.items.index(self.index.name)


def query(context: Context, request: Request) -> bytes:
    """Items of one partition key, in the order of the sort key."""
    request = checked("Query", request)
    table = context.service.catalog.get(request["TableName"])
    index = requested_index(table, request)
    require_expressions(request, (KIND, FILTER, PROJECTION))
    if request.get(KIND) is None:
        raise validation_error(
            f"Either the KeyConditions or {KIND} parameter must be specified in the request."
        )
    expressions = Expressions(request)
    keys = table.schema.keys if index is None else index.keys
    condition = expressions.condition(KIND, request[KIND])
    filtering, projection = _filter_and_projection(request, expressions)
    stored = key_range(condition.tree, keys, expressions.values)
    for attribute in keys.attributes:
        if filtering is not None and attribute.name in filtering.attributes:
            what = "QueryFilter" if request.get("QueryFilter") else "Filter Expression"
            raise validation_error(
                f"{what} can only contain non-primary key attributes: Primary key attribute: {attribute.name}"
            )
    descending = request.get("ScanIndexForward") is False
    reading = ReadRequest(
        operation="Query",
        keyed=True,
        table=table,
        index=index,
        stored=_continued(table, index, request, stored, descending=descending, within=True),
        descending=descending,
        expressions=expressions,
        filter=filtering,
        selection=pages.selection_of(request, table.schema.keys, index, projection),
    )
    return _answer(context, reading, request)


def scan(context: Context, request: Request) -> bytes:
    """Items of the whole table or index, or of one of several equal segments of it, in hash order."""
    request = checked("Scan", request)
    table = context.service.catalog.get(request["TableName"])
    index = requested_index(table, request)
    expressions, filtering, projection = None, None, None
    if require_expressions(request, (FILTER, PROJECTION)):
        expressions = Expressions(request)
        filtering, projection = _filter_and_projection(request, expressions)
    reading = ReadRequest(
        operation="Scan",
        keyed=False,
        table=table,
        index=index,
        stored=_continued(table, index, request, _segment(request), descending=False, within=False),
        descending=False,
        expressions=expressions,
        filter=filtering,
        selection=pages.selection_of(request, table.schema.keys, index, projection),
    )
    return _answer(context, reading, request)


def requested_index(table: Table, request: Request) -> IndexSchema | None:
    """The index that a request names, if any. Raises ValidationException."""
    name = request.get("IndexName")
    if name is None:
        return None
    for index in table.schema.indexes:
        if index.name == name:
            if request.get("ConsistentRead") and not index.local:
                raise validation_error("Consistent reads are not supported on global secondary indexes")
            return index
    raise validation_error(f"The table does not have the specified index: {name}")


def _filter_and_projection(
    request: Request, expressions: Expressions
) -> tuple[ParsedCondition | None, Projection | None]:
    text, projected = request.get(FILTER), request.get(PROJECTION)
    filtering = None if text is None else expressions.condition(FILTER, text)
    projection = None if projected is None else expressions.projection(projected)
    expressions.finish()
    return filtering, projection


def _continued(
    table: Table,
    index: IndexSchema | None,
    request: Request,
    stored: Range,
    *,
    descending: bool,
    within: bool,
) -> Range:
    """The rest of the range after ExclusiveStartKey."""
    given = request.get("ExclusiveStartKey")
    if given is None:
        return stored
    start = pages.starting_key(check_item(given), table.schema.keys, index)
    low, high = stored
    if within and not low <= start < high:
        raise validation_error(
            "The provided starting key is outside query boundaries based on provided conditions"
        )
    if not within and not low[:HASH_BYTES] <= start < high:
        raise validation_error(
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey "
            "with correct Segment. TotalSegments: {TotalSegments} Segment: {Segment}".format(**request)
        )
    return (low, start) if descending else (start + b"\0", high)


def _segment(request: Request) -> Range:
    """The part of the hashes that a segment covers."""
    number, total = request.get("Segment"), request.get("TotalSegments")
    if total is None and number is None:
        return WHOLE_LINE
    if total is None:
        raise validation_error(
            "The TotalSegments parameter is required but was not present in the request when Segment "
            "parameter is present"
        )
    if number is None:
        raise validation_error(
            "The Segment parameter is required but was not present in the request when parameter "
            "TotalSegments is present"
        )
    if number >= total:
        raise validation_error(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {number} is not less than TotalSegments: {total}"
        )
    low = (WHOLE * number // total).to_bytes(HASH_BYTES, "big")
    if number == total - 1:
        return low, WHOLE_LINE[1]
    return low, (WHOLE * (number + 1) // total).to_bytes(HASH_BYTES, "big")


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page that was admitted: how many items match, their JSON, its end if there is more, its cost."""

    count: int
    scanned: int
    scanned_bytes: int
    items: bytes | None
    last: bytes | None
    consumed: ConsumedCapacity


def read(context: Context, reading: ReadRequest, limit: int | None, *, consistent: bool) -> PageRead:
    """Look at a page, ask for what it costs, and pick what is answered of it. Raises `ServiceError`."""
    keys = reading.shelf.between(*reading.stored, descending=reading.descending)
    page = pages.read_page(reading.shelf, keys, limit)
    consumed = _consumed(reading, page, consistent=consistent)
    _admit(context, reading, page, consumed.total, consistent=consistent)
    count, items = _items(reading, page)
    last = None
    if page.more:
        item = orjson.loads(json_of(page.records[-1]))
        named = pages.start_attributes(reading.table.schema.keys, reading.index)
        last = orjson.dumps({name: item[name] for name in named})
    return PageRead(count, len(page.records), page.total_bytes, items, last, consumed)


def _answer(context: Context, reading: ReadRequest, request: Request) -> bytes:
    page = read(context, reading, request.get("Limit"), consistent=bool(request.get("ConsistentRead")))
    parts = [b'{"Count":%d,"ScannedCount":%d' % (page.count, page.scanned)]
    if page.items is not None:
        parts += [b',"Items":', page.items]
    if page.last is not None:
        parts += [b',"LastEvaluatedKey":', page.last]
    level = level_of(request)
    if level != "NONE":
        capacity_json = rendered(reading.table.name, page.consumed, level)
        parts += [b',"ConsumedCapacity":', orjson.dumps(capacity_json)]
    parts.append(b"}")
    return b"".join(parts)


def _consumed(reading: ReadRequest, page: RecordPage, *, consistent: bool) -> ConsumedCapacity:
    units, index = read_units(page.total_bytes, consistent=consistent), reading.index
    if index is None:
        return ConsumedCapacity(units)
    if not index.local:
        return ConsumedCapacity(glob={index.name: units})
    # It asks the table for attributes that it does not have, and for every item by itself.
    fetched = _whole(reading, page) if reading.selection.fetches else ()
    fetching = sum(read_units(size_of(record), consistent=consistent) for record in fetched)
    return ConsumedCapacity(fetching, local={index.name: units})


def _whole(reading: ReadRequest, page: RecordPage) -> list[bytes]:
    return [reading.table.items.of_entry(record) for record in page.records]


def _admit(
    context: Context, reading: ReadRequest, page: RecordPage, units: float, *, consistent: bool
) -> None:
    """Ask for the whole page at the place where it begins, though a long scan page may cross partitions."""
    now_s, model = context.now_s, reading.table.model
    begins = reading.stored[0] if page.first is None else page.first
    at = begins[:HASH_BYTES] + begins[partition_end(begins) :]  # its position
    name = None if reading.index is None or reading.index.local else reading.index.name
    partition = reading.stored[0] if reading.keyed else None
    refusal = injected(context, reading.operation, reading.table, Direction.READ, partition, reading.index)
    if refusal is None:
        refusal = model.admit_read(
            at, units, now_s, index=name, eventual=not consistent, connection=context.connection
        )
    if reading.table.counting is not None:
        _count(reading.table.counting, reading, page, units, refusal, now_s)
    if refusal is not None:
        raise refused(context, reading.operation, reading.table, refusal)


def _count(
    counting: Insights,
    reading: ReadRequest,
    page: RecordPage,
    units: float,
    refusal: Refusal | None,
    now_s: float,
) -> None:
    """Tell Contributor Insights of a page: the units of a scan are shared among the items by size."""
    index = reading.index
    of_index = index is not None and not index.local
    keys, name = (index.keys, index.name) if index and of_index else (reading.table.schema.keys, None)
    stored, sizes = [reading.stored[0]], [1]
    if not reading.keyed:
        stored = [key_of(keys, orjson.loads(json_of(record)))[0] for record in page.records]
        sizes = [size_of(record) for record in page.records]
    if refusal is not None and stored:
        counting.refused(stored[0], refusal, now_s)
    elif refusal is None:
        for key, size in zip(stored, sizes, strict=True):
            counting.read(key, units * size / sum(sizes), now_s, name)


def _items(reading: ReadRequest, page: RecordPage) -> tuple[int, bytes | None]:
    """How many items an answer has, and their JSON, None where only the count was wanted."""
    records = _whole(reading, page) if reading.selection.fetches else page.records
    if reading.filter is None and reading.selection.projection is None:
        return len(records), None if reading.selection.count_only else pages.joined(records)
    items: list[Item] = [orjson.loads(json_of(record)) for record in records]
    if reading.filter is not None:
        assert reading.expressions is not None
        test, values = reading.filter.test, reading.expressions.values
        items = [item for item in items if test(item, values)]
    if reading.selection.count_only:
        return len(items), None
    if reading.selection.projection is not None:
        items = [reading.selection.projection.of(item) for item in items]
    return len(items), orjson.dumps(items)
