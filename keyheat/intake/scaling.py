"""Auto scaling of a table: Application Auto Scaling's targets and policies, of templates and from AWS.

https://docs.aws.amazon.com/autoscaling/application/userguide/services-that-can-integrate-dynamodb.html
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from keyheat.masking import masked
from keyheat.model.limits import SCALING_TARGETS
from keyheat.runs.table_facts import AutoScaling, ScalingRange
from keyheat.scenario.spec.part import MOST_UNITS, is_number
from keyheat.words import Direction

Attributes = Mapping[str, Any]
"""A table in DescribeTable's properties, the common form of all formats."""
Side = tuple[str | None, str]
"""An index, or None for the table; and `read` or `write`."""
Scaling = Mapping[Side, Mapping[str, Any]]
"""Auto scaling of each side: min, max and, if known, target and cooldowns."""
Sides = Mapping[Side, tuple[Mapping[str, Any], Mapping[str, Any] | None]]
"""Bounds of each side, and its policy; None without one."""
SIDES: Final[Mapping[str, str]] = {"ReadCapacityUnits": "read", "WriteCapacityUnits": "write"}
SCALED: Final = re.compile(r"table/([^/]+)(?:/index/(.+))?")
"""ResourceId of a scalable target: a table or one of its indexes."""
TRACKING: Final = "TargetTrackingScalingPolicyConfiguration"
_POLICY: Final = {
    "TargetValue": "target",
    "ScaleOutCooldown": "scale_out_cooldown_s",
    "ScaleInCooldown": "scale_in_cooldown_s",
}
SERVICE: Final = "application-autoscaling"
AT_ONCE: Final = 50  # resources per call


def parse_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a target tracking policy to scenario fields; the target becomes a share."""
    values = {ours: as_number(policy.get(name)) for name, ours in _POLICY.items()}
    fields: dict[str, Any] = {ours: float(value) for ours, value in values.items() if is_number(value)}
    if "target" in fields:
        fields["target"] /= 100
    if str(policy.get("DisableScaleIn")).lower() == "true":
        fields["scale_in"] = False
    return fields


def scaled_side(target: Mapping[str, Any]) -> tuple[str, Side] | None:
    """The table and side of a scalable target, or of a policy; None if it is for something else."""
    named = SCALED.fullmatch(str(target.get("ResourceId")))
    side = SIDES.get(str(target.get("ScalableDimension")).rpartition(":")[2])
    return (named[1], (named[2], side)) if named and side else None


def bounds_of(target: Mapping[str, Any]) -> dict[str, Any]:
    """The bounds of a target."""
    return {"min": as_number(target.get("MinCapacity")), "max": as_number(target.get("MaxCapacity"))}


def scaled_sides(
    table: object, targets: Iterable[Mapping[str, Any]], policies: Iterable[Mapping[str, Any]]
) -> Sides:
    """Bounds and policy of each scaled side of a table.

    Targets and policies are as Application Auto Scaling describes them; targets of unknown bounds are left
    out.
    """
    steered = {scaled_side(each): parse_policy(each[TRACKING] or {}) for each in policies if TRACKING in each}
    return {
        scaled[1]: (bounds, steered.get(scaled))
        for target in targets
        if (scaled := scaled_side(target)) and scaled[0] == table
        if None not in (bounds := bounds_of(target)).values()
    }


def match_scaling(table: Attributes, sides: Sides) -> tuple[Scaling, list[str]]:
    """The usable scaling of a table, by the fields of its `TableSpec`, and notes on what is unusable."""
    owners = {None: table, **{index["name"]: index for index in table["indexes"]}}
    taken, notes = dict[Side, Mapping[str, Any]](), list[str]()
    for (index, side), (limits, policy) in sides.items():
        owner, what = owners.get(index), f"index {index}" if index else "the table"
        why = _why_unusable(table["billing_mode"], owner, limits, policy)
        if policy is None or owner is None or why:
            notes.append(f"auto scaling of {side}s of {what}: {why}")
            continue
        taken[index, side] = {**limits, **policy}
        units = owner.get("provisioned", {}).get(side)
        if units is not None and units != (kept := clamp(units, limits)):
            notes.append(
                f"{side.title()}CapacityUnits {units:,} of {what}: its auto scaling is from "
                f"{limits['min']:,} to {limits['max']:,}, so it starts at {kept:,}"
            )
    return taken, notes


def clamp(units: float, bounds: Mapping[str, Any]) -> float:
    """Capacity clamped to the bounds of its scaling."""
    clamped: float = min(max(units, bounds["min"]), bounds["max"])
    return clamped


def _why_unusable(
    mode: str,
    owner: Attributes | None,
    bounds: Mapping[str, Any],
    policy: Mapping[str, Any] | None,
) -> str | None:
    """Why a scalable target is unusable; None if it is usable."""
    if policy is None:
        return "a scalable target without a policy never scales"
    if owner is None:
        return "the index does not exist"
    if mode != "PROVISIONED":
        return "an on-demand table has no capacity to scale"
    least, most = bounds["min"], bounds["max"]
    if not (is_units(least) and is_units(most) and least <= most):
        return f"MinCapacity {least!r} and MaxCapacity {most!r} are not a range within 1 to {MOST_UNITS:,}"
    target = policy.get("target")
    if target is not None and not SCALING_TARGETS[0] <= target <= SCALING_TARGETS[1]:
        return f"its TargetValue is {target * 100:g}; it must be 20 to 90"
    return None


def as_number(value: Any) -> Any:
    """Convert text to a number if it is one; return anything else unchanged."""
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return int(number) if isinstance(value, str) and number.is_integer() else number


def is_units(value: object, least: int = 1) -> bool:
    """Whether a value is a valid whole number of capacity units."""
    return is_number(value) and float(value).is_integer() and least <= value <= MOST_UNITS


def auto_scaling_of(connect: Callable[[], Any], table: str, indexes: Sequence[str]) -> AutoScaling:
    """Read the auto scaling of a table and its global indexes from AWS, or why it is unknown.

    `connect` creates the client.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # here: a template needs no SDK

    resources = [f"table/{table}", *(f"table/{table}/index/{index}" for index in indexes)]
    batches = [resources[start : start + AT_ONCE] for start in range(0, len(resources), AT_ONCE)]
    try:
        with closing(connect()) as client:

            def pages(operation: str, items: str, **request: Any) -> Iterator[Mapping[str, Any]]:
                for page in client.get_paginator(operation).paginate(ServiceNamespace="dynamodb", **request):
                    yield from page[items]

            targets = [
                target
                for batch in batches
                for target in pages("describe_scalable_targets", "ScalableTargets", ResourceIds=batch)
            ]
            policies = [
                policy
                for resource in dict.fromkeys(target["ResourceId"] for target in targets)
                for policy in pages("describe_scaling_policies", "ScalingPolicies", ResourceId=resource)
            ]
    except ClientError as error:
        return AutoScaling(why=f"{error.response['Error']['Code']} for {error.operation_name}")
    except BotoCoreError as error:
        return AutoScaling(why=f"Application Auto Scaling did not answer: {masked(str(error))}")
    sides = scaled_sides(table, targets, policies).items()
    scaled = (
        ScalingRange(index=i, side=Direction(side), **of[0], **(of[1] or {})) for (i, side), of in sides
    )
    return AutoScaling(scaled=tuple(scaled))
