"""What auto scaling may do to a table is asked of AWS, and where it cannot be asked that is said."""

from datetime import UTC, datetime
from functools import partial

from botocore.stub import Stubber

from keyheat.intake.scaling_of_aws import auto_scaling_of
from keyheat.load.tables.control import auto_scaling_at
from keyheat.load.transport.target import target_at
from keyheat.runs.scaling import AutoScaling, ScalingRange
from keyheat.scenario.spec.tables import TableSpec
from tests.endpoint.clients import unasked_client

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
