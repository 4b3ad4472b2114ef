"""How large an answer may be: more than DynamoDB ever sends is nobody's answer, and is not kept."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import HTTPClientError

from keyheat.model.limits import BATCH_GET_BYTES, MIB, PAGE_BYTES, TRANSACT_BYTES

if TYPE_CHECKING:
    from botocore.awsrequest import AWSResponse

MARGIN: Final = 4  # of JSON over the bytes that items are counted as
MOST_BYTES: Final = {"BatchGetItem": MARGIN * BATCH_GET_BYTES, "TransactGetItems": MARGIN * TRANSACT_BYTES}
OTHER_BYTES: Final = MARGIN * PAGE_BYTES  # a page of items; whatever else DynamoDB answers is shorter
SERVICE_BYTES: Final = 64 * MIB  # of other services: a page of GetMetricData has 100,800 points
OPERATION: Final = "X-Amz-Target"


class AnswerTooLong(Exception):
    """An answer went on after all that it could hold."""


def most_bytes(operation: str) -> int:
    """How long the body of an operation's answer may be."""
    return MOST_BYTES.get(operation, OTHER_BYTES)


def bounded(client: Any) -> Any:
    """A boto3 client that stops reading an answer where it is too long; gives it back.

    botocore reads a body to its end, however far that is, and has no event in between: so it is read here.
    """
    client._endpoint.http_session = _Session(client._endpoint.http_session)
    return client


class _Session:
    """Sends what botocore's own session sends, and reads what comes back."""

    def __init__(self, session: Any) -> None:
        from botocore.awsrequest import AWSResponse  # with urllib3: only who asks somebody waits for it

        self._session, self._response = session, AWSResponse

    def send(self, request: Any) -> "AWSResponse":
        request.stream_output = True  # or it would be read already
        response = self._session.send(request)
        body = b"".join(_pieces(response.raw, _bound_for(request)))
        return self._response(response.url, response.status_code, response.headers, _Body(body))

    def close(self) -> None:
        self._session.close()


class _Body:
    """What has been read, as botocore reads it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        yield self._body


def _bound_for(request: Any) -> int:
    operation = request.headers.get(OPERATION)
    if operation is None:
        return SERVICE_BYTES
    named = operation.decode() if isinstance(operation, bytes) else str(operation)
    return most_bytes(named.rpartition(".")[2]) if named.startswith("DynamoDB_") else SERVICE_BYTES


def _pieces(raw: Any, most: int) -> Iterator[bytes]:
    """The body, piece by piece. What goes wrong is the error that botocore makes of what it cannot name."""
    so_far = 0
    try:
        for piece in raw.stream():
            so_far += len(piece)
            if so_far > most:
                raise AnswerTooLong(f"an answer of more than {most:,} bytes")
            yield piece
    except Exception as error:
        raw.close()
        raise HTTPClientError(error=error) from error
