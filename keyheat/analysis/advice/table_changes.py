"""A scenario whose table has what advice says: more capacity, a higher maximum, pre-warming, another mode."""

from collections.abc import Callable
from math import ceil
from typing import Final

from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.part import CacheSpec
from keyheat.scenario.spec.tables import (
    AutoScalingSpec,
    CapacityPair,
    ChangeSpec,
    IndexSpec,
    ScalingSpec,
    TableSpec,
)
from keyheat.words import Direction

CACHE: Final = CacheSpec(ttl_s=1.0, items=10_000)
"""A read-through cache in every process, where the load test can have one."""
Owner = TableSpec | IndexSpec
Own = dict[str, object]


def with_units(
    scenario: Scenario, action: str, units: float, *, index: str | None, direction: Direction, target: float
) -> Scenario:
    """The scenario with an action of `OF_UNITS` taken for the table, or for an index.

    `target` is the part of a capacity that auto scaling steers for. What its timeline would take back of the
    units is left out of it.
    """
    units = ceil(units)
    change = OF_UNITS[action]
    changed = scenario.model_copy(
        update={"table": _of_owner(scenario.table, index, lambda own: change(own, direction, units, target))}
    )
    field = _KEPT.get(action)
    return changed if field is None else _kept(changed, field, index, direction, units)


def can_cache(scenario: Scenario) -> bool:
    """Whether its load test reads through a cache as soon as there is one."""
    return scenario.loadtest == "read_cache" and scenario.cache is None


def on_demand(scenario: Scenario) -> Scenario:
    """The scenario on a table that is paid by request; its timeline of capacities is left out."""
    fixed: Own = {"provisioned": None, "auto_scaling": None}
    indexes = tuple(index.model_copy(update=fixed) for index in scenario.table.indexes)
    table = scenario.table.model_copy(update={**fixed, "billing_mode": "PAY_PER_REQUEST", "indexes": indexes})
    steps = tuple(
        step for step in scenario.timeline if step.provisioned is None and step.billing_mode is None
    )
    return scenario.model_copy(update={"table": table, "timeline": steps})


def _provisioned(own: Owner, direction: Direction, units: int, _target: float) -> Own:
    """No less than there is at the beginning, which may be taken away later."""
    units = max(units, _of(own.provisioned, direction))
    changed: Own = {"provisioned": _pair(own.provisioned, direction, units)}
    policy = getattr(own.auto_scaling, direction) if own.auto_scaling else None
    if policy is not None and units > policy.max:
        changed |= _scaling(own, direction, policy.model_copy(update={"max": units}))
    return changed


def _least(own: Owner, direction: Direction, units: int, target: float) -> Own:
    """A minimum: what is provisioned is no less, and auto scaling goes no lower."""
    policy = getattr(own.auto_scaling, direction) if own.auto_scaling else None
    changed = _provisioned(own, direction, units, target)
    if policy is not None:
        least = max(policy.min, units)
        kept = policy.model_copy(update={"min": least, "max": max(policy.max, least)})
        changed |= _scaling(own, direction, kept)
    return changed


def _maximum(own: Owner, direction: Direction, units: int, _target: float) -> Own:
    return {"max_on_demand": _pair(own.max_on_demand, direction, units)}


def _warm(own: Owner, direction: Direction, units: int, _target: float) -> Own:
    return {"warm": _pair(own.warm, direction, units)}


def _scaled(own: Owner, direction: Direction, units: int, target: float) -> Own:
    least = _of(own.provisioned, direction) or 1
    return _scaling(own, direction, ScalingSpec(min=min(least, units), max=units, target=target))


OF_UNITS: Final[dict[str, Callable[[Owner, Direction, int, float], Own]]] = {
    "raise_capacity": _provisioned,
    "raise_minimum": _least,
    "auto_scaling": _scaled,
    "raise_max_on_demand": _maximum,
    "pre_warm": _warm,
}
"""Actions that give the table, or an index, units; each as the fields that it changes."""
_KEPT: Final = {
    "raise_capacity": "provisioned",
    "raise_minimum": "provisioned",
    "raise_max_on_demand": "max_on_demand",
}


def _scaling(own: Owner, direction: Direction, policy: ScalingSpec) -> Own:
    spec = own.auto_scaling or AutoScalingSpec()
    return {"auto_scaling": spec.model_copy(update={direction: policy})}


def _of(pair: CapacityPair | None, direction: Direction) -> int:
    return (getattr(pair, direction) or 0) if pair else 0


def _pair(pair: CapacityPair | None, direction: Direction, units: int) -> CapacityPair:
    return (pair or CapacityPair()).model_copy(update={direction: units})


def _of_owner(table: TableSpec, name: str | None, changes: Callable[[Owner], Own]) -> TableSpec:
    if name is None:
        return table.model_copy(update=changes(table))
    indexes = tuple(
        index.model_copy(update=changes(index)) if index.name == name else index for index in table.indexes
    )
    return table.model_copy(update={"indexes": indexes})


def _kept(scenario: Scenario, field: str, index: str | None, direction: Direction, units: int) -> Scenario:
    """Without the steps of the timeline that say no more of this capacity than it has from the beginning."""
    steps = [
        _without(step, field, direction, units) if step.index == index else step for step in scenario.timeline
    ]
    return scenario.model_copy(update={"timeline": tuple(step for step in steps if _changes(step))})


def _without(step: ChangeSpec, field: str, direction: Direction, units: int) -> ChangeSpec:
    pair: CapacityPair | None = getattr(step, field)
    stated = getattr(pair, direction) if pair is not None else None
    if pair is None or stated is None or stated > units:
        return step
    if step.billing_mode is not None:  # a switch of the mode says both sides
        return step.model_copy(update={field: _pair(pair, direction, units)})
    left = pair.model_copy(update={direction: None})
    return step.model_copy(update={field: None if left == CapacityPair() else left})


def _changes(step: ChangeSpec) -> bool:
    return any((step.billing_mode, step.provisioned, step.max_on_demand, step.warm))
