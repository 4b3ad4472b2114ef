"""Read a table's auto scaling from AWS: its scalable targets and their policies.

https://docs.aws.amazon.com/autoscaling/application/APIReference/API_DescribeScalableTargets.html
https://docs.aws.amazon.com/autoscaling/application/APIReference/API_DescribeScalingPolicies.html
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.intake.scaling import parse_policy, scaled_side
from keyheat.intake.tables import SourceTable
from keyheat.masking import masked
from keyheat.runs.table_facts import AutoScaling, ScalingRange

SERVICE: Final = "application-autoscaling"
RESOURCES_PER_CALL: Final = 50
TRACKING: Final = "TargetTrackingScalingPolicyConfiguration"


def auto_scaling_of(connect: Callable[[], Any], table: str, indexes: Sequence[str]) -> AutoScaling:
    """Read the auto scaling of a table and its global indexes, or why it is unknown.

    `connect` creates the client.
    """
    try:
        with closing(connect()) as client:
            return AutoScaling(scaled=tuple(_ranges(client, table, indexes)))
    except ClientError as error:
        return AutoScaling(why=f"{error.response['Error']['Code']} for {error.operation_name}")
    except BotoCoreError as error:
        return AutoScaling(why=f"Application Auto Scaling did not answer: {masked(str(error))}")


def with_auto_scaling(table: SourceTable, connect: Callable[[], Any]) -> SourceTable:
    """Add auto scaling to a table, or a note why it is unknown."""
    indexes = [index["IndexName"] for index in table.description.get("GlobalSecondaryIndexes") or ()]
    return scaled_as(table, auto_scaling_of(connect, table.name, indexes))


def scaled_as(table: SourceTable, scaling: AutoScaling) -> SourceTable:
    """Add auto scaling that is known to a table, or a note why it is not."""
    if scaling.why is not None:
        return replace(table, notes=(*table.notes, f"its auto scaling, which is unknown: {scaling.why}"))
    bounds = {(side.index, str(side.side)): {"min": side.min, "max": side.max} for side in scaling.scaled}
    policies = {
        (side.index, str(side.side)): side.model_dump(
            exclude={"index", "side", "min", "max"}, exclude_none=True
        )
        for side in scaling.scaled
        if side.target is not None
    }
    return table.scaled_by(bounds, policies)


def _ranges(client: Any, table: str, indexes: Sequence[str]) -> Iterator[ScalingRange]:
    """Every registered side, with its policy."""
    resources = [f"table/{table}", *(f"table/{table}/index/{index}" for index in indexes)]
    targets = list(_targets(client, resources))
    policies: dict[tuple[str, str], Mapping[str, Any]] = {
        (policy["ResourceId"], policy["ScalableDimension"]): parse_policy(policy.get(TRACKING) or {})
        for resource in dict.fromkeys(target["ResourceId"] for target in targets)
        for policy in _pages(client, "describe_scaling_policies", "ScalingPolicies", ResourceId=resource)
    }
    for target in targets:
        named = target["ResourceId"], target["ScalableDimension"]
        if (scaled := scaled_side(*named)) is not None:
            index, side = scaled[1]
            least, most = target["MinCapacity"], target["MaxCapacity"]
            yield ScalingRange(index=index, side=side, min=least, max=most, **policies.get(named, {}))


def _targets(client: Any, resources: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    for start in range(0, len(resources), RESOURCES_PER_CALL):
        batch = list(resources[start : start + RESOURCES_PER_CALL])
        yield from _pages(client, "describe_scalable_targets", "ScalableTargets", ResourceIds=batch)


def _pages(client: Any, operation: str, items: str, **request: Any) -> Iterator[Mapping[str, Any]]:
    for page in client.get_paginator(operation).paginate(ServiceNamespace="dynamodb", **request):
        yield from page[items]
