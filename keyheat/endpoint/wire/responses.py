"""HTTP responses as bytes, and the refusals of what is no request that can be answered."""

from http import HTTPStatus


def response(
    status: int,
    body: bytes,
    *,
    content_type: bytes = b"application/json",
    request_id: bytes = b"",
    extra: bytes = b"",
) -> bytes:
    """A whole HTTP response; `extra` is further header lines, each ended by CRLF."""
    if request_id:
        extra = b"x-amzn-RequestId: %b\r\n%b" % (request_id, extra)
    return b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\n%bContent-Length: %d\r\n\r\n%b" % (
        status,
        HTTPStatus(status).phrase.encode(),
        content_type,
        extra,
        len(body),
        body,
    )


def refusal(status: int, code: str, message: str) -> bytes:
    """The answer to what is not a proper HTTP request, in the shape that AWS clients read."""
    body = b'{"__type":"com.amazon.coral.service#%b","message":"%b"}' % (code.encode(), message.encode())
    return response(status, body, content_type=b"application/x-amz-json-1.0")


TOO_MANY = refusal(503, "ServiceUnavailableException", "Too many connections")
TOO_BUSY = refusal(503, "ServiceUnavailableException", "Too many requests have begun and are not whole yet")
TOO_SLOW = refusal(408, "RequestTimeoutException", "The request did not arrive in time")
TOO_LARGE = refusal(413, "RequestEntityTooLargeException", "Request body is too large")
HEAD_TOO_LARGE = refusal(431, "SerializationException", "Request header is too large")
NOT_HTTP = refusal(400, "SerializationException", "Not a well-formed HTTP request")
