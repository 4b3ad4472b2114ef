"""DynamoDB's wire protocol: JSON 1.0 requests to handlers, and their results to responses.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
"""

import itertools
import logging
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any
from zlib import crc32

import orjson

from keyheat.addresses import CLOCK
from keyheat.endpoint.cloudwatch.metrics import Metrics
from keyheat.endpoint.errors import CORAL, ServiceError, internal_error, nested_too_deep
from keyheat.endpoint.partiql.operations import STATEMENTS, metric_of, tables_of
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.service import Handler, Service
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
CONTROL_OK = OK.replace(b"x-amzn", CLOCK.encode() + b": %f\r\nx-amzn", 1)
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


def _one_table(request: dict[str, Any]) -> Iterable[str]:
    return (request["TableName"],)


def _batch_tables(request: dict[str, Any]) -> Iterable[str]:
    return list(request["RequestItems"])


def _transaction_tables(request: dict[str, Any]) -> Iterable[str]:
    return {part["TableName"] for item in request["TransactItems"] for part in item.values() if part}


TABLES_OF: dict[str, Callable[[dict[str, Any]], Iterable[str]]] = {
    "BatchGetItem": _batch_tables,
    "BatchWriteItem": _batch_tables,
    "TransactGetItems": _transaction_tables,
    "TransactWriteItems": _transaction_tables,
    **{name: partial(tables_of, name) for name in STATEMENTS},
}
RETURNS_ITEMS = {"Query", "Scan"}
CHANGES_TABLES = {"CreateTable", "DeleteTable"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its handler, and for data operations how to read the tables a request names."""

    name: str
    handler: Handler
    tables: Callable[[dict[str, Any]], Iterable[str]] | None = None
    returns_items: bool = False
    api: str = "dynamodb"
    metric: Callable[[dict[str, Any]], str] | None = None  # where more than its name tells it apart
    plain: bool = False  # of one item of one table, and told apart by its name


def _of_items(name: str, handler: Handler) -> Operation:
    return Operation(
        name,
        handler,
        TABLES_OF.get(name, _one_table),
        name in RETURNS_ITEMS,
        metric=partial(metric_of, name) if name in STATEMENTS else None,
        plain=name not in TABLES_OF and name not in RETURNS_ITEMS,
    )


def operations(
    control: Mapping[str, Handler], data: Mapping[str, Handler], streams: Mapping[str, Handler]
) -> dict[bytes, Operation]:
    """Operations by the value of `X-Amz-Target` that names them."""
    return {
        **{TARGET + name.encode(): Operation(name, handler) for name, handler in control.items()},
        **{TARGET + name.encode(): _of_items(name, handler) for name, handler in data.items()},
        **{
            STREAMS_TARGET + name.encode(): Operation(name, handler, api="dynamodbstreams")
            for name, handler in streams.items()
        },
    }


@dataclass(slots=True, kw_only=True)
class DynamoDB:
    """One Region: what it holds, what CloudWatch knows of it, and answers to requests for it.

    `asked` counts requests by operation, whatever they are answered; `table_missing` hears the name of a
    table that is not there.
    """

    service: Service
    metrics: Metrics
    ids: Iterator[bytes]
    asked: defaultdict[str, int]
    table_missing: Callable[[Service, str], None]

    def answer(self, operation: Operation, body: bytes) -> bytes:
        """The whole response to one request that is signed."""
        started_s = perf_counter()
        self.asked[operation.name] += 1
        service = self.service
        try:
            request = parsed(body)
            if service.faults is None:
                result = operation.handler(service, request)
            else:
                result = service.faults.handle(operation, service, request)
            out = result if isinstance(result, bytes) else orjson.dumps(result)
            if operation.tables is not None:
                self._completed(operation, request, out, (perf_counter() - started_s) * 1000.0)
            elif operation.name in CHANGES_TABLES:
                self.metrics.note_tables()
        except ServiceError as error:
            if error.code == "ResourceNotFoundException" and isinstance(request.get("TableName"), str):
                self.table_missing(service, request["TableName"])
            return self.refused(error)
        except Exception as error:  # noqa: BLE001 (one request must not end the connection)
            return self._failed(operation, body, error)
        if out == b"{}":  # as nearly every write is answered
            return OK_ALONE + next(self.ids) + NOTHING
        if operation.tables is None:
            return CONTROL_OK % (service.now_s(), next(self.ids), crc32(out), len(out), out)
        return OK % (next(self.ids), crc32(out), len(out), out)

    def refused(self, error: ServiceError) -> bytes:
        """Count an error of a DynamoDB request, and answer it."""
        if error.status < 500 and error.code not in NOT_USER_ERRORS:
            self.metrics.account.user_error(self.service.now_s())
        return self.failed(error)

    def failed(self, error: ServiceError) -> bytes:
        """The whole response that an error makes."""
        out = orjson.dumps(error.body())
        phrase = PHRASES.get(error.status, b"Error")
        return FAILED % (error.status, phrase, next(self.ids), crc32(out), len(out), out)

    def _failed(self, operation: Operation, body: bytes, error: Exception) -> bytes:
        """A handler failed. If the request is not of its API's shape, that is why, and its sender's mistake.

        So the hot operations need not look at the shape of every request.
        """
        try:
            request = parsed(body)
            check_shape(operation.name, request, operation.api)
            LOG.error("%s failed inside the endpoint", operation.name, exc_info=error)
            for minutes in self._minutes_of(operation, request):
                minutes.system_error(operation.name, self.service.now_s())
        except ServiceError as mistake:
            return self.refused(mistake)
        return self.refused(internal_error())

    def _minutes_of(self, operation: Operation, request: dict[str, Any]) -> Iterator[Minutes]:
        """The datapoints of each table that a data request names."""
        for table in () if operation.tables is None else operation.tables(request):
            with suppress(ServiceError):  # a statement of a batch may name a table that there is not
                yield self.service.catalog.get(table).model.minutes

    def _completed(
        self, operation: Operation, request: dict[str, Any], out: bytes, latency_ms: float
    ) -> None:
        now_s = self.service.now_s()
        if operation.plain:
            minutes = self.service.catalog.get(request["TableName"]).model.minutes
            minutes.completed(operation.name, latency_ms, now_s)
            return
        found = COUNT.search(out) if operation.returns_items else None
        returned = int(found[1]) if found else None
        name = operation.name if operation.metric is None else operation.metric(request)
        for minutes in self._minutes_of(operation, request):
            minutes.completed(name, latency_ms, now_s, returned)


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


def serialization_error(message: str) -> ServiceError:
    """The body cannot be read as a request."""
    return ServiceError("SerializationException", message, prefix=CORAL)


def missing_token() -> ServiceError:
    """The request is not signed; here any signature is taken, but there has to be one."""
    return ServiceError(
        "MissingAuthenticationTokenException", "Request is missing Authentication Token", prefix=CORAL
    )


def unknown_operation(message: str) -> ServiceError:
    """No such operation, or none that the endpoint has."""
    return ServiceError("UnknownOperationException", message, prefix=CORAL)
