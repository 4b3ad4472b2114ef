"""Answers that no endpoint should give, byte by byte."""

import re
from zlib import crc32

CRC = re.compile(rb"x-amz-crc32: *\d+", re.IGNORECASE)
GARBAGE = b"\x15\x03\x01\x00\x02\x02\x28 this is no HTTP\r\n\r\n"


def _answer(status: bytes, body: bytes, kind: bytes = b"application/x-amz-json-1.0") -> bytes:
    head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nx-amz-crc32: %d\r\nContent-Length: %d\r\n\r\n"
    return head % (status, kind, crc32(body), len(body)) + body


def _refusal(status: bytes, code: bytes, message: bytes) -> bytes:
    return _answer(status, b'{"__type":"com.amazon.coral.service#%b","message":"%b"}' % (code, message))


BAD_REQUEST = b"400 Bad Request"
REFUSALS = {
    "error_500": _refusal(b"500 Internal Server Error", b"InternalServerError", b"Internal server error"),
    "error_502": _answer(b"502 Bad Gateway", b"<html><h1>Bad Gateway</h1></html>", b"text/html"),
    "error_503": _answer(b"503 Service Unavailable", b"", b"text/plain"),
    "expired_token": _refusal(
        BAD_REQUEST, b"ExpiredTokenException", b"The security token included in the request is expired"
    ),
    "unknown_token": _refusal(
        BAD_REQUEST, b"UnrecognizedClientException", b"The security token included in the request is invalid."
    ),
    "wrong_region": _refusal(
        BAD_REQUEST, b"InvalidSignatureException", b"Credential should be scoped to a valid region."
    ),
}


def with_wrong_crc(raw: bytes) -> bytes:
    """An answer whose checksum is that of another one."""
    changed, found = CRC.subn(b"x-amz-crc32: 1", raw, count=1)
    assert found, "the endpoint sends a checksum"
    return changed
