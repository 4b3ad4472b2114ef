"""keyheat clean --orphans, at an endpoint that others wrote."""

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from keyheat.load.tables.removal import OrphanSearch
from tests.conftest import Verb
from tests.endpoint.account import on_demand

pytestmark = pytest.mark.slow

CLEAN = ("clean", "--orphans", "--region", "eu-west-1")
SWEEP = (*CLEAN, "--yes")
PAST, FUTURE = "2026-11-20T10:15:00Z", "2099-01-01T00:00:00Z"


@pytest.fixture
def ddb(some_account: None) -> Iterator[Any]:
    """DynamoDB in eu-west-1, for an account that is nobody's."""
    with mock_aws():
        yield boto3.client("dynamodb", region_name="eu-west-1")


def make(
    ddb: Any, name: str, expires: str | None = PAST, run: str | None = "3f2a1c9d04be", **more: Any
) -> None:
    tags = {"keyheat": run, "keyheat-owner": run and "ann", "keyheat-expires": expires}
    ddb.create_table(
        **on_demand(name, Tags=[{"Key": key, "Value": value} for key, value in tags.items() if value], **more)
    )


def names(ddb: Any) -> list[str]:
    return sorted(ddb.list_tables()["TableNames"])


def test_only_what_is_over_and_ours_is_deleted(verb: Verb, ddb: Any) -> None:
    make(ddb, "over")
    make(ddb, "busy", FUTURE)
    make(ddb, "untold", None)
    make(ddb, "unreadable", "tomorrow")
    make(ddb, "orders", run=None)
    said = verb(*SWEEP, "--json")
    assert said.code == 0
    assert names(ddb) == ["busy", "orders", "unreadable", "untold"]
    fates = {row["table"]: row["fate"] for row in json.loads(said.out)["tables"][0]["rows"]}
    assert fates == {
        "over": "deleted",
        "untold": "not deleted, it has no tag keyheat-expires",
        "unreadable": "not deleted, its tag keyheat-expires cannot be read: 'tomorrow' is not a time",
        "busy": "not expired",
    }


def test_where_nobody_can_be_asked_it_is_refused(verb: Verb, ddb: Any) -> None:
    make(ddb, "over")
    said = verb(*CLEAN, "--json")
    assert (said.code, names(ddb)) == (4, ["over"])
    assert "add --yes" in said.err
    (table,) = json.loads(said.out)["data"]["tables"]
    assert (table["name"], table["expires"], table["kept"], table["fate"]) == ("over", PAST, None, "expired")


class Terminal(StringIO):
    """A keyboard at which somebody types this."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "left"), [("y\n", []), ("n\n", ["over"])])
def test_on_a_terminal_somebody_is_asked(
    verb: Verb, ddb: Any, monkeypatch: pytest.MonkeyPatch, typed: str, left: list[str]
) -> None:
    make(ddb, "over")
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    said = verb(*CLEAN)
    assert (said.code, names(ddb)) == (0, left)
    assert "Delete 1 table?" in said.err


def test_what_cannot_be_read_is_said_and_the_rest_is_done(
    verb: Verb, ddb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("denied", "over"):
        make(ddb, name)
    judge = OrphanSearch.judge

    def judged(search: OrphanSearch, name: str) -> Any:
        if name == "denied":
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "ListTagsOfResource")
        return judge(search, name)

    monkeypatch.setattr(OrphanSearch, "judge", judged)
    said = verb(*SWEEP)
    assert (said.code, names(ddb)) == (3, ["denied"])
    assert said.says("Not looked at: denied: the permission dynamodb:ListTagsOfResource is missing")


def test_what_cannot_be_asked_is_said(verb: Verb, ddb: Any) -> None:
    said = verb("clean", "--orphans", "--profile", "nobody")
    assert (said.code, "nobody" in said.err) == (2, True)


@pytest.mark.usefixtures("no_account")
def test_who_asks_and_where_is_needed(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    said = verb("clean", "--orphans")
    collected = verb("collect", "--table", "t", "--last", "1h")
    for answer in (said, collected):
        assert (answer.code, answer.line) == (
            2,
            "keyheat: no Region is configured: add --region, such as --region eu-west-1",
        )
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    said = verb("clean", "--orphans")
    assert said.code == 2
    assert "no AWS credentials: sign in, or add --profile" in said.line
