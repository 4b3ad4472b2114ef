"""Read tables from a data model of NoSQL Workbench for DynamoDB.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/workbench.Modeler.ImportExisting.html
"""

from collections.abc import Mapping
from typing import Any

from keyheat.intake.scaling import SIDES, Scaling, Side, bounds_of, parse_policy
from keyheat.intake.tables import Source, SourceTable, accept_table, as_description


def is_model(raw: Mapping[str, Any]) -> bool:
    """Whether this is a model of NoSQL Workbench."""
    return isinstance(raw.get("DataModel"), list)


def read_model(raw: Mapping[str, Any]) -> Source:
    """Read the tables of a model, with their capacity and scaling."""
    tables, notes = list[SourceTable](), list[str]()
    for model in raw["DataModel"]:
        for table in accept_table(str(model.get("TableName")), _table(model), notes):
            tables.append(table.scaled_by(*_scaling(model)))
    return Source("a model of NoSQL Workbench", tuple(tables), others=tuple(notes))


def _table(model: Mapping[str, Any]) -> dict[str, Any]:
    indexes = model.get("GlobalSecondaryIndexes") or ()
    owners = [model, *indexes]
    types = {
        attribute["AttributeName"]: attribute["AttributeType"]
        for owner in owners
        for attribute in (owner.get("KeyAttributes") or {}).values()
    }
    provisioned = model.get("BillingMode") == "PROVISIONED"
    return as_description(
        {
            "TableName": model.get("TableName"),
            "BillingMode": "PROVISIONED" if provisioned else "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": n, "AttributeType": kind} for n, kind in types.items()
            ],
            "KeySchema": _keys(model),
            "ProvisionedThroughput": _capacity(model) if provisioned else None,
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


def _settings(model: Mapping[str, Any], units: str) -> Mapping[str, Any]:
    side = units.removesuffix("CapacityUnits")
    settings: Mapping[str, Any] = (model.get("ProvisionedCapacitySettings") or {}).get(
        f"AutoScaling{side}"
    ) or {}
    return settings


def _capacity(model: Mapping[str, Any]) -> dict[str, Any]:
    """Capacity of the table; a scaled side without one starts at its minimum."""
    stated = (model.get("ProvisionedCapacitySettings") or {}).get("ProvisionedThroughput") or {}
    units_of = {units: stated.get(units) or _range(model, units).get("MinCapacity") for units in SIDES}
    return {units: value for units, value in units_of.items() if value}


def _range(model: Mapping[str, Any], units: str) -> Mapping[str, Any]:
    range_of: Mapping[str, Any] = _settings(model, units).get("ScalableTargetRequest") or {}
    return range_of


def _scaling(model: Mapping[str, Any]) -> tuple[Scaling, Scaling]:
    """Bounds and policies of the table; indexes have none in a model."""
    bounds: dict[Side, dict[str, float]] = {}
    policies: dict[Side, dict[str, float]] = {}
    if model.get("BillingMode") != "PROVISIONED":
        return bounds, policies
    for units, side in SIDES.items():
        if scaled := _range(model, units):
            bounds[None, side] = bounds_of(scaled.get("MinCapacity"), scaled.get("MaxCapacity"))
        settings = _settings(model, units)
        request = settings.get("ScalingPolicyRequest") or {}
        if tracking := settings.get("ScalingPolicyConfiguration") or request.get(
            "TargetTrackingScalingPolicyConfiguration"
        ):
            policies[None, side] = parse_policy(tracking)
    return bounds, policies
