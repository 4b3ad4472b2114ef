"""Retries as the installed SDK makes them: which answers it sends again, and how long it waits before.

botocore itself decides. A client of it that never sends anything holds the default retry handler for DynamoDB
(its mode, its attempts, its quota), and is asked through the events with which botocore asks it. So a change
of the defaults, such as that of November 2026, is followed with the next botocore that is installed, and
AWS_RETRY_MODE and AWS_MAX_ATTEMPTS mean what they mean to an application.
Source: botocore/endpoint.py (needs-retry), botocore/client.py (after-call), and
https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import botocore.session
from botocore import exceptions
from botocore.awsrequest import AWSResponse
from botocore.hooks import first_non_none_response

from keyheat.load.transport.answer import Answer
from keyheat.load.transport.failures import CREDENTIALS, CUT_OFF, DAMAGED, NO_UNITS, NOT_AN_ANSWER

ATTEMPTS, GIVEN_UP, BACKOFF_S = "retries.attempts", "retries.given_up", "retries.backoff_s"
NOT_WHOLE = (DAMAGED, CUT_OFF)
"""What botocore sees only by the CRC-32 of the body, which then is another one."""
TAKEN = (NOT_AN_ANSWER, NO_UNITS)
"""What botocore takes for an accepted answer."""
EXCEPTIONS: dict[str, type[exceptions.HTTPClientError]] = {
    "timeout": exceptions.ReadTimeoutError,
    "connection_refused": exceptions.EndpointConnectionError,
    "name_lookup": exceptions.EndpointConnectionError,
    "connection_failed": exceptions.EndpointConnectionError,
    "connection_reset": exceptions.ConnectionClosedError,
    "bad_http": exceptions.ConnectionClosedError,
    "tls": exceptions.SSLError,
}
"""What botocore raises where nothing came back; else an `HTTPClientError`, of which all of these are."""


@dataclass(slots=True)
class Call:
    """One call of an application, which may take several attempts."""

    operation: str
    attempts: int = 0
    context: dict[str, Any] = field(default_factory=dict)  # what botocore keeps from one attempt to the next


class SdkRetries:
    """The retries of one process: like its users' transport, all of them share one client and its quota."""

    def __init__(self, region: str) -> None:
        session = botocore.session.get_session()
        # Keys of no account: nothing is ever sent.
        self._client = session.create_client(
            "dynamodb", region_name=region, aws_access_key_id="none", aws_secret_access_key="none"
        )
        self.mode: str = self._client.meta.config.retries["mode"]

    def delay_s(self, call: Call, answer: Answer) -> float | None:
        """Seconds to wait before this call is attempted again; None where it is over."""
        call.attempts += 1
        if answer.failure == CREDENTIALS:
            return None  # botocore retries what it sends, and this is before
        response, caught = _as_botocore_has_it(answer)
        model = self._client.meta.service_model.operation_model(call.operation)
        # botocore would ask about an accepted answer, too; it never retries one.
        done = answer.accepted or answer.failure in TAKEN
        delay_s = None if done else self._asked(call, model, response, caught)
        if delay_s is None:
            http, parsed = response or (None, {})
            self._client.meta.events.emit(
                f"after-call.dynamodb.{call.operation}",
                http_response=http, parsed=parsed, model=model, context=call.context,
            )  # fmt: skip
        return delay_s

    def _asked(self, call: Call, model: Any, response: Any, caught: Exception | None) -> float | None:
        try:
            answers = self._client.meta.events.emit(
                f"needs-retry.dynamodb.{call.operation}",
                response=response, endpoint=None, operation=model, attempts=call.attempts,
                caught_exception=caught, request_dict={"context": call.context},
            )  # fmt: skip
        except exceptions.BotoCoreError:  # the legacy mode raises what it will not retry any more
            return None
        delay = first_non_none_response(answers)
        return None if delay is None or delay is False else float(delay)


def given_up(answer: Answer) -> bool:
    """Whether a call ended with what an SDK would send again: its attempts, or its quota, were used up."""
    failed = answer.failure is not None and answer.failure not in (CREDENTIALS, *TAKEN)
    return answer.throttled or failed or answer.status >= 500


class _Body:
    """What an HTTP response of botocore reads its content from."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        yield self._body


def _as_botocore_has_it(answer: Answer) -> tuple[tuple[AWSResponse, dict[str, Any]] | None, Exception | None]:
    """An answer as botocore's handlers are given it: the response and its parsed form, or an exception."""
    if answer.failure is not None and answer.failure not in (*NOT_WHOLE, *TAKEN):
        kind = EXCEPTIONS.get(answer.failure, exceptions.HTTPClientError)
        return None, kind(endpoint_url="", error=answer.failure)
    headers = {} if answer.retry_after is None else {"x-amz-retry-after": answer.retry_after}
    if answer.failure in NOT_WHOLE:
        headers["x-amz-crc32"] = str(crc32(answer.body) ^ 1)
    parsed: dict[str, Any] = {"ResponseMetadata": {"HTTPStatusCode": answer.status}}
    if answer.error_code is not None:
        parsed["Error"] = {"Code": answer.error_code}
    return (AWSResponse("", answer.status, headers, _Body(answer.body)), parsed), None
