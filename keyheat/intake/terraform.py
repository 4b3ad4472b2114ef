"""Read tables from `terraform show -json`, of a plan or a state, in all modules.

https://developer.hashicorp.com/terraform/internals/json-format
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from keyheat.intake.scaling import TRACKING, bounds_of, scaled_side, scaled_sides
from keyheat.intake.tables import Source, SourceTable, accept_table, as_description, attributes_of

TABLE, INDEX, REPLICA, TARGET, POLICY, SCHEDULE = (
    "aws_dynamodb_table", "aws_dynamodb_global_secondary_index", "aws_dynamodb_table_replica",
    "aws_appautoscaling_target", "aws_appautoscaling_policy", "aws_appautoscaling_scheduled_action",
)  # fmt: skip
ADD: Final = "add its Region to regions under [table], since each write is copied there and billed"
OF_USE: Final = frozenset({
    "name", "hash_key", "range_key", "read_capacity", "write_capacity", "billing_mode", "attribute",
    "global_secondary_index", "local_secondary_index", "on_demand_throughput", "warm_throughput", "replica",
    "stream_enabled", "stream_view_type", "table_class", "key_schema", "projection", "provisioned_throughput",
})  # fmt: skip
UNITS: Final = (
    "read_capacity_units", "write_capacity_units", "max_read_request_units", "max_write_request_units",
    "read_units_per_second", "write_units_per_second",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of a plan or a state."""

    kind: str
    name: str
    address: str
    values: Mapping[str, Any]

    @property
    def plain(self) -> str:
        """The address as the configuration has it: without the keys of count and for_each."""
        return re.sub(r"\[[^]]*\]", "", self.address)

    @property
    def scaling(self) -> dict[str, Any]:
        """A scalable target or a policy as Application Auto Scaling describes it."""
        tracking = [
            {_camel(name): value for name, value in block.items()}
            for block in self.values.get("target_tracking_scaling_policy_configuration") or ()
        ]
        fields = {_camel(name): value for name, value in self.values.items()}
        return fields | {TRACKING: tracking[0]} if tracking else fields


def read_terraform(raw: Mapping[str, Any]) -> Source:
    """Read the tables that a plan creates or keeps, or that a state has."""
    planned = "planned_values" in raw
    resources = _resources(raw)
    tables, notes, changes = list[SourceTable](), list(_list_unread(resources)), _changes(raw)
    others = [
        f"{address}: the plan deletes this table"
        for address, (actions, _open) in changes.items()
        if actions == ["delete"] and f"{TABLE}." in address
    ]
    others += [
        f"{each.address}: {each.kind} is skipped"
        for each in resources
        if each.kind.startswith("aws_dynamodb_")
        and each.kind not in (TABLE, INDEX, REPLICA, "aws_dynamodb_table_item")
    ]
    targets, policies = (
        [each.scaling for each in resources if each.kind == kind] for kind in (TARGET, POLICY)
    )
    for resource in (each for each in resources if each.kind == TABLE):
        name = resource.values.get("name")
        alone = [
            each for each in resources if each.kind == INDEX and name and each.values["table_name"] == name
        ]
        lost = [
            f"{each.address}.{field} is known only after apply"
            for each in (resource, *alone)
            for field in changes.get(each.address, ([], ()))[1]
        ]
        for table in accept_table(resource.address, _table(resource, alone), others, lost):
            of_table = table.scaled_by(scaled_sides(table.name, targets, policies))
            actions = changes.get(resource.address, ([], ()))[0]
            anew = f"{resource.address}: the plan deletes this table and creates it again, without its items"
            replaced = [anew] if len(actions) > 1 and "delete" in actions else []
            tables.append(replace(of_table, remarks=(*of_table.remarks, *replaced)))
    return Source(f"a Terraform {'plan' if planned else 'state'}", tuple(tables), tuple(notes), tuple(others))


def _resources(raw: Mapping[str, Any]) -> list[Resource]:
    """All resources; an index whose table is named only after apply has the name of the one it refers to."""
    configured = dict(_configured((raw.get("configuration") or {}).get("root_module") or {}, ""))
    root = raw.get("planned_values") or raw.get("values") or {}
    resources = [
        Resource(str(each.get("type")), str(each.get("name")), str(each.get("address")), values)
        for each in _listed(root.get("root_module") or {})
        for values in [each.get("values") or {}]
    ]
    names = {each.plain: each.values.get("name") for each in resources if each.kind == TABLE}
    for number, each in enumerate(resources):
        if each.kind == INDEX and each.values.get("table_name") is None:
            expressions = (configured.get(each.plain) or {}).get("expressions") or {}
            module = each.plain.rpartition(f"{INDEX}.")[0]
            references = (expressions.get("table_name") or {}).get("references") or ()
            named = (names[plain] for other in references if (plain := f"{module}{other}") in names)
            resources[number] = replace(each, values={**each.values, "table_name": next(named, None)})
    return resources


def _listed(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources") or ()
    for child in module.get("child_modules") or ():
        yield from _listed(child)


def _configured(module: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each resource of a plan's configuration, by its address."""
    for resource in module.get("resources") or ():
        yield f"{prefix}{resource.get('address')}", resource
    for name, call in (module.get("module_calls") or {}).items():
        yield from _configured(call.get("module") or {}, f"{prefix}module.{name}.")


def _changes(raw: Mapping[str, Any]) -> dict[str, tuple[list[str], list[str]]]:
    """Actions of a plan, and the fields of use that are known only after apply, by address."""
    changes = {}
    for resource in raw.get("resource_changes") or ():
        change = resource.get("change") or {}
        after = change.get("after_unknown") or {}
        unknown = [name for name, open_ in after.items() if open_ is True and name in OF_USE]
        changes[str(resource.get("address"))] = change.get("actions") or [], unknown
    return changes


def _list_unread(resources: Sequence[Resource]) -> Iterator[str]:
    """Notes on scaling, replicas and indexes that are unusable: their table may be any."""
    tables = {each.values.get("name") for each in resources if each.kind == TABLE}
    for each in resources:
        others = each.values.get("service_namespace") not in (None, "dynamodb")
        if each.kind == TARGET and not others:
            if scaled_side(each.scaling) and None not in bounds_of(each.scaling).values():
                continue
            yield f"{each.address}: its table or bounds are known only after apply; skipped"
        elif each.kind == REPLICA:
            yield f"{each.address}: {ADD}"
        elif each.kind == SCHEDULE and not others:
            yield f"{each.address}: scheduled scaling is not simulated"
        elif each.kind == INDEX and ((name := each.values["table_name"]) is None or name not in tables):
            yield f"{each.address}: its table, {name or 'known only after apply'}, is not in this file"


def _table(table: Resource, alone: Sequence[Resource]) -> dict[str, Any]:
    """Convert a table and its separate indexes (`alone`) to CreateTable properties."""
    values = table.values
    arn = values.get("arn")
    if arn is None and (region := values.get("region")):
        arn = f"arn:aws:dynamodb:{region}:000000000000:table/{values.get('name')}"
    types = {attribute["name"]: attribute["type"] for attribute in values.get("attribute") or ()}
    for index in alone:
        types |= {key["attribute_name"]: key["attribute_type"] for key in index.values["key_schema"]}
    indexes = {index.get("name"): index for index in values.get("global_secondary_index") or ()}
    indexes |= {each.values.get("index_name"): each.values for each in alone}  # a state lists some twice
    stream = values.get("stream_view_type") if values.get("stream_enabled") else None
    return as_description(
        {
            "TableName": values.get("name") or table.name,
            "BillingMode": values.get("billing_mode") or "PROVISIONED",
            "TableClass": values.get("table_class"),
            "AttributeDefinitions": attributes_of(types),
            **_owner(values),
            "GlobalSecondaryIndexes": [_index(index) for index in indexes.values()],
            "LocalSecondaryIndexes": [
                _index({"hash_key": values.get("hash_key"), **index})
                for index in values.get("local_secondary_index") or ()
            ],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": stream} if stream else None,
            "TimeToLiveSpecification": _is_enabled(values.get("ttl")),
            "PointInTimeRecoverySpecification": _is_enabled(values.get("point_in_time_recovery")),
            "TableArn": arn,
            "Replicas": [
                {"RegionName": replica.get("region_name")} for replica in values.get("replica") or ()
            ],
        }
    )


def _is_enabled(blocks: Any) -> bool | None:
    return any(block.get("enabled") for block in blocks or ()) or None


def _index(values: Mapping[str, Any]) -> dict[str, Any]:
    projected = next(iter(values.get("projection") or ()), values)  # a block in a separate index
    projection: dict[str, Any] = {"ProjectionType": projected.get("projection_type") or "ALL"}
    if projected.get("non_key_attributes"):
        projection["NonKeyAttributes"] = projected["non_key_attributes"]
    name = values.get("name") or values.get("index_name")
    return {"IndexName": name, "Projection": projection, **_owner(values)}


def _owner(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keys and capacity of a table or index."""
    named = ((values.get("hash_key"), "HASH"), (values.get("range_key"), "RANGE"))
    schema = ((key.get("attribute_name"), key.get("key_type")) for key in values.get("key_schema") or ())
    keys = [(name, kind) for name, kind in named if name] or schema
    owner: dict[str, Any] = {"KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in keys]}
    sides = {"ReadCapacityUnits": "read_capacity", "WriteCapacityUnits": "write_capacity"}
    if units := {side: values[name] for side, name in sides.items() if values.get(name)}:
        owner["ProvisionedThroughput"] = units
    for block in ("provisioned_throughput", "on_demand_throughput", "warm_throughput"):
        for settings in values.get(block) or ():
            given = {_camel(key): settings[key] for key in UNITS if settings.get(key) and settings[key] > 0}
            owner |= {_camel(block): given} if given else {}
    return owner


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
