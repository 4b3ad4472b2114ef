"""Change the capacity of a scenario's table, or of an index, in place: scenarios here are raw JSON."""

from collections.abc import Callable
from typing import Any, Final

from keyheat.words import Direction

Raw = dict[str, Any]
Raise = Callable[[Raw, Direction, int, float], None]
"""Change an owner in a direction to a number of units, scaled for a target utilisation."""


def provisioned(owner: Raw, direction: Direction, units: int, _target: float) -> None:
    """Provision no less than at the beginning, from which a timeline may lower it."""
    units = max(units, _units_of(owner, direction))
    _set(owner, "provisioned", direction, units)
    if policy := _policy(owner, direction):
        policy["max"] = max(policy["max"], units)


def minimum(owner: Raw, direction: Direction, units: int, target: float) -> None:
    """Provision the units, and keep auto scaling from going lower."""
    provisioned(owner, direction, units, target)
    if policy := _policy(owner, direction):
        policy["min"] = max(policy["min"], units)


def max_on_demand(owner: Raw, direction: Direction, units: int, _target: float) -> None:
    """Set the maximum of an on-demand table."""
    _set(owner, "max_on_demand", direction, units)


def warm(owner: Raw, direction: Direction, units: int, _target: float) -> None:
    """Make partitions beforehand."""
    _set(owner, "warm", direction, units)


def auto_scaling(owner: Raw, direction: Direction, units: int, target: float) -> None:
    """Scale up to the units: by the policy that is on, else from the provisioned capacity."""
    if policy := _policy(owner, direction):
        policy["max"] = max(policy["max"], units)
        return
    least = min(_units_of(owner, direction) or 1, units)
    _set(owner, "auto_scaling", direction, {"min": least, "max": units, "target": target})


KEPT: Final[dict[Raise, str]] = {
    provisioned: "provisioned", minimum: "provisioned", max_on_demand: "max_on_demand",
}  # fmt: skip
"""The capacity that no later step of the timeline may take back."""


def with_units(
    raw: Raw, change: Raise, units: int, *, index: str | None, direction: Direction, target: float
) -> None:
    """Change the table, or an index of it, and drop the steps of the timeline that would take it back."""
    for owner in (raw["table"], *raw["table"]["indexes"]):
        if (None if owner is raw["table"] else owner["name"]) == index:
            change(owner, direction, units, target)
    if (field := KEPT.get(change)) is None:
        return
    for step in raw["timeline"]:
        pair = step[field] or {}
        if step["index"] != index or pair.get(direction) is None or pair[direction] > units:
            continue
        pair[direction] = units if step["billing_mode"] else None  # a switch of the mode states both sides
        step[field] = pair if any(pair.values()) else None
    raw["timeline"] = list(filter(_changes, raw["timeline"]))


def on_demand(raw: Raw) -> bool:
    """Pay the table and its indexes by request; return whether its timeline of capacities is left out."""
    for owner in (raw["table"], *raw["table"]["indexes"]):
        owner |= {"provisioned": None, "auto_scaling": None}
    raw["table"]["billing_mode"] = "PAY_PER_REQUEST"
    steps = [step for step in raw["timeline"] if step["provisioned"] is None and step["billing_mode"] is None]
    shorter, raw["timeline"] = len(steps) < len(raw["timeline"]), steps
    return shorter


def _changes(step: Raw) -> bool:
    return any(step[field] for field in ("billing_mode", "provisioned", "max_on_demand", "warm"))


def _policy(owner: Raw, direction: Direction) -> Raw | None:
    return (owner["auto_scaling"] or {}).get(direction)


def _units_of(owner: Raw, direction: Direction) -> int:
    return (owner["provisioned"] or {}).get(direction) or 0


def _set(owner: Raw, field: str, direction: Direction, value: Any) -> None:
    owner[field] = (owner[field] or {}) | {direction.value: value}
