"""Tables of `terraform show -json`, of a plan or of a state, in all its modules.

https://developer.hashicorp.com/terraform/internals/json-format
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from keyheat.intake.tables import SCALED, SIDES, Source, SourceTable, described, lacks, left_out, tracked

TABLE, TARGET, POLICY = "aws_dynamodb_table", "aws_appautoscaling_target", "aws_appautoscaling_policy"


def is_terraform(raw: Mapping[str, Any]) -> bool:
    """Whether it is what `terraform show -json` prints."""
    return "terraform_version" in raw and ("planned_values" in raw or "values" in raw)


def read_terraform(raw: Mapping[str, Any]) -> Source:
    """The tables that a plan makes or leaves, or that a state has."""
    planned = "planned_values" in raw
    root = (raw.get("planned_values") if planned else raw.get("values")) or {}
    resources = list(_resources(root.get("root_module") or {}))
    scaling = list(_scaling(resources))
    tables, notes = [], [*_deleted(raw), *_unread(resources)]
    unknown = dict(_unknown(raw))
    for one in resources:
        if one.get("type") != TABLE:
            continue
        address, values = str(one.get("address")), one.get("values") or {}
        found = _table(values, str(one.get("name")))
        if wrong := [f"{address}: {said}" for said in lacks(found)]:
            notes += wrong
            continue
        said = [f"{name} is known only after apply" for name in unknown.get(address, ()) if name in OF_USE]
        own = {(index, side): bounds for table, index, side, bounds in scaling if table == found["TableName"]}
        tables.append(SourceTable(found, own, (*said, *left_out(found))))
    return Source(f"a Terraform {'plan' if planned else 'state'}", tuple(tables), tuple(notes))


OF_USE: Final = frozenset(
    {"name", "hash_key", "range_key", "read_capacity", "write_capacity", "billing_mode"}
)


def _unread(resources: list[Mapping[str, Any]]) -> Iterator[str]:
    """What is about tables and cannot be taken, or is not known before it is applied."""
    for one in resources:
        kind, address = str(one.get("type")), str(one.get("address"))
        values = one.get("values") or {}
        others = values.get("service_namespace") not in (None, "dynamodb")
        if kind == TARGET and not others and _scaled(values) is None:
            yield f"{address}: whose scaling it is, or its bounds, are known only after apply: none is taken"
        elif kind.startswith("aws_dynamodb_") and kind not in (TABLE, "aws_dynamodb_table_item"):
            yield f"{address}: {kind} is not taken"


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources") or ()
    for child in module.get("child_modules") or ():
        yield from _resources(child)


def _deleted(raw: Mapping[str, Any]) -> Iterator[str]:
    for change in raw.get("resource_changes") or ():
        actions = (change.get("change") or {}).get("actions") or []
        if change.get("type") == TABLE and actions == ["delete"]:
            yield f"{change.get('address')}: the plan deletes this table"
        elif change.get("type") == TABLE and "delete" in actions:
            yield f"{change.get('address')}: the plan deletes this table and makes it anew, without its items"


def _unknown(raw: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for change in raw.get("resource_changes") or ():
        after = (change.get("change") or {}).get("after_unknown") or {}
        yield str(change.get("address")), [name for name, open_ in after.items() if open_ is True]


def _table(values: Mapping[str, Any], logical: str) -> dict[str, Any]:
    """The values of a table as CreateTable would have them."""
    definitions = [
        {"AttributeName": one["name"], "AttributeType": one["type"]} for one in values.get("attribute") or ()
    ]
    stream = values.get("stream_view_type") if values.get("stream_enabled") else None
    return described(
        {
            "TableName": values.get("name") or logical,
            "BillingMode": values.get("billing_mode") or "PROVISIONED",
            "TableClass": values.get("table_class"),
            "AttributeDefinitions": definitions,
            **_owner(values),
            "GlobalSecondaryIndexes": [_index(one) for one in values.get("global_secondary_index") or ()],
            "LocalSecondaryIndexes": [
                _index({"hash_key": values.get("hash_key"), **one})
                for one in values.get("local_secondary_index") or ()
            ],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": stream} if stream else None,
            "TimeToLiveSpecification": any(one.get("enabled") for one in values.get("ttl") or ()) or None,
            "PointInTimeRecoverySpecification": any(
                one.get("enabled") for one in values.get("point_in_time_recovery") or ()
            )
            or None,
            "TableArn": values.get("arn"),
            "Replicas": [{"RegionName": one.get("region_name")} for one in values.get("replica") or ()],
        }
    )


def _index(values: Mapping[str, Any]) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": values.get("projection_type") or "ALL"}
    if values.get("non_key_attributes"):
        projection["NonKeyAttributes"] = values["non_key_attributes"]
    return {"IndexName": values.get("name"), "Projection": projection, **_owner(values)}


def _owner(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keys and capacity, which a table and its indexes say alike."""
    keys = [
        {"AttributeName": values[name], "KeyType": kind}
        for name, kind in (("hash_key", "HASH"), ("range_key", "RANGE"))
        if values.get(name)
    ]
    keys = keys or [
        {"AttributeName": one.get("attribute_name"), "KeyType": one.get("key_type")}
        for one in values.get("key_schema") or ()
    ]
    found: dict[str, Any] = {"KeySchema": keys}
    units = {
        "ReadCapacityUnits": values.get("read_capacity"),
        "WriteCapacityUnits": values.get("write_capacity"),
    }
    if any(units.values()):
        found["ProvisionedThroughput"] = {side: one for side, one in units.items() if one}
    for name, block in (
        ("OnDemandThroughput", "on_demand_throughput"),
        ("WarmThroughput", "warm_throughput"),
    ):
        for one in values.get(block) or ():
            ends = (
                "max_read_request_units",
                "max_write_request_units",
                "read_units_per_second",
                "write_units_per_second",
            )
            said = {_camel(key): one[key] for key in ends if one.get(key) and one[key] > 0}
            found |= {name: said} if said else {}
    return found


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _scaling(
    resources: list[Mapping[str, Any]],
) -> Iterator[tuple[str, str | None, str, dict[str, float]]]:
    """Table, index, side and bounds of every scalable target, with what its policy says."""
    policies: dict[tuple[str, str], dict[str, float]] = {}
    for one in resources:
        values = one.get("values") or {}
        for tracking in values.get("target_tracking_scaling_policy_configuration") or ():
            key = str(values.get("resource_id")), str(values.get("scalable_dimension"))
            policies[key] = tracked({_camel(name): value for name, value in tracking.items()})
    for one in resources:
        values = one.get("values") or {}
        if one.get("type") != TARGET or (found := _scaled(values)) is None:
            continue
        table, index, side = found
        policy = policies.get((str(values["resource_id"]), str(values["scalable_dimension"])), {})
        bounds = {"min": float(values["min_capacity"]), "max": float(values["max_capacity"])}
        yield table, index, side, bounds | policy


def _scaled(values: Mapping[str, Any]) -> tuple[str, str | None, str] | None:
    """Table, index and side of a scalable target; None where it is of no table, or not known yet."""
    named = SCALED.fullmatch(str(values.get("resource_id")))
    side = SIDES.get(str(values.get("scalable_dimension")).rpartition(":")[2])
    bounds = values.get("min_capacity"), values.get("max_capacity")
    if named is None or side is None or None in bounds:
        return None
    return named[1], named[2], side
