"""The same requests through boto3: what an application would see, with the SDK's own time and no retries."""

from time import perf_counter
from typing import Any

import boto3
import orjson
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from generator.transport.answer import Answer
from generator.transport.signed import TIMEOUT_S
from generator.transport.target import Target, credentials_for

RAW = "KeyheatRawBody"
KINDS: list[tuple[type[BotoCoreError], str]] = [
    (ConnectTimeoutError, "timeout"),
    (ReadTimeoutError, "timeout"),
    (EndpointConnectionError, "connection_refused"),
    (ConnectionClosedError, "connection_reset"),
]


def make_client(
    target: Target,
    *,
    connections: int = 10,
    timeout_s: float = TIMEOUT_S,
    service: str = "dynamodb",
    attempts: int = 1,
) -> Any:
    """A plain boto3 client of the target, which never retries by itself unless more `attempts` are allowed.

    A pool smaller than the number of users would open and close connections all the time. The streams of
    DynamoDB in AWS are a `service` with an address of its own.
    """
    config = Config(
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=max(10, connections),
        connect_timeout=timeout_s,
        read_timeout=timeout_s,
        parameter_validation=False,
    )
    session = boto3.session.Session(**_local_keys(target))
    elsewhere = service != "dynamodb" and target.host.endswith((".amazonaws.com", ".amazonaws.com.cn"))
    url = None if elsewhere else target.url
    return session.client(service, endpoint_url=url, region_name=target.region, config=config)


def _local_keys(target: Target) -> dict[str, str | None]:
    if not target.local:
        return {}  # botocore finds them and refreshes them itself
    keys = credentials_for(target)()
    return {
        "aws_access_key_id": keys.access_key,
        "aws_secret_access_key": keys.secret_key,
        "aws_session_token": keys.token,
    }


class Boto3Transport:
    """One shared boto3 client. Its answers are made of the raw body, so that nothing is lost on the way:
    an older botocore drops the throttling reasons, a current one drops them under another spelling.
    """

    def __init__(self, target: Target, *, connections: int) -> None:
        self._client = make_client(target, connections=connections)
        self._client.meta.events.register("before-parse.dynamodb", _keep_raw_body)

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
        service_s = perf_counter() - started
        metadata = response["ResponseMetadata"]
        return Answer(
            metadata["HTTPStatusCode"],
            response[RAW],
            service_s,
            metadata.get("RequestId"),
            metadata["HTTPHeaders"].get("x-amz-retry-after"),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _keep_raw_body(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_more: Any
) -> None:
    customized_response_dict[RAW] = response_dict["body"]


def _kind_of(error: BotoCoreError) -> str:
    return next((kind for of_type, kind in KINDS if isinstance(error, of_type)), type(error).__name__)
