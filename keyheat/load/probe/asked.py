"""An endpoint as the probe asks it: raw answers of DynamoDB, and clients of the services beside it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from keyheat.load.transport.answer import Answer, Transport
from keyheat.load.transport.boto import Boto3Transport, make_client
from keyheat.load.transport.target import Target

WITHIN_S = 5.0  # for one request of a service beside
NOT_UNDERSTOOD = (BotoCoreError, ResponseParserError, ValueError, LookupError, TypeError, AttributeError)
"""Nothing came, or what no parser of that service's protocol takes: each breaks in its own way."""


class DoesNotAnswer(Exception):
    """Nothing came back from the endpoint; the text is for the person who named it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What another service answered: its content, or the error's name; and the answer's headers."""

    content: Mapping[str, Any]
    headers: Mapping[str, str]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One endpoint, and the time by which it is asked: every way to it, so that tests bring their own."""

    url: str
    transport: Transport
    call: Callable[[str, str, dict[str, Any]], Reply]  # service, method of its client, parameters
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def send(self, operation: str, **parameters: Any) -> Answer:
        """One request of DynamoDB. Raises `DoesNotAnswer`."""
        answer = self.transport.send(operation, orjson.dumps(parameters))
        if answer.failure is not None:
            raise DoesNotAnswer(f"{self.url} does not answer {operation}: {answer.failure}")
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.transport.close()


def asked(target: Target) -> Asked:
    """The target as it is there."""
    return Asked(url=target.url, transport=Boto3Transport(target, connections=1), call=_caller(target))


def _caller(target: Target) -> Callable[[str, str, dict[str, Any]], Reply]:
    def call(service: str, method: str, parameters: dict[str, Any]) -> Reply:
        client = make_client(target, service=service, timeout_s=WITHIN_S)
        try:
            content = getattr(client, method)(**parameters)
        except ClientError as error:
            return Reply({}, _headers(error.response), error.response["Error"]["Code"] or "an error")
        except NOT_UNDERSTOOD as error:
            return Reply({}, {}, type(error).__name__)
        finally:
            client.close()
        return Reply(content, _headers(content))

    return call


def _headers(response: Mapping[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return found
