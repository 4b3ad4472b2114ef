"""Tables of `terraform show -json`, of a plan or of a state, in all its modules.

https://developer.hashicorp.com/terraform/internals/json-format
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from keyheat.intake.scaling import Side, bounds_of, scaled_side, tracked
from keyheat.intake.tables import Source, SourceTable, described, taken

TABLE, INDEX, TARGET, POLICY, SCHEDULE = (
    "aws_dynamodb_table", "aws_dynamodb_global_secondary_index", "aws_appautoscaling_target",
    "aws_appautoscaling_policy", "aws_appautoscaling_scheduled_action",
)  # fmt: skip


def is_terraform(raw: Mapping[str, Any]) -> bool:
    """Whether it is what `terraform show -json` prints."""
    return "terraform_version" in raw and ("planned_values" in raw or "values" in raw)


def read_terraform(raw: Mapping[str, Any]) -> Source:
    """The tables that a plan makes or leaves, or that a state has."""
    planned = "planned_values" in raw
    root = (raw.get("planned_values") if planned else raw.get("values")) or {}
    resources = list(_resources(root.get("root_module") or {}))
    tables, notes = list[SourceTable](), [*_deleted(raw), *_unread(resources)]
    unknown, policies = dict(_unknown(raw)), dict(_policies(resources))
    for one in resources:
        if one.get("type") != TABLE:
            continue
        address, values = str(one.get("address")), one.get("values") or {}
        alone = _indexes_of(values.get("name"), resources)
        addresses = (address, *(str(index.get("address")) for index in alone))
        said = [f"{at}.{name} is known only after apply" for at in addresses for name in unknown.get(at, ())]
        described = _table(values, str(one.get("name")), [index["values"] for index in alone])
        for table in taken(address, described, notes, said):
            bounds = {side: found for name, side, found in _targets(resources) if name == table.name}
            rules = {side: found for (name, side), found in policies.items() if name == table.name}
            remarks = (*table.remarks, *_replaced(raw, address))
            tables.append(replace(table.scaled_by(bounds, rules), remarks=remarks))
    return Source(f"a Terraform {'plan' if planned else 'state'}", tuple(tables), tuple(notes))


OF_USE: Final = frozenset({
    "name", "hash_key", "range_key", "read_capacity", "write_capacity", "billing_mode", "attribute",
    "global_secondary_index", "local_secondary_index", "on_demand_throughput", "warm_throughput", "replica",
    "stream_enabled", "stream_view_type", "table_class", "key_schema", "projection", "provisioned_throughput",
})  # fmt: skip


def _unread(resources: list[Mapping[str, Any]]) -> Iterator[str]:
    """What is about tables and cannot be taken, or is not known before it is applied."""
    tables = {(one.get("values") or {}).get("name") for one in resources if one.get("type") == TABLE}
    for one in resources:
        kind, address = str(one.get("type")), str(one.get("address"))
        values = one.get("values") or {}
        others = values.get("service_namespace") not in (None, "dynamodb")
        if kind == TARGET and not others and not list(_targets([one])):
            yield f"{address}: whose scaling it is, or its bounds, are known only after apply: none is taken"
        elif kind == SCHEDULE and not others:
            yield f"{address}: what is scaled by schedule is not played"
        elif kind == INDEX:
            if (name := values.get("table_name")) is None or name not in tables:
                yield f"{address}: its table, {name or 'known only after apply'}, is not in this file"
        elif kind.startswith("aws_dynamodb_") and kind not in (TABLE, "aws_dynamodb_table_item"):
            yield f"{address}: {kind} is not taken"


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources") or ()
    for child in module.get("child_modules") or ():
        yield from _resources(child)


def _indexes_of(table: object, resources: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The indexes of a table that are resources of their own."""
    indexes = (one for one in resources if one.get("type") == INDEX and table is not None)
    return [one for one in indexes if (one.get("values") or {}).get("table_name") == table]


def _deleted(raw: Mapping[str, Any]) -> Iterator[str]:
    for change in raw.get("resource_changes") or ():
        actions = (change.get("change") or {}).get("actions") or []
        if change.get("type") == TABLE and actions == ["delete"]:
            yield f"{change.get('address')}: the plan deletes this table"


def _replaced(raw: Mapping[str, Any], address: str) -> Iterator[str]:
    for change in raw.get("resource_changes") or ():
        actions = (change.get("change") or {}).get("actions") or []
        if change.get("address") == address and len(actions) > 1 and "delete" in actions:
            yield f"{address}: the plan deletes this table and makes it anew, without its items"


def _unknown(raw: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for change in raw.get("resource_changes") or ():
        after = (change.get("change") or {}).get("after_unknown") or {}
        found = [name for name, open_ in after.items() if open_ is True and name in OF_USE]
        yield str(change.get("address")), found


def _table(values: Mapping[str, Any], logical: str, alone: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The values of a table as CreateTable would have them, and of indexes that stand `alone`."""
    types = {one["name"]: one["type"] for one in values.get("attribute") or ()}
    types |= {key["attribute_name"]: key["attribute_type"] for one in alone for key in one["key_schema"]}
    within = {one.get("name"): one for one in values.get("global_secondary_index") or ()}
    indexes = within | {one.get("index_name"): one for one in alone}  # a state lists some in both places
    stream = values.get("stream_view_type") if values.get("stream_enabled") else None
    return described(
        {
            "TableName": values.get("name") or logical,
            "BillingMode": values.get("billing_mode") or "PROVISIONED",
            "TableClass": values.get("table_class"),
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in types.items()
            ],
            **_owner(values),
            "GlobalSecondaryIndexes": [_index(one) for one in indexes.values()],
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
    projected = next(iter(values.get("projection") or ()), values)  # a block, where the index stands alone
    projection: dict[str, Any] = {"ProjectionType": projected.get("projection_type") or "ALL"}
    if projected.get("non_key_attributes"):
        projection["NonKeyAttributes"] = projected["non_key_attributes"]
    name = values.get("name") or values.get("index_name")
    return {"IndexName": name, "Projection": projection, **_owner(values)}


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
    for block in ("provisioned_throughput", "on_demand_throughput", "warm_throughput"):
        for one in values.get(block) or ():
            said = {_camel(key): one[key] for key in UNITS if one.get(key) and one[key] > 0}
            found |= {_camel(block): said} if said else {}
    return found


UNITS: Final = (
    "read_capacity_units", "write_capacity_units", "max_read_request_units", "max_write_request_units",
    "read_units_per_second", "write_units_per_second",
)  # fmt: skip


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _policies(resources: list[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, Side], dict[str, float]]]:
    """What each target tracking policy says, by the table and the side that it scales."""
    for one in resources:
        values = one.get("values") or {}
        scaled = scaled_side(values.get("resource_id"), values.get("scalable_dimension"))
        for tracking in values.get("target_tracking_scaling_policy_configuration") or ():
            if one.get("type") == POLICY and scaled:
                yield scaled, tracked({_camel(name): value for name, value in tracking.items()})


def _targets(resources: list[Mapping[str, Any]]) -> Iterator[tuple[str, Side, dict[str, float]]]:
    """Table, side and bounds of every scalable target of which they are known."""
    for one in resources:
        values = one.get("values") or {}
        scaled = scaled_side(values.get("resource_id"), values.get("scalable_dimension"))
        bounds = values.get("min_capacity"), values.get("max_capacity")
        if one.get("type") == TARGET and scaled and None not in bounds:
            yield *scaled, bounds_of(*bounds)
