"""Tables of a model that NoSQL Workbench for DynamoDB exports.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/workbench.Modeler.ImportExisting.html
"""

from collections.abc import Mapping
from typing import Any

from keyheat.intake.tables import SIDES, Source, SourceTable, described, lacks, tracked


def is_model(raw: Mapping[str, Any]) -> bool:
    """Whether it is a model of NoSQL Workbench."""
    return isinstance(raw.get("DataModel"), list)


def read_model(raw: Mapping[str, Any]) -> Source:
    """The tables of a model, with the capacity and the scaling that it has for them."""
    tables, notes = [], list[str]()
    for one in raw["DataModel"]:
        found = _table(one)
        if wrong := [f"{one.get('TableName')}: {said}" for said in lacks(found)]:
            notes += wrong
            continue
        tables.append(SourceTable(found, _scaling(one)))
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
    capacity = _capacity(one) if provisioned else None
    return described(
        {
            "TableName": one.get("TableName"),
            "BillingMode": "PROVISIONED" if provisioned else "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": n, "AttributeType": kind} for n, kind in types.items()
            ],
            "KeySchema": _keys(one),
            "ProvisionedThroughput": capacity,
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": index["IndexName"],
                    "KeySchema": _keys(index),
                    "Projection": index.get("Projection") or {"ProjectionType": "ALL"},
                    "ProvisionedThroughput": capacity,
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


def _settings(one: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (one.get("ProvisionedCapacitySettings") or {}).get("AutoScaling" + side) or {}
    return found


def _capacity(one: Mapping[str, Any]) -> dict[str, int]:
    """What the model provisions; a scaled side begins at its minimum."""
    stated = (one.get("ProvisionedCapacitySettings") or {}).get("ProvisionedThroughput") or {}
    return {
        units: int(stated.get(units) or _range(one, side)["MinCapacity"])
        for units, side in (("ReadCapacityUnits", "Read"), ("WriteCapacityUnits", "Write"))
    }


def _range(one: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = _settings(one, side).get("ScalableTargetRequest") or {"MinCapacity": 5}
    return found


def _scaling(one: Mapping[str, Any]) -> dict[tuple[str | None, str], dict[str, float]]:
    """The scaling of the table; its indexes have none of their own in a model."""
    scaling: dict[tuple[str | None, str], dict[str, float]] = {}
    for units, side in SIDES.items():
        settings = _settings(one, units.removesuffix("CapacityUnits"))
        bounds = settings.get("ScalableTargetRequest")
        if bounds:
            tracking = (settings.get("ScalingPolicyRequest") or {}).get(
                "TargetTrackingScalingPolicyConfiguration"
            ) or {}
            scaling[None, side] = {
                "min": float(bounds["MinCapacity"]),
                "max": float(bounds["MaxCapacity"]),
                **tracked(tracking),
            }
    return scaling
