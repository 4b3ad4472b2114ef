"""A table is loaded where it is ours and nobody protects it, or where somebody said its name."""

from typing import Any

import pytest
from botocore.stub import Stubber

from keyheat.load.tables.ownership import Standing, Unread, look_at, refusals, unusable
from tests.endpoint.account import on_demand
from tests.endpoint.clients import unasked_client
from tests.load.tables.conftest import Account

OURS = {"keyheat": "run-1"}
TABLE = {"TableName": "orders", "TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/orders"}
UNREAD = Unread("the permission dynamodb:X is missing")
PROTECTED = {"DeletionProtectionEnabled": True}
GLOBAL = {"Replicas": [{"RegionName": "eu-west-1"}, {"RegionName": "us-west-2"}]}
ALLOW, ALLOW_PROTECTED = "--allow-table orders", "--allow-protected orders"


def a_table(more: dict[str, Any] | None = None, tags: Any = OURS, recovery: Any = False) -> Standing:
    return Standing(description=TABLE | (more or {}), tags=tags, recovery=recovery)


@pytest.mark.parametrize(
    ("table", "flags", "words"),
    [
        (a_table(), [], []),
        (a_table(tags={}), [ALLOW], ["was not created by a run of ours"]),
        (a_table(tags={"Keyheat": "x", "keyheat-owner": "x"}), [ALLOW], ["no tag 'keyheat'"]),
        (a_table(tags=UNREAD), [ALLOW], ["cannot be seen", "dynamodb:X"]),
        (a_table(PROTECTED), [ALLOW_PROTECTED], ["deletion protection is on"]),
        (a_table(recovery=True), [ALLOW_PROTECTED], ["point-in-time recovery is on"]),
        (a_table(recovery=UNREAD), [ALLOW_PROTECTED], ["may be on", "dynamodb:X"]),
        (a_table(GLOBAL), [ALLOW_PROTECTED], ["copied to eu-west-1, us-west-2"]),
        (a_table(PROTECTED, {}, True), [ALLOW, ALLOW_PROTECTED], ["deletion protection", "point-in-time"]),
    ],
)
def test_refusals_name_the_options_that_would_allow_it(
    table: Standing, flags: list[str], words: list[str]
) -> None:
    lines = refusals(table, (), ())
    assert len(lines) == len(flags)
    for line, flag in zip(lines, flags, strict=True):
        assert flag in line
    assert all(word in " ".join(lines) for word in words)
    assert len(refusals(table, {"invoices"}, {"invoices"})) == len(flags), "another table's name"
    assert refusals(table, {"orders"}, {"orders"}) == []
    foreign = [line for line in lines if ALLOW in line]
    assert refusals(table, (), {"orders"}) == foreign, "each option allows one thing"


def create(account: Account, **more: Any) -> Standing:
    account.ddb.create_table(**on_demand(**more))
    return there(account)


def there(account: Account) -> Standing:
    table = look_at(account.ddb, "orders")
    assert table is not None
    return table


def test_tags_and_protection_are_read_from_the_service(account: Account) -> None:
    table = create(account, DeletionProtectionEnabled=True)
    assert (table.tags, table.recovery) == ({}, False)
    account.recover("orders")
    tags = [{"Key": f"tag-{number:02}", "Value": "x"} for number in range(25)]  # more than a page of them
    account.ddb.tag_resource(
        ResourceArn=account.describe("orders")["TableArn"], Tags=[*tags, {"Key": "keyheat", "Value": "run-1"}]
    )
    table = there(account)
    assert not isinstance(table.tags, Unread)
    assert (table.tags["keyheat"], len(table.tags), table.recovery) == ("run-1", 26, True)
    (line,) = refusals(table, (), ())
    assert "deletion protection is on; point-in-time recovery is on" in line


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("AccessDeniedException", "the permission dynamodb:{} is missing"),
        ("ThrottlingException", "{} was answered with ThrottlingException: said"),
        ("UnknownOperationException", "this endpoint does not serve {}"),
    ],
)
def test_what_cannot_be_read_proves_nothing(code: str, why: str) -> None:
    client = unasked_client("dynamodb")
    with Stubber(client) as stubber:
        stubber.add_response("describe_table", {"Table": TABLE})
        stubber.add_client_error("list_tags_of_resource", code, "said")
        stubber.add_client_error("describe_continuous_backups", code, "said")
        table = look_at(client, "orders")
    assert table is not None
    assert table.tags == Unread(why.format("ListTagsOfResource"))
    if code == "UnknownOperationException":
        assert table.recovery is False  # there is no such thing at that endpoint
    else:
        assert table.recovery == Unread(why.format("DescribeContinuousBackups"))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"TableStatus": "DELETING"}, "its status is DELETING"),
        ({"TableStatus": "ARCHIVED"}, "its status is ARCHIVED"),
        ({"TableStatus": "INACCESSIBLE_ENCRYPTION_CREDENTIALS"}, "its status is INACCESSIBLE"),
        ({"TableStatus": "CREATING", "RestoreSummary": {"RestoreInProgress": True}}, "being restored"),
    ],
)
def test_a_table_that_will_not_answer_is_said_at_once(more: dict[str, Any], words: str) -> None:
    assert words in (unusable(more) or "")
