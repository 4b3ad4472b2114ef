"""A table that is there becomes the scenario's: all of it that a load test has to do with.

What auto scaling may do to it is asked of AWS, and where it cannot be asked that is said.
"""

from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from botocore.stub import Stubber

from keyheat.intake.scaling_of_aws import auto_scaling_of
from keyheat.load.tables.control import auto_scaling_at, creation
from keyheat.load.tables.existing import lacking, not_spared, table_of, unloadable
from keyheat.load.transport.target import target_at
from keyheat.runs.scaling import AutoScaling, ScalingRange
from keyheat.scenario.spec.tables import TableSpec
from tests.endpoint.clients import service_app_at, unasked_client
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
        "provisioned": PAIR, "sort_key": "sk", "stream": "NEW_AND_OLD_IMAGES",
        "indexes": [
            {
                "name": "by-day", "partition_key": "pk", "sort_key": "day", "sort_key_type": "N",
                "sort_key_in_items": True, "local": True, "projection": "INCLUDE", "include": ["filler"],
            },
            {
                "name": "by-land", "partition_key": "land", "partition_key_type": "N", "sort_key": "sk",
                "sort_key_in_items": True, "projection": "KEYS_ONLY", "provisioned": {"read": 1, "write": 2},
            },
        ],
    },
}  # fmt: skip


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


AWS = "https://dynamodb.us-east-1.amazonaws.com"
TABLE = TableSpec.model_validate(
    {
        "name": "theirs",
        "provisioned": PAIR,
        "indexes": [{"name": "by-day", "partition_key": "day", "provisioned": PAIR}],
    }
)
WRITE, READ = "dynamodb:table:WriteCapacityUnits", "dynamodb:index:ReadCapacityUnits"


FOUND = [
    ScalingRange(index="by-day", side="read", min=5, max=1_000, target=None),
    ScalingRange(index=None, side="write", min=5, max=1_000, target=0.7),
]
TARGETS = [
    {"ServiceNamespace": "dynamodb", "ResourceId": resource, "ScalableDimension": dimension}
    for resource, dimension in (("table/theirs", WRITE), ("table/theirs/index/by-day", READ))
]
BOUNDS = {"MinCapacity": 5, "MaxCapacity": 1_000}
POLICY = {
    "PolicyName": "writes",
    "PolicyType": "TargetTrackingScaling",
    "TargetTrackingScalingPolicyConfiguration": {
        "TargetValue": 70.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
    },
}


def test_bounds_and_targets_are_found_and_a_denied_question_is_said() -> None:
    client = unasked_client("application-autoscaling")
    made = {"CreationTime": datetime(2026, 11, 20, tzinfo=UTC)}
    named = {"ServiceNamespace": "dynamodb", "ResourceIds": ["table/theirs", "table/theirs/index/by-day"]}
    ask = partial(auto_scaling_of, lambda: client, "theirs", ["by-day"])
    with Stubber(client) as stubber:
        stubber.add_response("describe_scalable_targets", {"ScalableTargets": []}, named)
        assert ask() == AutoScaling()
        targets = [{**target, **BOUNDS, **made, "RoleARN": "role"} for target in TARGETS]
        stubber.add_response("describe_scalable_targets", {"ScalableTargets": targets}, named)
        policies = [{**TARGETS[0], **POLICY, **made, "PolicyARN": "policy"}]
        stubber.add_response("describe_scaling_policies", {"ScalingPolicies": policies})
        stubber.add_response("describe_scaling_policies", {"ScalingPolicies": []})
        found = ask()
        stubber.add_client_error("describe_scalable_targets", "AccessDeniedException", "no")
        denied = ask()
    assert (sorted(found.scaled, key=lambda scaled: scaled.side), found.why) == (FOUND, None)
    assert "writes of the table: 5 to 1,000 units per second, steered for 70%" in " ".join(found.in_words())
    assert denied.why == "AccessDeniedException for DescribeScalableTargets"
    (words,) = denied.in_words()
    assert "is not known" in words


def test_elsewhere_and_on_demand_nobody_is_asked() -> None:
    here = auto_scaling_at(target_at("http://127.0.0.1:8000"), TABLE)
    assert here.why is not None
    on_demand = TableSpec.model_validate({"name": "theirs", "billing_mode": "PAY_PER_REQUEST"})
    assert auto_scaling_at(target_at(AWS), on_demand) == AutoScaling()
    assert AutoScaling().in_words() == []
