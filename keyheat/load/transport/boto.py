"""Requests through boto3, and retries as the SDK makes them: what an application would see.

Retries as the installed SDK makes them: which answers it sends again, and how long it waits before.
botocore itself decides. A client of it that never sends anything holds the default retry handler for DynamoDB
(its mode, its attempts, its quota), and is asked through the events with which botocore asks it. So a change
of the defaults, such as that of November 2026, is followed with the next botocore that is installed, and
AWS_RETRY_MODE and AWS_MAX_ATTEMPTS mean what they mean to an application.
Source: botocore/endpoint.py (needs-retry), botocore/client.py (after-call), and
https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
"""

import logging
from collections.abc import Iterator
from time import perf_counter
from typing import Any
from zlib import crc32

import orjson
from botocore import exceptions, xform_name
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ReadTimeoutError,
    SSLError,
    SSOError,
    TokenRetrievalError,
)
from botocore.hooks import first_non_none_response
from botocore.parsers import ResponseParserError
from botocore.session import Session

from keyheat.answer_shape import shaped
from keyheat.answer_size import bounded
from keyheat.load.transport.answer import TIMEOUT_S, Answer
from keyheat.load.transport.failures import (
    BAD_HTTP,
    CREDENTIALS,
    CUT_OFF,
    DAMAGED,
    damage,
    kind_of,
)
from keyheat.load.transport.hurry import CALLS
from keyheat.load.transport.retries import TAKEN, RetriedCall
from keyheat.load.transport.target import Target, ca_bundle, credentials_for, sdk
from keyheat.masking import mask_errors

RAW = "KeyheatRawBody"
KINDS: tuple[tuple[type[BotoCoreError], str], ...] = (
    (ConnectTimeoutError, "timeout"),
    (ReadTimeoutError, "timeout"),
    (SSLError, "tls"),
    (CredentialRetrievalError, CREDENTIALS),
    (NoCredentialsError, CREDENTIALS),
    (PartialCredentialsError, CREDENTIALS),
    (SSOError, CREDENTIALS),
    (TokenRetrievalError, CREDENTIALS),
)
"""What only botocore knows; everything else it makes of an error of the system, which says more."""


def make_client(
    target: Target,
    *,
    connections: int = 10,
    timeout_s: float = TIMEOUT_S,
    service: str = "dynamodb",
    attempts: int = 1,
    tells: bool = True,
) -> Any:
    """A plain client of the target, which never retries by itself unless more `attempts` are allowed.

    A pool smaller than the number of users would open and close connections all the time. The streams of
    DynamoDB in AWS are a `service` with an address of its own. Nothing on this machine is asked through a
    proxy. `tells`: a long wait is said on stderr, and abandoned once the run is being ended.
    """
    config = Config(
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=max(10, connections),
        connect_timeout=timeout_s,
        read_timeout=timeout_s,
        parameter_validation=False,
        proxies={} if target.local else None,
    )
    session = sdk()
    elsewhere = service != "dynamodb" and target.aws
    client = session.create_client(
        service,
        endpoint_url=None if elsewhere else target.url,
        region_name=target.region,
        config=config,
        verify=(ca_bundle() if target.tls else None) or True,
        **_local_keys(target, session),
    )
    client = bounded(mask_errors(shaped(client)), local=target.local, tells=tells)
    if tells:
        client._endpoint.http_session = _Hurried(client._endpoint.http_session)
    return client


class _Hurried:
    """A session whose calls are abandoned once the run is being ended."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.close = session.close

    def send(self, request: Any) -> AWSResponse:
        with CALLS.waiting(request.url):
            return self._session.send(request)


def _local_keys(target: Target, session: Session) -> dict[str, str | None]:
    if not target.local:
        return {}  # botocore finds them and refreshes them itself
    keys = credentials_for(target, session)()
    return {
        "aws_access_key_id": keys.access_key,
        "aws_secret_access_key": keys.secret_key,
        "aws_session_token": keys.token,
    }


class Boto3Transport:
    """One shared boto3 client. Its answers are made of the raw body, so that nothing is lost on the way:
    an older botocore drops the throttling reasons, a current one drops them under another spelling.
    """

    def __init__(self, target: Target, *, connections: int, timeout_s: float = TIMEOUT_S) -> None:
        self._client = make_client(target, connections=connections, timeout_s=timeout_s, tells=False)
        endpoint = self._client._endpoint
        endpoint._response_parser_factory = _Parsers(endpoint._response_parser_factory)
        self._client.meta.events.register("before-parse.dynamodb", _keep_raw_body)
        # It warns of each head that is cut off, with a traceback; that is a failure of the record.
        logging.getLogger("urllib3.connection").setLevel(logging.ERROR)

    def send(self, operation: str, body: bytes) -> Answer:
        """Send one request and wait; see `Transport`."""
        call = getattr(self._client, xform_name(operation))
        parameters = orjson.loads(body)
        started = perf_counter()
        try:
            response = call(**parameters)
        except ClientError as error:
            response = error.response
        except BotoCoreError as error:
            return Answer(0, b"", perf_counter() - started, failure=_kind_of(error))
        except ResponseParserError:
            return Answer(0, b"", perf_counter() - started, failure=BAD_HTTP)
        except RuntimeError:  # what it refreshed had expired, too
            return Answer(0, b"", perf_counter() - started, failure=CREDENTIALS)
        return _answer_of(response, perf_counter() - started)

    def close(self) -> None:
        self._client.close()


class _Parsers:
    """botocore's parsers, none of which fails: the raw body is judged, so every attempt is counted."""

    def __init__(self, parsers: Any) -> None:
        self._parsers = parsers

    def create_parser(self, protocol: str) -> "_Parsers":
        return _Parsers(self._parsers.create_parser(protocol))

    def parse(self, response: dict[str, Any], shape: Any) -> dict[str, Any]:
        try:
            parsed: dict[str, Any] = self._parsers.parse(response, shape)
        except (ResponseParserError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            headers = response["headers"]
            metadata = {"HTTPStatusCode": response["status_code"], "HTTPHeaders": headers}
            metadata["RequestId"] = headers.get("x-amzn-requestid")
            return {"ResponseMetadata": metadata}
        return parsed


def _keep_raw_body(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_more: Any
) -> None:
    customized_response_dict[RAW] = response_dict["body"]


def _answer_of(response: dict[str, Any], service_s: float) -> Answer:
    if RAW not in response:  # the refusal of another service, which was asked for credentials
        return Answer(0, b"", service_s, failure=CREDENTIALS)
    metadata, body = response["ResponseMetadata"], response[RAW]
    headers = metadata["HTTPHeaders"]
    failure = damage(body, headers)
    if failure is not None:
        return Answer(0, b"", service_s, failure=failure)
    return Answer(
        metadata["HTTPStatusCode"],
        body,
        service_s,
        metadata.get("RequestId"),
        headers.get("x-amz-retry-after"),
    )


def _kind_of(error: BotoCoreError) -> str:
    named = next((kind for of_type, kind in KINDS if isinstance(error, of_type)), None)
    return named or kind_of(error)


NOT_WHOLE = (DAMAGED, CUT_OFF)
"""What botocore sees only by the CRC-32 of the body, which then is another one."""
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


class SdkRetries:
    """The retries of one process: like its users' transport, all of them share one client and its quota."""

    def __init__(self, region: str) -> None:
        # Keys of no account: nothing is ever sent.
        self._client = sdk().create_client(
            "dynamodb", region_name=region, aws_access_key_id="none", aws_secret_access_key="none"
        )
        self.mode: str = self._client.meta.config.retries["mode"]

    def hold_s(self, call: RetriedCall) -> float:
        return 0.0

    def leave(self, call: RetriedCall) -> None:
        """Nobody waits."""

    def delay_s(self, call: RetriedCall, answer: Answer) -> float | None:
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

    def _asked(self, call: RetriedCall, model: Any, response: Any, caught: Exception | None) -> float | None:
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
