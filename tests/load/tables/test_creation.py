"""CreateTable: what is sent is what the service's model takes; what it refuses is said with what to do."""

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.stub import Stubber

from keyheat.load.options import TableError
from keyheat.load.tables.control import create
from keyheat.load.tables.existing import differences
from keyheat.load.tables.ownership import tags_for
from keyheat.scenario.spec.tables import TableSpec
from tests.endpoint.clients import unasked_client
from tests.load.tables.conftest import Account
from tests.make import a_spec

CAPACITY = {"provisioned": {"read": 5, "write": 7}}
BY_LAND: dict[str, Any] = {"name": "by-land", "partition_key": "land", **CAPACITY}
BY_DAY: dict[str, Any] = {"name": "by-day", "partition_key": "pk", "sort_key": "day", "local": True}
ON_DEMAND: dict[str, Any] = {"billing_mode": "PAY_PER_REQUEST", "provisioned": None}
WARM = {"read": 14_000, "write": 5_000}
SPECS = {
    "provisioned": a_spec(),
    "with keys of bytes and numbers, and a stream": a_spec(
        partition_key_type="B", sort_key="at", sort_key_type="N", stream="NEW_IMAGE"
    ),
    "on demand": a_spec(**ON_DEMAND),
    "with a maximum": a_spec(**ON_DEMAND, max_on_demand={"write": 900}),
    "pre-warmed": a_spec(**ON_DEMAND, warm=WARM),
    "with indexes": a_spec(
        sort_key="sk", indexes=[BY_LAND, {**BY_DAY, "projection": "INCLUDE", "include": ["b", "a"]}]
    ),
    "with an index on demand": a_spec(
        **ON_DEMAND,
        indexes=[{"name": "by-land", "partition_key": "land", "max_on_demand": {"read": 9}, "warm": WARM}],
    ),
    "with a number": a_spec(
        indexes=[{**BY_LAND, "sort_key": "views", "sort_key_type": "N", "projection": "KEYS_ONLY"}]
    ),
}
TAGS = tags_for("run-1", owner="ann", expires=datetime(2026, 11, 22, tzinfo=UTC))


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPECS)
def test_a_table_that_was_made_does_not_differ(account: Account, kind: str) -> None:
    assert create(account.ddb, SPECS[kind], TAGS)
    assert differences(SPECS[kind], account.describe("made")) == []
    assert account.tags("made") == {
        "keyheat": "run-1",
        "keyheat-owner": "ann",
        "keyheat-expires": "2026-11-22T00:00:00Z",
    }
    assert not create(account.ddb, SPECS[kind], TAGS), "somebody made it a moment before"


INDEXED = SPECS["with indexes"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("there", "wanted", "clauses"),
    [
        (a_spec(), a_spec(**ON_DEMAND), ["BillingMode is PROVISIONED, not PAY_PER_REQUEST"]),
        (SPECS["with a maximum"], SPECS["on demand"], ["OnDemandThroughput is present, not absent"]),
        (a_spec(**ON_DEMAND), SPECS["pre-warmed"], ["WarmThroughput.WriteUnitsPerSecond is 4,000"]),
        (
            INDEXED,
            a_spec(sort_key="sk", indexes=[{**BY_LAND, "provisioned": {"read": 5, "write": 8}}, BY_DAY]),
            [
                "GlobalSecondaryIndexes.by-land.ProvisionedThroughput.WriteCapacityUnits is 7, not 8",
                "LocalSecondaryIndexes.by-day.Projection.ProjectionType is INCLUDE, not ALL",
            ],
        ),
    ],
)
def test_every_difference_is_said(
    account: Account, there: TableSpec, wanted: TableSpec, clauses: list[str]
) -> None:
    create(account.ddb, there, TAGS)
    found = "; ".join(differences(wanted, account.describe("made")))
    assert all(clause in found for clause in clauses), found


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "dynamodb:TagResource"),
        ("LimitExceededException", "have the quota raised"),
        ("ValidationException", "said"),
    ],
)
def test_a_refusal_says_what_to_do(code: str, words: str) -> None:
    client = unasked_client("dynamodb")
    with Stubber(client) as stubber:
        stubber.add_client_error("create_table", code, "said")
        with pytest.raises(TableError, match=words):
            create(client, a_spec(), TAGS)
