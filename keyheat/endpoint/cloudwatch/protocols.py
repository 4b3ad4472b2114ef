"""The two protocols in which CloudWatch is spoken today, on one port.

CBOR    POST /service/GraniteServiceVersion20100801/operation/X      what botocore speaks
        https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html
JSON    X-Amz-Target: GraniteServiceVersion20100801.X                what SDKs without CBOR speak
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import cbor2
import orjson

from keyheat.addresses import OPEN_MINUTE
from keyheat.endpoint.cloudwatch.api import call
from keyheat.endpoint.errors import CORAL, ServiceError
from keyheat.endpoint.http import Headers, response
from keyheat.endpoint.regions import Regions

SERVICE = "GraniteServiceVersion20100801"
CBOR_PATH = f"/service/{SERVICE}/operation/".encode()
TARGET = f"{SERVICE}.".encode()
MAX_UNZIPPED_BYTES = 16 * 1024 * 1024

# An error's name, and the shape that it has.
# https://smithy.io/2.0/aws/protocols/aws-query-protocol.html#aws-protocols-awsquerycompatible-trait
SHAPES = {
    "InvalidParameterValue": "InvalidParameterValueException",
    "InvalidParameterCombination": "InvalidParameterCombinationException",
    "MissingParameter": "MissingRequiredParameterException",
    "InternalServiceError": "InternalServiceFault",
}


@dataclass(frozen=True, slots=True)
class Language:
    """How a request is read and an answer is written."""

    content_type: bytes
    parse: Callable[[bytes], Any]
    write: Callable[[dict[str, Any]], bytes]
    write_error: Callable[[ServiceError], bytes]
    extra: bytes = b""


@dataclass(slots=True)
class CloudWatchPage:
    """Answers what is meant for CloudWatch."""

    regions: Regions

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The whole response, or None: not meant for CloudWatch."""
        path = url.partition(b"?")[0]
        if path.startswith(CBOR_PATH):
            return self._answer(CBOR, path.removeprefix(CBOR_PATH), headers, body)
        target = headers.get(b"x-amz-target", b"")
        if target.startswith(TARGET):
            return self._answer(JSON, target.removeprefix(TARGET), headers, body)
        return None

    def _answer(self, language: Language, operation: bytes, headers: Headers, body: bytes) -> bytes:
        name = operation.decode("latin-1")
        request_id = next(self.regions.ids)
        try:
            _require_signature(headers)
            metrics = self.regions.signed_for(headers).metrics
            metrics.shows_open = OPEN_MINUTE.lower().encode() in headers
            parameters = language.parse(_unzipped(headers, body))
            if not isinstance(parameters, Mapping):
                raise ServiceError("SerializationException", "The request is not a structure.", prefix=CORAL)
            out = language.write(call(metrics, name, parameters))
            status, extra = 200, language.extra
        except ServiceError as error:
            out = language.write_error(error)
            kind = b"Sender" if error.status < 500 else b"Receiver"
            status = error.status
            extra = b"%bx-amzn-query-error: %b;%b\r\n" % (language.extra, error.code.encode(), kind)
        return response(status, out, content_type=language.content_type, request_id=request_id, extra=extra)


def _require_signature(headers: Headers) -> None:
    """Any signature is taken, but in a header: any web page can send what stands in a form or a link."""
    if not headers.get(b"authorization", b"").startswith(b"AWS"):
        raise ServiceError(
            "MissingAuthenticationToken", "Request is missing Authentication Token", status=403
        )


def _unzipped(headers: Headers, body: bytes) -> bytes:
    """The body as it was before its sender compressed it; botocore does so from 10 KB on."""
    encoding = headers.get(b"content-encoding", b"")
    if encoding != b"gzip":
        return body
    unzip = zlib.decompressobj(wbits=31)
    try:
        plain = unzip.decompress(body, MAX_UNZIPPED_BYTES)
    except zlib.error:
        raise _unreadable("not gzip") from None
    if not unzip.eof:
        raise _unreadable("truncated or too large")
    return plain


def _unreadable(why: str) -> ServiceError:
    return ServiceError("SerializationException", f"The body cannot be read: {why}", prefix=CORAL)


# CBOR


def _parse_cbor(body: bytes) -> Any:
    try:
        return cbor2.loads(body) if body else {}
    except (cbor2.CBORDecodeError, ValueError, OverflowError, RecursionError):
        raise _unreadable("not CBOR") from None


def _write_cbor(answer: dict[str, Any]) -> bytes:
    return cbor2.dumps(answer, datetime_as_timestamp=True)


def _write_cbor_error(error: ServiceError) -> bytes:
    return cbor2.dumps({"__type": _shape(error), "message": error.message})


# JSON


def _parse_json(body: bytes) -> Any:
    try:
        return orjson.loads(body) if body else {}
    except orjson.JSONDecodeError:
        raise _unreadable("not JSON") from None


def _write_json(answer: dict[str, Any]) -> bytes:
    return orjson.dumps(answer, default=datetime.timestamp, option=orjson.OPT_PASSTHROUGH_DATETIME)


def _write_json_error(error: ServiceError) -> bytes:
    return orjson.dumps({"__type": _shape(error), "message": error.message})


def _shape(error: ServiceError) -> str:
    return f"com.amazonaws.cloudwatch#{SHAPES.get(error.code, error.code)}"


CBOR = Language(
    b"application/cbor", _parse_cbor, _write_cbor, _write_cbor_error, b"smithy-protocol: rpc-v2-cbor\r\n"
)
JSON = Language(b"application/x-amz-json-1.0", _parse_json, _write_json, _write_json_error)
