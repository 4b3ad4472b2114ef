"""A scenario whose table, or one of its indexes, has other capacity: as much as an action gives it."""

from collections.abc import Callable

from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import (
    AutoScalingSpec,
    CapacityPair,
    ChangeSpec,
    IndexSpec,
    ScalingSpec,
    TableSpec,
)
from keyheat.words import Direction

Owner = TableSpec | IndexSpec
Fields = dict[str, object]
Raise = Callable[[Owner, Direction, int, float], Fields]
"""The fields that change: of an owner, in a direction, to so many units, scaled for a part of them in use."""


def provisioned(owner: Owner, direction: Direction, units: int, _target: float) -> Fields:
    """No less than there is at the beginning, which may be taken away later."""
    units = max(units, _units_of(owner.provisioned, direction))
    fields: Fields = {"provisioned": _pair(owner.provisioned, direction, units)}
    policy = _policy(owner, direction)
    if policy is not None and units > policy.max:
        fields |= _scaled(owner, direction, policy.model_copy(update={"max": units}))
    return fields


def minimum(owner: Owner, direction: Direction, units: int, target: float) -> Fields:
    """What is provisioned is no less, and auto scaling goes no lower."""
    fields, policy = provisioned(owner, direction, units, target), _policy(owner, direction)
    if policy is not None:
        least = max(policy.min, units)
        kept = policy.model_copy(update={"min": least, "max": max(policy.max, least)})
        fields |= _scaled(owner, direction, kept)
    return fields


def max_on_demand(owner: Owner, direction: Direction, units: int, _target: float) -> Fields:
    """A higher maximum of an on-demand table."""
    return {"max_on_demand": _pair(owner.max_on_demand, direction, units)}


def warm(owner: Owner, direction: Direction, units: int, _target: float) -> Fields:
    """Partitions made beforehand."""
    return {"warm": _pair(owner.warm, direction, units)}


def auto_scaling(owner: Owner, direction: Direction, units: int, target: float) -> Fields:
    """Auto scaling up to so many units: with the policy that is on, else from what is provisioned."""
    if (policy := _policy(owner, direction)) is not None:
        return _scaled(owner, direction, policy.model_copy(update={"max": max(policy.max, units)}))
    least = _units_of(owner.provisioned, direction) or 1
    return _scaled(owner, direction, ScalingSpec(min=min(least, units), max=units, target=target))


def with_units(
    scenario: Scenario, change: Raise, units: int, *, index: str | None, direction: Direction, target: float
) -> Scenario:
    """The scenario whose table, or index, is changed so; no step of its timeline takes it back."""
    table = scenario.table
    if index is None:
        table = table.model_copy(update=change(table, direction, units, target))
    else:
        indexes = tuple(
            one.model_copy(update=change(one, direction, units, target)) if one.name == index else one
            for one in table.indexes
        )
        table = table.model_copy(update={"indexes": indexes})
    changed = scenario.model_copy(update={"table": table})
    kept: dict[Raise, str] = {
        provisioned: "provisioned", minimum: "provisioned", max_on_demand: "max_on_demand",
    }  # fmt: skip
    field = kept.get(change)
    return changed if field is None else _without_lower_steps(changed, field, index, direction, units)


def on_demand(scenario: Scenario) -> Scenario:
    """The scenario on a table that is paid by request; its timeline of capacities is left out."""
    fixed: Fields = {"provisioned": None, "auto_scaling": None}
    indexes = tuple(index.model_copy(update=fixed) for index in scenario.table.indexes)
    table = scenario.table.model_copy(update={**fixed, "billing_mode": "PAY_PER_REQUEST", "indexes": indexes})
    steps = tuple(
        step for step in scenario.timeline if step.provisioned is None and step.billing_mode is None
    )
    return scenario.model_copy(update={"table": table, "timeline": steps})


def _policy(owner: Owner, direction: Direction) -> ScalingSpec | None:
    return getattr(owner.auto_scaling, direction) if owner.auto_scaling else None


def _scaled(owner: Owner, direction: Direction, policy: ScalingSpec) -> Fields:
    spec = owner.auto_scaling or AutoScalingSpec()
    return {"auto_scaling": spec.model_copy(update={direction: policy})}


def _units_of(pair: CapacityPair | None, direction: Direction) -> int:
    return (getattr(pair, direction) or 0) if pair else 0


def _pair(pair: CapacityPair | None, direction: Direction, units: int) -> CapacityPair:
    return (pair or CapacityPair()).model_copy(update={direction: units})


def _without_lower_steps(
    scenario: Scenario, field: str, index: str | None, direction: Direction, units: int
) -> Scenario:
    """Without the steps of the timeline that set this capacity to no more than it has from the beginning."""
    steps = [
        _without(step, field, direction, units) if step.index == index else step for step in scenario.timeline
    ]
    left = tuple(
        step for step in steps if any((step.billing_mode, step.provisioned, step.max_on_demand, step.warm))
    )
    return scenario.model_copy(update={"timeline": left})


def _without(step: ChangeSpec, field: str, direction: Direction, units: int) -> ChangeSpec:
    pair: CapacityPair | None = getattr(step, field)
    stated = getattr(pair, direction) if pair is not None else None
    if pair is None or stated is None or stated > units:
        return step
    if step.billing_mode is not None:  # a switch of the mode says both sides
        return step.model_copy(update={field: _pair(pair, direction, units)})
    left = pair.model_copy(update={direction: None})
    return step.model_copy(update={field: None if left == CapacityPair() else left})
