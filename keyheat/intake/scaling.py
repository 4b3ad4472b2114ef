"""Auto scaling of a table: Application Auto Scaling's scalable targets and policies.

https://docs.aws.amazon.com/autoscaling/application/userguide/services-that-can-integrate-dynamodb.html
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from keyheat.intake.vocabulary import Attributes, as_number
from keyheat.model.limits import SCALING_TARGETS
from keyheat.runs.table_facts import mode_of
from keyheat.scenario.spec.part import MOST_UNITS, is_number

Side = tuple[str | None, str]
"""An index, or None for the table; and `read` or `write`."""
Scaling = Mapping[Side, Mapping[str, float]]
"""Auto scaling of each side: min, max and, if known, target and cooldowns."""
SIDES: Final[Mapping[str, str]] = {"ReadCapacityUnits": "read", "WriteCapacityUnits": "write"}
UNITS: Final[Mapping[str, str]] = {side: units for units, side in SIDES.items()}
SCALED: Final = re.compile(r"table/([^/]+)(?:/index/(.+))?")
"""ResourceId of a scalable target: a table or one of its indexes."""
_POLICY: Final = {
    "TargetValue": "target",
    "ScaleOutCooldown": "scale_out_cooldown_s",
    "ScaleInCooldown": "scale_in_cooldown_s",
}


def parse_policy(policy: Mapping[str, Any]) -> dict[str, float]:
    """Convert a target tracking policy to scenario fields; the target becomes a share."""
    values = {ours: as_number(policy.get(name)) for name, ours in _POLICY.items()}
    policy_fields = {ours: float(value) for ours, value in values.items() if is_number(value)}
    policy_fields |= {"scale_in": False} if str(policy.get("DisableScaleIn")).lower() == "true" else {}
    return policy_fields | ({"target": policy_fields["target"] / 100} if "target" in policy_fields else {})


def scaled_side(resource: object, dimension: object) -> tuple[str, Side] | None:
    """The table and side of a scalable target; None if it is for something else."""
    named = SCALED.fullmatch(str(resource))
    side = SIDES.get(str(dimension).rpartition(":")[2])
    return (named[1], (named[2], side)) if named and side else None


def bounds_of(least: object, most: object) -> dict[str, Any]:
    """The bounds of a target."""
    return {"min": as_number(least), "max": as_number(most)}


def match_scaling(description: Attributes, bounds: Scaling, policies: Scaling) -> tuple[Scaling, list[str]]:
    """Match a table's targets with their policies; also return notes on unusable ones."""
    owners = {index.get("IndexName"): index for index in description.get("GlobalSecondaryIndexes") or ()}
    owners[None] = description
    taken: dict[Side, Mapping[str, float]] = {}
    notes: list[str] = []
    for (index, side), limits in bounds.items():
        policy = policies.get((index, side))
        owner = owners.get(index)
        why = _why_unusable(description, owner, limits, policy)
        if policy is None or owner is None or why:
            notes.append(f"auto scaling of {side}s of {_words(index)}: {why}")
            continue
        taken[index, side] = {**limits, **policy}
        units = (owner.get("ProvisionedThroughput") or {}).get(UNITS[side])
        if units is not None and units != (kept := clamp(units, limits)):
            notes.append(
                f"{UNITS[side]} {units:,} of {_words(index)}: its auto scaling is from {limits['min']:,} to "
                f"{limits['max']:,}, so it starts at {kept:,}"
            )
    return taken, notes


def clamp(units: float, bounds: Mapping[str, float]) -> float:
    """Capacity clamped to the bounds of its scaling."""
    return min(max(units, bounds["min"]), bounds["max"])


def _why_unusable(
    description: Attributes,
    owner: Attributes | None,
    bounds: Mapping[str, Any],
    policy: Mapping[str, float] | None,
) -> str | None:
    """Why a scalable target is unusable; None if it is usable."""
    if policy is None:
        return "a scalable target without a policy never scales"
    if owner is None:
        return "the index does not exist"
    if mode_of(description) != "PROVISIONED":
        return "an on-demand table has no capacity to scale"
    least, most = bounds["min"], bounds["max"]
    if not (is_units(least) and is_units(most) and least <= most):
        return f"MinCapacity {least!r} and MaxCapacity {most!r} are not a range within 1 to {MOST_UNITS:,}"
    target = policy.get("target")
    if target is not None and not SCALING_TARGETS[0] <= target <= SCALING_TARGETS[1]:
        return f"its TargetValue is {target * 100:g}; it must be 20 to 90"
    return None


def is_units(value: object, least: int = 1) -> bool:
    """Whether a value is a valid whole number of capacity units."""
    return is_number(value) and float(value).is_integer() and least <= value <= MOST_UNITS


def _words(index: str | None) -> str:
    return f"index {index}" if index else "the table"
