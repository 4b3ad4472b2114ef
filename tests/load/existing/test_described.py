"""What a table lacks for a load test, and what a load test may not do to somebody else's.

What auto scaling may do to it is asked of AWS, and where it cannot be asked that is said.
"""

from typing import Any

from botocore.stub import Stubber

from keyheat.intake.scaling import auto_scaling_of
from keyheat.load.tables.control import auto_scaling_at, creation
from keyheat.load.tables.existing import lacking, unloadable
from keyheat.load.transport.target import target_at
from keyheat.runs.table_facts import AutoScaling, ScalingRange
from keyheat.scenario.spec.tables import TableSpec
from tests.endpoint.clients import unasked_client

PAIR = {"read": 5, "write": 7}


def spec_of(**fields: Any) -> TableSpec:
    return TableSpec.model_validate({"name": "theirs", "on_end": "keep", **fields})


def test_what_no_items_of_ours_can_have_is_said() -> None:
    description = creation(spec_of(provisioned=PAIR, partition_key="filler"))
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


WRITE, READ = "dynamodb:table:WriteCapacityUnits", "dynamodb:index:ReadCapacityUnits"


def test_auto_scaling_is_asked_of_aws_alone_and_said_before_the_run() -> None:
    client = unasked_client("application-autoscaling")
    with Stubber(client) as stubber:
        stubber.add_client_error("describe_scalable_targets", "AccessDeniedException", "no")
        denied = auto_scaling_of(lambda: client, "theirs", ["by-day"])
    assert denied.in_words() == [
        "whether auto scaling changes its capacity is not known: "
        "AccessDeniedException for DescribeScalableTargets"
    ]
    writes = ScalingRange(side="write", min=5, max=1_000, target=0.7)
    (words,) = AutoScaling(scaled=(writes,)).in_words()
    assert "writes of the table: 5 to 1,000 units per second, steered for 70%" in words
    assert auto_scaling_at(target_at("http://127.0.0.1:8000"), spec_of(provisioned=PAIR)).why is not None
    aws = target_at("https://dynamodb.us-east-1.amazonaws.com")
    assert auto_scaling_at(aws, spec_of(billing_mode="PAY_PER_REQUEST")) == AutoScaling()
