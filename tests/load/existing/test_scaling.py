"""What auto scaling may do to a table is asked of AWS, and where it cannot be asked that is said."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from keyheat.intake.scaling_of_aws import auto_scaling_of
from keyheat.load.tables.control import auto_scaling_at
from keyheat.load.transport.target import target_at
from keyheat.runs.scaling import AutoScaling, ScalingRange
from keyheat.scenario.spec.tables import TableSpec

AWS = "https://dynamodb.us-east-1.amazonaws.com"
PAIR = {"read": 5, "write": 7}
TABLE = TableSpec.model_validate(
    {
        "name": "theirs",
        "provisioned": PAIR,
        "indexes": [{"name": "by-day", "partition_key": "day", "provisioned": PAIR}],
    }
)
WRITE, READ = "dynamodb:table:WriteCapacityUnits", "dynamodb:index:ReadCapacityUnits"


@pytest.fixture
def scaling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        dynamodb = boto3.client("dynamodb", region_name="us-east-1")
        dynamodb.create_table(
            TableName="theirs",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 7},
        )
        yield boto3.client("application-autoscaling", region_name="us-east-1")


@pytest.mark.slow
def test_bounds_and_targets_are_found(scaling: Any) -> None:
    for resource, dimension in (("table/theirs", WRITE), ("table/theirs/index/by-day", READ)):
        named = {"ServiceNamespace": "dynamodb", "ResourceId": resource, "ScalableDimension": dimension}
        scaling.register_scalable_target(**named, MinCapacity=5, MaxCapacity=1_000)
    scaling.put_scaling_policy(
        ServiceNamespace="dynamodb",
        ResourceId="table/theirs",
        ScalableDimension=WRITE,
        PolicyName="writes",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 70.0,
            "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
        },
    )
    found = auto_scaling_at(target_at(AWS), TABLE)
    assert sorted(found.scaled, key=lambda one: one.side) == [
        ScalingRange(index="by-day", side="read", min=5, max=1_000, target=None),
        ScalingRange(index=None, side="write", min=5, max=1_000, target=0.7),
    ]
    assert "writes of the table: 5 to 1,000 units per second, steered for 70%" in " ".join(found.in_words())
    assert found.why is None


def test_a_denied_question_is_said() -> None:
    client = boto3.client(
        "application-autoscaling", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    with Stubber(client) as stubber:
        stubber.add_response(
            "describe_scalable_targets",
            {"ScalableTargets": []},
            {
                "ServiceNamespace": "dynamodb",
                "ResourceIds": ["table/theirs", "table/theirs/index/by-day"],
            },
        )
        assert auto_scaling_of(lambda: client, "theirs", ["by-day"]) == AutoScaling()
        stubber.add_client_error("describe_scalable_targets", "AccessDeniedException", "no")
        found = auto_scaling_of(lambda: client, "theirs", ["by-day"])
    assert found.why == "AccessDeniedException for DescribeScalableTargets"
    (words,) = found.in_words()
    assert "is not known" in words


def test_elsewhere_and_on_demand_nobody_is_asked() -> None:
    here = auto_scaling_at(target_at("http://127.0.0.1:8000"), TABLE)
    assert here.why is not None
    on_demand = TableSpec.model_validate({"name": "theirs", "billing_mode": "PAY_PER_REQUEST"})
    assert auto_scaling_at(target_at(AWS), on_demand) == AutoScaling()


@pytest.mark.slow
def test_a_table_without_it_is_known_to_have_none(scaling: Any) -> None:
    assert auto_scaling_at(target_at(AWS), TABLE) == AutoScaling()
    assert AutoScaling().in_words() == []
