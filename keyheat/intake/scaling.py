"""What scales a table by itself: the scalable targets of Application Auto Scaling, with their policies.

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
"""An index, or None for the table; and read or write."""
Scaling = Mapping[Side, Mapping[str, float]]
"""Auto scaling of each side: min, max and, where known, target and cooldowns."""
SIDES: Final[Mapping[str, str]] = {"ReadCapacityUnits": "read", "WriteCapacityUnits": "write"}
UNITS: Final[Mapping[str, str]] = {side: units for units, side in SIDES.items()}
SCALED: Final = re.compile(r"table/([^/]+)(?:/index/(.+))?")
"""What a scalable target names: a table, or one of its indexes."""
_POLICY: Final = {
    "TargetValue": "target",
    "ScaleOutCooldown": "scale_out_cooldown_s",
    "ScaleInCooldown": "scale_in_cooldown_s",
}


def tracked(policy: Mapping[str, Any]) -> dict[str, float]:
    """What a target tracking policy says, in the words of a scenario, where a target is a share."""
    said = {ours: as_number(policy.get(name)) for name, ours in _POLICY.items()}
    found = {ours: float(value) for ours, value in said.items() if is_number(value)}
    found |= {"scale_in": False} if str(policy.get("DisableScaleIn")).lower() == "true" else {}
    return found | ({"target": found["target"] / 100} if "target" in found else {})


def scaled_side(resource: object, dimension: object) -> tuple[str, Side] | None:
    """The table and the side that a scalable target names; None where it names none."""
    named = SCALED.fullmatch(str(resource))
    side = SIDES.get(str(dimension).rpartition(":")[2])
    return (named[1], (named[2], side)) if named and side else None


def bounds_of(least: object, most: object) -> dict[str, Any]:
    """The bounds of a target."""
    return {"min": as_number(least), "max": as_number(most)}


def steered(description: Attributes, bounds: Scaling, policies: Scaling) -> tuple[Scaling, list[str]]:
    """The scaling of a table by its targets' bounds and policies; and what of it is not taken."""
    owners = {one.get("IndexName"): one for one in description.get("GlobalSecondaryIndexes") or ()}
    owners[None] = description
    taken: dict[Side, Mapping[str, float]] = {}
    notes: list[str] = []
    for (index, side), one in bounds.items():
        policy = policies.get((index, side))
        owner = owners.get(index)
        why = _why_not(description, owner, one, policy)
        if policy is None or owner is None or why:
            notes.append(f"auto scaling of {side}s of {_words(index)}: {why}")
            continue
        taken[index, side] = {**one, **policy}
        units = (owner.get("ProvisionedThroughput") or {}).get(UNITS[side])
        if units is not None and units != (kept := within(units, one)):
            notes.append(
                f"{UNITS[side]} {units:,} of {_words(index)}: its auto scaling is from {one['min']:,} to "
                f"{one['max']:,}, so it begins with {kept:,}"
            )
    return taken, notes


def within(units: float, bounds: Mapping[str, float]) -> float:
    """What is provisioned, within the bounds of its scaling."""
    return min(max(units, bounds["min"]), bounds["max"])


def _why_not(
    description: Attributes,
    owner: Attributes | None,
    bounds: Mapping[str, Any],
    policy: Mapping[str, float] | None,
) -> str | None:
    """Why a scalable target is not taken; None where it is."""
    if policy is None:
        return "a scalable target without a policy never scales"
    if owner is None:
        return "there is no such index"
    if mode_of(description) != "PROVISIONED":
        return "an on-demand table has no capacity to scale"
    least, most = bounds["min"], bounds["max"]
    if not (is_units(least) and is_units(most) and least <= most):
        return f"MinCapacity {least!r} and MaxCapacity {most!r} are no range of 1 to {MOST_UNITS:,}"
    target = policy.get("target")
    if target is not None and not SCALING_TARGETS[0] <= target <= SCALING_TARGETS[1]:
        return f"its TargetValue is {target * 100:g}, and should be 20 to 90"
    return None


def is_units(value: object, least: int = 1) -> bool:
    """Whether it is a whole number of capacity units that a table may have."""
    return is_number(value) and float(value).is_integer() and least <= value <= MOST_UNITS


def _words(index: str | None) -> str:
    return f"index {index}" if index else "the table"
