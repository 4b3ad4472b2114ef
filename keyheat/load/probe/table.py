"""The probe's own table: made for the probe, with one index, and deleted whatever happens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from keyheat.load.probe.asked import Asked, DoesNotAnswer
from keyheat.load.tables.tags import tags_for, user_name
from keyheat.load.transport.answer import Answer

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
def own_table(asked: Asked, probe_id: str, say: Callable[[str], None]) -> Iterator[ProbeTable]:
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


def _create(asked: Asked, name: str, probe_id: str) -> bool:
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


def _active(asked: Asked, name: str) -> dict[str, Any]:
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


def _delete(asked: Asked, name: str, say: Callable[[str], None]) -> None:
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
