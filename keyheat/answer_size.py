"""Bound the size of an SDK's answers: more than DynamoDB ever sends is not read."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import Timer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from botocore.exceptions import HTTPClientError, ReadTimeoutError

from keyheat.masking import plain
from keyheat.model.limits import BATCH_GET_BYTES, MIB, PAGE_BYTES, TRANSACT_BYTES
from keyheat.words import WAITING

if TYPE_CHECKING:
    from botocore.awsrequest import AWSResponse

MARGIN: Final = 4  # of JSON over the bytes that items are counted as
MOST_BYTES: Final = {"BatchGetItem": MARGIN * BATCH_GET_BYTES, "TransactGetItems": MARGIN * TRANSACT_BYTES}
OTHER_BYTES: Final = MARGIN * PAGE_BYTES  # a page of items; whatever else DynamoDB answers is shorter
SERVICE_BYTES: Final = 64 * MIB  # of other services: a page of GetMetricData has 100,800 points
WORD_AFTER_S: Final = 3.0
OPERATION: Final = "X-Amz-Target"


class AnswerTooLong(Exception):
    """An answer went on after all that it could hold."""


def most_bytes(operation: str) -> int:
    """How long the body of an operation's answer may be."""
    return MOST_BYTES.get(operation, OTHER_BYTES)


def bounded(client: Any, *, local: bool, tells: bool = True) -> Any:
    """A boto3 client that stops reading an answer that is too long, or too slow; gives it back.

    botocore reads a body to its end, however far that is, and has no event in between: so it is read here.
    `local`: each new connection has to stay on this machine; `tells`: a long wait is said on stderr.
    """
    from keyheat.connections import pools  # with urllib3, loaded when it is needed

    session = client._endpoint.http_session
    if isinstance(session, _Session):
        return client
    session._pool_classes_by_scheme.update(pools(local=local))
    client._endpoint.http_session = _Session(session, tells)
    return client


@contextmanager
def waiting_for(url: str, what: str) -> Iterator[None]:
    """Say on stderr whose answer to `what` is waited for, once that takes longer than a moment."""
    timer = Timer(WORD_AFTER_S, tell_wait, (f"{urlsplit(url).netloc} to answer {what}",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def tell_wait(what: str) -> None:
    """Say on stderr what is waited for."""
    with suppress(OSError):
        print(plain(f"keyheat: {WAITING} {what}"), file=sys.stderr, flush=True)


class _Session:
    """Send as botocore's session does, and read a bounded answer."""

    def __init__(self, session: Any, tells: bool) -> None:
        from botocore.awsrequest import AWSResponse

        self._session, self._response, self._tells = session, AWSResponse, tells

    def send(self, request: Any) -> "AWSResponse":
        request.stream_output = True  # or it would be read already
        with waiting_for(request.url, _name(request)) if self._tells else nullcontext():
            response = self._session.send(request)
            body = b"".join(_pieces(request, response.raw))
        return self._response(response.url, response.status_code, response.headers, _Body(body))

    def close(self) -> None:
        self._session.close()


class _Body:
    """What has been read, as botocore reads it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        yield self._body


def _name(request: Any) -> str:
    operation = request.headers.get(OPERATION) or "a request"
    return operation.decode() if isinstance(operation, bytes) else str(operation)


def _bound_for(request: Any) -> int:
    named = _name(request)
    return most_bytes(named.rpartition(".")[2]) if named.startswith("DynamoDB_") else SERVICE_BYTES


def _pieces(request: Any, raw: Any) -> Iterator[bytes]:
    """The body, piece by piece. What goes wrong is the error that botocore makes of what it cannot name."""
    from urllib3.exceptions import TimeoutError as TookTooLong

    so_far, most = 0, _bound_for(request)
    try:
        for piece in raw.stream():
            so_far += len(piece)
            if so_far > most:
                raise AnswerTooLong(f"an answer of more than {most:,} bytes")
            yield piece
    except Exception as error:
        raw.close()
        if isinstance(error, TookTooLong):
            raise ReadTimeoutError(endpoint_url=request.url, error=error) from error
        raise HTTPClientError(error=error) from error
