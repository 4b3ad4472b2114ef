"""A table that is there becomes the scenario's: all of it that a load test has to do with."""

from typing import Any

import boto3
import pytest
from moto import mock_aws

from keyheat.load.tables.control import creation
from keyheat.load.tables.existing import lacking, not_spared, table_of, unloadable
from keyheat.scenario.spec.tables import TableSpec
from tests.endpoint.clients import service_app_at
from tests.make import a_scenario

PAIR = {"read": 5, "write": 7}
SPECS: dict[str, dict[str, Any]] = {
    "provisioned": {"provisioned": PAIR, "partition_key": "id", "partition_key_type": "B"},
    "on demand": {
        "billing_mode": "PAY_PER_REQUEST",
        "max_on_demand": {"read": None, "write": 900},
        "warm": {"read": 14_000, "write": 5_000},
        "sort_key": "at",
        "sort_key_type": "N",
    },
    "with indexes": {
        "provisioned": PAIR,
        "sort_key": "sk",
        "stream": "NEW_AND_OLD_IMAGES",
        "indexes": [
            {
                "name": "by-day",
                "partition_key": "pk",
                "sort_key": "day",
                "sort_key_type": "N",
                "sort_key_in_items": True,
                "local": True,
                "projection": "INCLUDE",
                "include": ["filler"],
            },
            {
                "name": "by-land",
                "partition_key": "land",
                "partition_key_type": "N",
                "sort_key": "sk",
                "sort_key_in_items": True,
                "projection": "KEYS_ONLY",
                "provisioned": {"read": 1, "write": 2},
            },
        ],
    },
}


def described(spec: TableSpec) -> dict[str, Any]:
    app = service_app_at()
    app.ddb.create_table(**creation(spec))
    description: dict[str, Any] = app.ddb.describe_table(TableName=spec.name)["Table"]
    return description


def spec_of(**fields: Any) -> TableSpec:
    return TableSpec.model_validate({"name": "theirs", "on_end": "keep", **fields})


@pytest.mark.parametrize("kind", SPECS)
def test_what_is_described_is_what_was_made(kind: str) -> None:
    spec = spec_of(**SPECS[kind])
    found = TableSpec.model_validate(table_of(described(spec)))
    changed = {"warm": spec.warm}  # AWS tells it of every table
    indexes = tuple(index.model_copy(update={"warm": None}) for index in found.indexes)
    assert found.model_copy(update={**changed, "indexes": indexes}) == spec
    assert list(unloadable(described(spec))) == []


def test_what_no_items_of_ours_can_have_is_said() -> None:
    description = described(spec_of(provisioned=PAIR, partition_key="filler"))
    two = [{"AttributeName": name, "KeyType": "HASH"} for name in ("filler", "b")]
    description["AttributeDefinitions"] += [{"AttributeName": "b", "AttributeType": "N"}]
    description["GlobalSecondaryIndexes"] = [{"IndexName": "wide", "KeySchema": two}]
    several, named = unloadable(description)
    assert "wide has a key of attributes of several types" in several
    assert "'filler' is named as what fills our items" in named


class ByCountry:
    needs_sort_key = True
    needs_text_sort_key = True
    needs_indexes = ("by-country",)


class Single:
    needs_no_sort_key = True
    only_ours = "it reads the whole table"


STATED = spec_of(
    provisioned=PAIR,
    sort_key="sk",
    indexes=[{"name": "by-country", "partition_key": "country", "sort_key": "at", "provisioned": PAIR}],
)


def test_all_that_a_table_lacks_is_said() -> None:
    bare = spec_of(provisioned=PAIR)
    first, second = lacking([ByCountry], STATED, bare)
    assert "has no sort key" in first
    assert "this load test reads index by-country; the table has none" in second
    other = {"name": "by-country", "partition_key": "land", "partition_key_type": "N", "provisioned": PAIR}
    numbers = spec_of(provisioned=PAIR, sort_key="at", sort_key_type="N", indexes=[other])
    first, second, third = lacking([ByCountry, Single], STATED, numbers)
    assert "finds items by one key, without 'at'" in first
    assert "begins with some text, and it is a number" in second
    assert "keyed by land (N); this load test reads country (S) and at (S)" in third
    assert list(lacking([ByCountry], STATED, STATED)) == []


def test_a_table_of_somebody_elses_is_spared() -> None:
    scenario = a_scenario(
        loadtest="dynamic_sharding",
        table={"name": "mine", "provisioned": PAIR, "sort_key": "sk"},
        companions=[{"name": "shards", "billing_mode": "PAY_PER_REQUEST"}],
        load={"duration_s": 60},
        dynamic_sharding={"table": "shards", "max_write_units": 100},
        timeline=[{"at_s": 5, "provisioned": {"write": 9}}],
    )
    said = list(not_spared([Single, ByCountry], scenario))
    assert [words.rpartition(" @ ")[2] for words in said[1:]] == [
        "$.timeline",
        "$.dynamic_sharding.max_write_units",
    ]
    assert "it reads the whole table" in said[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPECS)
def test_an_endpoint_that_others_wrote_is_understood(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    spec = spec_of(**SPECS[kind])
    bare = spec.model_copy(update={"max_on_demand": None, "warm": None})  # moto has none of them
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        client.create_table(**creation(bare))
        found = TableSpec.model_validate(table_of(client.describe_table(TableName="theirs")["Table"]))
    assert found.key_types() == spec.key_types()
    assert (found.billing_mode, found.provisioned, found.stream) == (
        spec.billing_mode, spec.provisioned, spec.stream,
    )  # fmt: skip
    assert [(one.name, one.local, one.include) for one in found.indexes] == [
        (one.name, one.local, one.include) for one in spec.indexes
    ]
