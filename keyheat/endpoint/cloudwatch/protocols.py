"""The three languages that CloudWatch is spoken in, all on one port.

CBOR    POST /service/GraniteServiceVersion20100801/operation/X      what botocore speaks
        https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html
JSON    X-Amz-Target: GraniteServiceVersion20100801.X                what other new SDKs speak
Query   Action=X&..., answered in XML                                what older SDKs and tools speak
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any
from urllib.parse import parse_qsl

import cbor2
import orjson

from keyheat.addresses import OPEN_MINUTE
from keyheat.endpoint.cloudwatch.api import call
from keyheat.endpoint.cloudwatch.parameters import invalid
from keyheat.endpoint.errors import CORAL, ServiceError
from keyheat.endpoint.http import Headers, response
from keyheat.endpoint.regions import Regions

SERVICE = "GraniteServiceVersion20100801"
CBOR_PATH = f"/service/{SERVICE}/operation/".encode()
TARGET = f"{SERVICE}.".encode()
FORM = b"application/x-www-form-urlencoded"
XMLNS = "http://monitoring.amazonaws.com/doc/2010-08-01/"
MAX_UNZIPPED_BYTES = 16 * 1024 * 1024

# An error's name in the Query protocol, and the shape it has in the newer ones.
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
    write: Callable[[str, dict[str, Any], str], bytes]
    write_error: Callable[[ServiceError, str], bytes]
    extra: bytes = b""


@dataclass(slots=True)
class CloudWatchPage:
    """Answers what is meant for CloudWatch."""

    regions: Regions

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The whole response, or None: not meant for CloudWatch."""
        path, _, query = url.partition(b"?")
        if path.startswith(CBOR_PATH):
            return self._answer(CBOR, path.removeprefix(CBOR_PATH), headers, body)
        target = headers.get(b"x-amz-target", b"")
        if target.startswith(TARGET):
            return self._answer(JSON, target.removeprefix(TARGET), headers, body)
        form = body if headers.get(b"content-type", b"").startswith(FORM) else query
        if not target and b"Action=" in form:
            action = dict(parse_qsl(form.decode("latin-1"))).get("Action", "")
            return self._answer(QUERY, action.encode(), headers, form)
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
            out = language.write(name, call(metrics, name, parameters), request_id.decode())
            status, extra = 200, language.extra
        except ServiceError as error:
            out = language.write_error(error, request_id.decode())
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


def _write_cbor(operation: str, answer: dict[str, Any], request_id: str) -> bytes:
    return cbor2.dumps(answer, datetime_as_timestamp=True)


def _write_cbor_error(error: ServiceError, request_id: str) -> bytes:
    return cbor2.dumps({"__type": _shape(error), "message": error.message})


# JSON


def _parse_json(body: bytes) -> Any:
    try:
        return orjson.loads(body) if body else {}
    except orjson.JSONDecodeError:
        raise _unreadable("not JSON") from None


def _write_json(operation: str, answer: dict[str, Any], request_id: str) -> bytes:
    return orjson.dumps(answer, default=datetime.timestamp, option=orjson.OPT_PASSTHROUGH_DATETIME)


def _write_json_error(error: ServiceError, request_id: str) -> bytes:
    return orjson.dumps({"__type": _shape(error), "message": error.message})


def _shape(error: ServiceError) -> str:
    return f"com.amazonaws.cloudwatch#{SHAPES.get(error.code, error.code)}"


# Query


def _parse_form(body: bytes) -> dict[str, Any]:
    """Nested parameters from names like `MetricData.member.1.Dimensions.member.2.Name`."""
    nested: dict[str, Any] = {}
    for name, value in parse_qsl(body.decode("latin-1"), keep_blank_values=True):
        *path, last = name.replace(".member.", ".").split(".")
        at = nested
        for step in path:
            at = at.setdefault(step, {})
            if not isinstance(at, dict):
                raise invalid(f"The parameter {name} is both a value and a structure.")
        at[last] = value
    return {name: _with_lists(value) for name, value in nested.items()}


def _with_lists(value: Any) -> Any:
    """Structures with numbered members as lists."""
    if not isinstance(value, dict):
        return value
    if all(name.isdigit() for name in value):
        return [_with_lists(value[name]) for name in sorted(value, key=int)]
    return {name: _with_lists(member) for name, member in value.items()}


def _write_xml(operation: str, answer: dict[str, Any], request_id: str) -> bytes:
    result = f"<{operation}Result>{_elements(answer)}</{operation}Result>" if answer else ""
    return (
        f'<{operation}Response xmlns="{XMLNS}">{result}'
        f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{operation}Response>"
    ).encode()


def _write_xml_error(error: ServiceError, request_id: str) -> bytes:
    kind = "Sender" if error.status < 500 else "Receiver"
    return (
        f'<ErrorResponse xmlns="{XMLNS}"><Error><Type>{kind}</Type><Code>{error.code}</Code>'
        f"<Message>{_elements(error.message)}</Message></Error><RequestId>{request_id}</RequestId></ErrorResponse>"
    ).encode()


def _elements(value: Any) -> str:
    if isinstance(value, dict):
        return "".join(f"<{name}>{_member(name, member)}</{name}>" for name, member in value.items())
    if isinstance(value, list):
        return "".join(f"<member>{_elements(member)}</member>" for member in value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return escape(str(value), quote=False)


def _member(name: str, value: Any) -> str:
    """The inside of an element. The one map there is has entries; structures have elements by name."""
    if name != "ExtendedStatistics":
        return _elements(value)
    return "".join(f"<entry><key>{key}</key><value>{number}</value></entry>" for key, number in value.items())


CBOR = Language(
    b"application/cbor", _parse_cbor, _write_cbor, _write_cbor_error, b"smithy-protocol: rpc-v2-cbor\r\n"
)
JSON = Language(b"application/x-amz-json-1.0", _parse_json, _write_json, _write_json_error)
QUERY = Language(b"text/xml", _parse_form, _write_xml, _write_xml_error)
