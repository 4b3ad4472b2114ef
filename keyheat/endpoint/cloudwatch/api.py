"""CloudWatch's operations in the protocol that boto3 speaks: JSON, the operation in `X-Amz-Target`.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/Welcome.html
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from keyheat.addresses import OPEN_MINUTE
from keyheat.endpoint.cloudwatch.queries import (
    Answer,
    Request,
    get_insight_rule_report,
    get_metric_data,
    get_metric_statistics,
    list_metrics,
)
from keyheat.endpoint.errors import CORAL, ServiceError
from keyheat.endpoint.http import Headers, response
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.service import Service
from keyheat.model.limits import MINUTE_S

TARGET: Final = b"GraniteServiceVersion20100801."
MAX_UNZIPPED_BYTES: Final = 16 * 1024 * 1024
CODES: Final = {"ValidationException": "ValidationError"}  # as CloudWatch calls it
# An error's name, and the shape that it has.
# https://smithy.io/2.0/aws/protocols/aws-query-protocol.html#aws-protocols-awsquerycompatible-trait
SHAPES: Final = {"InvalidParameterCombination": "InvalidParameterCombinationException"}

Operation = Callable[[Service, Request, int], Answer]
OPERATIONS: Final[dict[str, Operation]] = {
    "GetInsightRuleReport": get_insight_rule_report,
    "GetMetricData": get_metric_data,
    "GetMetricStatistics": get_metric_statistics,
    "ListMetrics": list_metrics,
}


@dataclass(frozen=True, slots=True)
class CloudWatch:
    """CloudWatch's API in all Regions of one endpoint. `ids` are those of responses."""

    regions: Regions
    ids: Iterator[bytes]

    def answer(
        self, method: bytes, url: bytes, headers: Headers, body: bytes, connection: int | None
    ) -> bytes:
        extra = b""
        try:
            out, status = self._answer(headers, body), 200
        except ServiceError as error:
            code, status = CODES.get(error.code, error.code), error.status
            out = {"__type": f"com.amazonaws.cloudwatch#{SHAPES.get(code, code)}", "message": error.message}
            kind = b"Sender" if status < 500 else b"Receiver"
            extra = b"x-amzn-query-error: %b;%b\r\n" % (code.encode(), kind)
        raw = orjson.dumps(out, default=datetime.timestamp, option=orjson.OPT_PASSTHROUGH_DATETIME)
        kind = b"application/x-amz-json-1.0"
        return response(status, raw, content_type=kind, request_id=next(self.ids), extra=extra)

    def _answer(self, headers: Headers, body: bytes) -> Answer:
        _require_signature(headers)
        name = headers[b"x-amz-target"].decode("latin-1").removeprefix(TARGET.decode())
        service, operation = self.regions.signed_for(headers), OPERATIONS.get(name)
        if operation is None:
            raise ServiceError("InvalidAction", f"The local endpoint has no operation {name}.")
        request = _parsed(headers, body)
        check_shape(name, request, "cloudwatch")
        now_s = service.clock()
        service.metrics.note_tables(service.catalog, now_s)
        # A run whose load is over need not wait for the end of its last minute.
        shows_open = OPEN_MINUTE.lower().encode() in headers
        return operation(service, request, (int(now_s // MINUTE_S) + shows_open) * MINUTE_S)


def _require_signature(headers: Headers) -> None:
    """Any signature is taken, but in a header: any web page can send what stands in a form or a link."""
    if not headers.get(b"authorization", b"").startswith(b"AWS"):
        raise ServiceError(
            "MissingAuthenticationToken", "Request is missing Authentication Token", status=403
        )


def _parsed(headers: Headers, body: bytes) -> Mapping[str, Any]:
    """The request, unpacked where its sender compressed it; botocore does so from 10 KB on."""
    if headers.get(b"content-encoding") == b"gzip":
        unzip = zlib.decompressobj(wbits=31)
        try:
            body = unzip.decompress(body, MAX_UNZIPPED_BYTES)
        except zlib.error:
            raise _unreadable("not gzip") from None
        if not unzip.eof:
            raise _unreadable("truncated or too large")
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _unreadable("not JSON") from None
    if not isinstance(request, Mapping):
        raise _unreadable("not a structure")
    return request


def _unreadable(why: str) -> ServiceError:
    return ServiceError("SerializationException", f"The body cannot be read: {why}", prefix=CORAL)
