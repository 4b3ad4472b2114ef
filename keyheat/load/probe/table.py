"""An endpoint as the probe asks it, and the probe's own table there: deleted again whatever happens."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Final, Self

import orjson
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from keyheat.load.tables.ownership import tags_for, user_name
from keyheat.load.transport.answer import Answer, Transport
from keyheat.load.transport.boto import Boto3Transport, make_client
from keyheat.load.transport.target import Target

WITHIN_S = 5.0  # for one request of a service beside
NOT_UNDERSTOOD = (BotoCoreError, ResponseParserError, ValueError, LookupError, TypeError, AttributeError)
"""Nothing came, or what no parser of that service's protocol takes: each breaks in its own way."""


class DoesNotAnswer(Exception):
    """Nothing came back from the endpoint; the text is for the person who named it."""


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """What another service answered: its content, or the error's name; and the answer's headers."""

    content: Mapping[str, Any]
    headers: Mapping[str, str]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedEndpoint:
    """One endpoint, and the time by which it is asked: every way to it, so that tests bring their own."""

    url: str
    transport: Transport
    call: Callable[[str, str, dict[str, Any]], ServiceReply]  # service, method of its client, parameters
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


def asked(target: Target) -> ProbedEndpoint:
    """The target as it is there."""
    return ProbedEndpoint(
        url=target.url, transport=Boto3Transport(target, connections=1), call=_caller(target)
    )


def _caller(target: Target) -> Callable[[str, str, dict[str, Any]], ServiceReply]:
    def call(service: str, method: str, parameters: dict[str, Any]) -> ServiceReply:
        client = make_client(target, service=service, timeout_s=WITHIN_S)
        try:
            content = getattr(client, method)(**parameters)
        except ClientError as error:
            return ServiceReply({}, _headers(error.response), error.response["Error"]["Code"] or "an error")
        except NOT_UNDERSTOOD as error:
            return ServiceReply({}, {}, type(error).__name__)
        finally:
            client.close()
        return ServiceReply(content, _headers(content))

    return call


def _headers(response: Mapping[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return found


PREFIX: Final = "keyheat-probe-"
INDEX: Final = "by-group"
ACTIVE_WITHIN_S: Final = 60.0
POLL_S: Final = 0.1
EXPIRES: Final = timedelta(hours=1)  # after that, whoever finds the table may delete it


class NoTable(Exception):
    """The probe's table could not be made; the text says what came back."""


@dataclass(frozen=True, slots=True)
class ProbeTable:
    """The table as it was described once it was active."""

    name: str
    described: dict[str, Any]
    tagged: bool

    @property
    def arn(self) -> str | None:
        """As the endpoint gives it."""
        return self.described.get("TableArn")


@contextmanager
def own_table(asked: ProbedEndpoint, probe_id: str, say: Callable[[str], None]) -> Iterator[ProbeTable]:
    """A table of the probe's own, active; deleted at the end, after Ctrl-C as well. Raises `NoTable`."""
    name = f"{PREFIX}{probe_id}"
    refused = False
    try:
        try:
            tagged = _create(asked, name, probe_id)
        except NoTable:
            refused = True
            raise
        yield ProbeTable(name, _active(asked, name), tagged)
    finally:
        if not refused:
            _delete(asked, name, say)


def _create(asked: ProbedEndpoint, name: str, probe_id: str) -> bool:
    """Make the table, without tags where those are refused; gives whether it has them."""
    expires = datetime.fromtimestamp(asked.clock(), UTC) + EXPIRES
    tags = tags_for(f"probe-{probe_id}", owner=user_name(), expires=expires)
    answer = asked.send("CreateTable", **_parameters(name), Tags=tags)
    if answer.accepted:
        return True
    if "__type" not in answer.content():
        raise DoesNotAnswer(
            f"{asked.url} does not answer as DynamoDB does: CreateTable came back with HTTP {answer.status}"
        )
    if answer.error_code not in ("ValidationException", "SerializationException"):
        raise NoTable(_refusal(answer))
    answer = asked.send("CreateTable", **_parameters(name))
    if not answer.accepted:
        raise NoTable(_refusal(answer))
    return False


def _parameters(name: str) -> dict[str, Any]:
    """One unit a second each way, so that little load is enough to exceed it."""
    capacity = {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}
    index = {
        "IndexName": INDEX,
        "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        **capacity,
    }
    return {
        "TableName": name,
        "BillingMode": "PROVISIONED",
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": "S"} for attribute in ("pk", "sk", "group")
        ],
        "GlobalSecondaryIndexes": [index],
        **capacity,
    }


def _active(asked: ProbedEndpoint, name: str) -> dict[str, Any]:
    ends_s = asked.clock() + ACTIVE_WITHIN_S
    while True:
        described: dict[str, Any] = asked.send("DescribeTable", TableName=name).content().get("Table", {})
        indexes = described.get("GlobalSecondaryIndexes", [])
        states = {described.get("TableStatus"), *(index.get("IndexStatus", "ACTIVE") for index in indexes)}
        if states == {"ACTIVE"}:
            return described
        if asked.clock() > ends_s:
            raise NoTable(f"{name} was not active within {ACTIVE_WITHIN_S:g} s")
        asked.sleep(POLL_S)


def _delete(asked: ProbedEndpoint, name: str, say: Callable[[str], None]) -> None:
    """Delete the table, as soon as it lets itself be deleted; what stays is said."""
    ends_s = asked.clock() + ACTIVE_WITHIN_S
    refusal = ""
    while asked.clock() <= ends_s:
        try:
            answer = asked.send("DeleteTable", TableName=name)
        except DoesNotAnswer as error:
            refusal = str(error)
            break
        if answer.accepted or answer.error_code == "ResourceNotFoundException":
            return
        refusal = _refusal(answer)
        if answer.error_code != "ResourceInUseException":  # it is being made still
            break
        asked.sleep(POLL_S)
    say(f"table {name} of the probe stays at {asked.url}: {refusal}. Delete it")


def _refusal(answer: Answer) -> str:
    message = answer.content().get("message") or answer.content().get("Message") or ""
    return f"{answer.error_code}: {message}" if message else str(answer.error_code)
