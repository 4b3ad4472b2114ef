"""DynamoDB's operations by name, and its wire protocol: JSON 1.0 requests to handlers, results to responses.

Each answers in the shape of https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations.html

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
"""

import itertools
import logging
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from zlib import crc32

import orjson

from keyheat.addresses import CLOCK, SCALE
from keyheat.endpoint.errors import CORAL, ServiceError, internal_error, nested_too_deep, serialization_error
from keyheat.endpoint.http import Delivery, Headers
from keyheat.endpoint.items.batches import batch_get_item, batch_write_item
from keyheat.endpoint.items.reads import query, scan
from keyheat.endpoint.items.single import delete_item, get_item, put_item, update_item
from keyheat.endpoint.items.transactions import transact_get_items, transact_write_items
from keyheat.endpoint.partiql.operations import STATEMENTS, metric_of, tables_of
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.service import Context, Handler, Regions, Service
from keyheat.endpoint.stream_operations import STREAMS
from keyheat.endpoint.tables import describe
from keyheat.endpoint.tables.create import create_table, delete_table
from keyheat.endpoint.tables.update import update_table
from keyheat.model.minutes import Minutes
from keyheat.words import THROTTLE_CODES

LOG = logging.getLogger(__name__)
TARGET = b"DynamoDB_20120810."
STREAMS_TARGET = b"DynamoDBStreams_20120810."
CONTENT_TYPE = b"application/x-amz-json-1.0"
OK = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\n"
    b"x-amzn-RequestId: %b\r\nx-amz-crc32: %d\r\nContent-Length: %d\r\n\r\n%b"
)
OK_ALONE, _, _ = OK.partition(b"%b")
NOTHING = b"\r\nx-amz-crc32: %d\r\nContent-Length: 2\r\n\r\n{}" % crc32(b"{}")
CONTROL_OK = OK.replace(b"x-amzn", f"{CLOCK}: %f\r\n{SCALE}: %r\r\nx-amzn".encode(), 1)
FAILED = OK.replace(b"200 OK", b"%d %b")
PHRASES = {400: b"Bad Request", 500: b"Internal Server Error", 503: b"Service Unavailable"}
# Only the member Count is followed by a bare number: attributes are objects, and quotes in text are escaped.
COUNT = re.compile(rb'"Count":(\d+)')

# Refusals that have metrics of their own; every other 4xx is a user error.
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html (UserErrors)
NOT_USER_ERRORS = THROTTLE_CODES | {"ConditionalCheckFailedException"}


def request_ids(rng: random.Random) -> Iterator[bytes]:
    """Request ids as long as DynamoDB's, no two alike: a random part, then a counter.

    Its last digits are ready: to write out every number took as long as to store an item.
    """
    prefix = "".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=32)).encode()
    last = tuple(b"%03d" % number for number in range(1000))
    thousands = map((prefix + b"%017d").__mod__, itertools.count())
    return itertools.chain.from_iterable(map(lambda begun: map(begun.__add__, last), thousands))


CONTROL: dict[str, Handler] = {
    "CreateTable": create_table,
    "DeleteTable": delete_table,
    "DescribeContinuousBackups": describe.describe_continuous_backups,
    "DescribeContributorInsights": describe.describe_contributor_insights,
    "DescribeEndpoints": describe.describe_endpoints,
    "DescribeLimits": describe.describe_limits,
    "DescribeTable": describe.describe_table,
    "DescribeTimeToLive": describe.describe_time_to_live,
    "ListTables": describe.list_tables,
    "ListTagsOfResource": describe.list_tags,
    "TagResource": describe.tag_resource,
    "UntagResource": describe.untag_resource,
    "UpdateContinuousBackups": describe.update_continuous_backups,
    "UpdateContributorInsights": describe.update_contributor_insights,
    "UpdateTable": update_table,
    "UpdateTimeToLive": describe.update_time_to_live,
}
"""Operations on tables themselves."""
DATA: dict[str, Handler] = {
    "PutItem": put_item,
    "GetItem": get_item,
    "UpdateItem": update_item,
    "DeleteItem": delete_item,
    "Query": query,
    "Scan": scan,
    "BatchWriteItem": batch_write_item,
    "BatchGetItem": batch_get_item,
    "TransactWriteItems": transact_write_items,
    "TransactGetItems": transact_get_items,
    **STATEMENTS,
}
"""Operations on items."""
PLAIN = ("PutItem", "GetItem", "UpdateItem", "DeleteItem")
RETURNS_ITEMS = ("Query", "Scan")
CHANGES_TABLES = ("CreateTable", "DeleteTable")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. Handlers of those on items check the request themselves, as far as it needs checking."""

    name: str
    handler: Handler
    api: str = "dynamodb"
    on_items: bool = False
    plain: bool = False  # of one item of one table


def operations(control: Mapping[str, Handler], data: Mapping[str, Handler]) -> dict[bytes, Operation]:
    """Operations by the value of `X-Amz-Target` that names them."""
    by_target = {TARGET + name.encode(): Operation(name, handler) for name, handler in control.items()}
    for name, handler in data.items():
        by_target[TARGET + name.encode()] = Operation(name, handler, on_items=True, plain=name in PLAIN)
    for name, handler in STREAMS.items():
        by_target[STREAMS_TARGET + name.encode()] = Operation(name, handler, "dynamodbstreams")
    return by_target


def _tables_of(operation: str, request: dict[str, Any]) -> Iterable[str]:
    """The tables that a request on items names."""
    if operation in STATEMENTS:
        return tables_of(operation, request)
    if operation in ("BatchGetItem", "BatchWriteItem"):
        return list(request["RequestItems"])
    if operation in ("TransactGetItems", "TransactWriteItems"):
        actions = (action for item in request["TransactItems"] for action in item.values() if action)
        return {action["TableName"] for action in actions}
    return (request["TableName"],)


@dataclass(slots=True)
class DynamoDB:
    """DynamoDB's API in all Regions of one endpoint. `ids` are those of responses."""

    regions: Regions
    operations: Mapping[bytes, Operation]
    ids: Iterator[bytes] = field(default_factory=lambda: request_ids(random.Random()))

    def answer(
        self, method: bytes, url: bytes, headers: Headers, body: bytes, connection: int | None
    ) -> bytes | Delivery:
        regions = self.regions
        operation = self.operations.get(headers[b"x-amz-target"])
        if operation is None or method != b"POST":
            target = headers[b"x-amz-target"].decode("latin-1")
            return self.unknown(f"The local endpoint has no operation {target}")
        regions.requests[operation.name] += 1
        try:
            service = regions.signed_for(headers)
        except ServiceError as error:
            return self._refused(regions.home, error)
        context = Context(service, service.clock(), connection)
        raw = self._answer(context, operation, body)
        if context.delivery is None:
            return raw
        context.delivery.raw = raw
        return context.delivery

    def _answer(self, context: Context, operation: Operation, body: bytes) -> bytes:
        started_s, service = perf_counter(), context.service
        try:
            request = parsed(body)
            if not operation.on_items:
                check_shape(operation.name, request, operation.api)
                if service.faults is not None:
                    service.faults.strike_table(context, operation.name, request)
            result = operation.handler(context, request)
            out = result if isinstance(result, bytes) else orjson.dumps(result)
            if operation.on_items:
                _completed(context, operation, request, out, (perf_counter() - started_s) * 1000.0)
            elif operation.name in CHANGES_TABLES:
                service.metrics.note_tables(service.catalog, context.now_s)
        except ServiceError as error:
            if error.code == "ResourceNotFoundException" and isinstance(request.get("TableName"), str):
                self.regions.warn_where(service, request["TableName"])
            return self._refused(service, error)
        except Exception as error:  # noqa: BLE001 (one request must not end the connection)
            return self._failed(context, operation, body, error)
        if out == b"{}":  # as nearly every write is answered
            return OK_ALONE + next(self.ids) + NOTHING
        if not operation.on_items:
            return CONTROL_OK % (service.clock(), service.scale, next(self.ids), crc32(out), len(out), out)
        return OK % (next(self.ids), crc32(out), len(out), out)

    def unknown(self, message: str) -> bytes:
        return self._refused(
            self.regions.home, ServiceError("UnknownOperationException", message, prefix=CORAL)
        )

    def failed(self, error: ServiceError) -> bytes:
        out = orjson.dumps(error.body())
        phrase = PHRASES.get(error.status, b"Error")
        return FAILED % (error.status, phrase, next(self.ids), crc32(out), len(out), out)

    def _refused(self, service: Service, error: ServiceError) -> bytes:
        """Count an error of a DynamoDB request, and answer it."""
        if error.status < 500 and error.code not in NOT_USER_ERRORS:
            service.metrics.account.user_error(service.clock())
        return self.failed(error)

    def _failed(self, context: Context, operation: Operation, body: bytes, error: Exception) -> bytes:
        """Answer a request whose handler failed, first checking that it has its API's shape.

        So the hot operations need not check the shape of every request.
        """
        try:
            request = parsed(body)
            check_shape(operation.name, request, operation.api)
            LOG.error("%s failed inside the endpoint", operation.name, exc_info=error)
            for minutes in _minutes_of(context, operation, request):
                minutes.system_error(operation.name, context.now_s)
        except ServiceError as mistake:
            return self._refused(context.service, mistake)
        return self._refused(context.service, internal_error())


def _minutes_of(context: Context, operation: Operation, request: dict[str, Any]) -> Iterator[Minutes]:
    """The datapoints of each table that a data request names."""
    for table in _tables_of(operation.name, request) if operation.on_items else ():
        with suppress(ServiceError):  # a statement of a batch may name a missing table
            yield context.service.catalog.get(table).model.minutes


def _completed(
    context: Context, operation: Operation, request: dict[str, Any], out: bytes, latency_ms: float
) -> None:
    if operation.plain:
        minutes = context.service.catalog.get(request["TableName"]).model.minutes
        minutes.completed(operation.name, latency_ms, context.now_s)
        return
    count = COUNT.search(out) if operation.name in RETURNS_ITEMS else None
    returned = int(count[1]) if count else None
    name = metric_of(operation.name, request) if operation.name in STATEMENTS else operation.name
    for minutes in _minutes_of(context, operation, request):
        minutes.completed(name, latency_ms, context.now_s, returned)


def parsed(body: bytes) -> dict[str, Any]:
    """The request of a JSON body. Raises SerializationException, ValidationException for one too deep."""
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if "depth limit" in error.msg and body.startswith(b"{"):  # only values go as deep in a request
            raise nested_too_deep() from None
        raise serialization_error(f"Not well-formed JSON: {error}") from None
    if type(request) is not dict:
        raise serialization_error("Start of structure or map found where not expected.")
    return request
