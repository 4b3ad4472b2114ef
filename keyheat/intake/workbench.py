"""Tables of a model that NoSQL Workbench for DynamoDB exports.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/workbench.Modeler.ImportExisting.html
"""

from collections.abc import Mapping
from typing import Any

from keyheat.intake.scaling import SIDES, Scaling, Side, bounds_of, tracked
from keyheat.intake.tables import Source, SourceTable, described, taken


def is_model(raw: Mapping[str, Any]) -> bool:
    """Whether it is a model of NoSQL Workbench."""
    return isinstance(raw.get("DataModel"), list)


def read_model(raw: Mapping[str, Any]) -> Source:
    """The tables of a model, with the capacity and the scaling that it has for them."""
    tables, notes = list[SourceTable](), list[str]()
    for one in raw["DataModel"]:
        for table in taken(str(one.get("TableName")), _table(one), notes):
            tables.append(table.scaled_by(*_scaling(one)))
    return Source("a model of NoSQL Workbench", tuple(tables), tuple(notes))


def _table(one: Mapping[str, Any]) -> dict[str, Any]:
    indexes = one.get("GlobalSecondaryIndexes") or ()
    owners = [one, *indexes]
    types = {
        attribute["AttributeName"]: attribute["AttributeType"]
        for owner in owners
        for attribute in (owner.get("KeyAttributes") or {}).values()
    }
    provisioned = one.get("BillingMode") == "PROVISIONED"
    return described(
        {
            "TableName": one.get("TableName"),
            "BillingMode": "PROVISIONED" if provisioned else "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": n, "AttributeType": kind} for n, kind in types.items()
            ],
            "KeySchema": _keys(one),
            "ProvisionedThroughput": _capacity(one) if provisioned else None,
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": index["IndexName"],
                    "KeySchema": _keys(index),
                    "Projection": index.get("Projection") or {"ProjectionType": "ALL"},
                }
                for index in indexes
            ],
        }
    )


def _keys(owner: Mapping[str, Any]) -> list[dict[str, str]]:
    named = owner.get("KeyAttributes") or {}
    kinds = (("PartitionKey", "HASH"), ("SortKey", "RANGE"))
    return [
        {"AttributeName": named[key]["AttributeName"], "KeyType": kind} for key, kind in kinds if key in named
    ]


def _settings(one: Mapping[str, Any], units: str) -> Mapping[str, Any]:
    side = units.removesuffix("CapacityUnits")
    found: Mapping[str, Any] = (one.get("ProvisionedCapacitySettings") or {}).get(f"AutoScaling{side}") or {}
    return found


def _capacity(one: Mapping[str, Any]) -> dict[str, Any]:
    """What the model provisions for the table, its indexes have none of their own; a scaled side begins at
    its minimum where nothing is stated."""
    stated = (one.get("ProvisionedCapacitySettings") or {}).get("ProvisionedThroughput") or {}
    found = {units: stated.get(units) or _range(one, units).get("MinCapacity") for units in SIDES}
    return {units: value for units, value in found.items() if value}


def _range(one: Mapping[str, Any], units: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = _settings(one, units).get("ScalableTargetRequest") or {}
    return found


def _scaling(one: Mapping[str, Any]) -> tuple[Scaling, Scaling]:
    """Bounds and policies of the table; its indexes have none of their own in a model."""
    bounds: dict[Side, dict[str, float]] = {}
    policies: dict[Side, dict[str, float]] = {}
    if one.get("BillingMode") != "PROVISIONED":
        return bounds, policies
    for units, side in SIDES.items():
        if scaled := _range(one, units):
            bounds[None, side] = bounds_of(scaled.get("MinCapacity"), scaled.get("MaxCapacity"))
        settings = _settings(one, units)
        request = settings.get("ScalingPolicyRequest") or {}
        if tracking := settings.get("ScalingPolicyConfiguration") or request.get(
            "TargetTrackingScalingPolicyConfiguration"
        ):
            policies[None, side] = tracked(tracking)
    return bounds, policies
