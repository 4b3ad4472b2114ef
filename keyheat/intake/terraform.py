"""Read tables from `terraform show -json`, of a plan or a state, in all modules.

https://developer.hashicorp.com/terraform/internals/json-format
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from keyheat.intake.scaling import Side, bounds_of, parse_policy, scaled_side
from keyheat.intake.tables import Source, SourceTable, accept_table, as_description
from keyheat.runs.table_facts import region_of_arn

TABLE, INDEX, REPLICA, TARGET, POLICY, SCHEDULE = (
    "aws_dynamodb_table", "aws_dynamodb_global_secondary_index", "aws_dynamodb_table_replica",
    "aws_appautoscaling_target", "aws_appautoscaling_policy", "aws_appautoscaling_scheduled_action",
)  # fmt: skip
ADD: Final = "add its Region to regions under [table], since each write is copied there and billed"


def is_terraform(raw: Mapping[str, Any]) -> bool:
    """Whether this is output of `terraform show -json`."""
    return "terraform_version" in raw and ("planned_values" in raw or "values" in raw)


def read_terraform(raw: Mapping[str, Any]) -> Source:
    """Read the tables that a plan creates or keeps, or that a state has."""
    planned = "planned_values" in raw
    root = (raw.get("planned_values") if planned else raw.get("values")) or {}
    regions, copied = Regions.of_file(raw), set[str]()
    resources = _with_tables(list(_resources(root.get("root_module") or {})), regions)
    tables, notes = list[SourceTable](), list(_list_unread(resources))
    others = [*_list_deleted(raw), *_list_skipped(resources)]
    unknown, policies = dict(_unknown(raw)), dict(_policies(resources))
    replicas = [resource for resource in resources if resource.get("type") == REPLICA]
    for resource in resources:
        if resource.get("type") != TABLE:
            continue
        address, values = _address(resource), resource.get("values") or {}
        alone = _indexes_of(values.get("name"), resources)
        addresses = (address, *(_address(index) for index in alone))
        lost = [f"{at}.{name} is known only after apply" for at in addresses for name in unknown.get(at, ())]
        copies = [replica for replica in replicas if regions.is_copy(replica, resource)]
        placed = {_address(replica): regions.of(replica) for replica in copies}
        copied |= placed.keys()
        lost += [
            f"{replica}, a replica in a Region that this file does not tell: {ADD}"
            for replica, region in placed.items()
            if region is None
        ]
        within = (replica.get("region_name") for replica in values.get("replica") or ())
        names = dict.fromkeys((*within, *filter(None, placed.values())))
        described = _table(
            {
                **values,
                "arn": regions.arn_of(resource, copies),
                "replica": [{"region_name": name} for name in names],
            },
            str(resource.get("name")),
            [index["values"] for index in alone],
        )
        for table in accept_table(address, described, others, lost):
            bounds = {side: limits for name, side, limits in _targets(resources) if name == table.name}
            rules = {side: rules for (name, side), rules in policies.items() if name == table.name}
            remarks = (*table.remarks, *_list_replaced(raw, address))
            tables.append(replace(table.scaled_by(bounds, rules), remarks=remarks))
    others += (
        f"{_address(replica)}: a replica whose table is known only after apply, or is not in this file"
        for replica in replicas
        if _address(replica) not in copied
    )
    return Source(f"a Terraform {'plan' if planned else 'state'}", tuple(tables), tuple(notes), tuple(others))


@dataclass(frozen=True, slots=True)
class Regions:
    """Where resources are, and what replicas copy, by the configuration of a plan; a state has none."""

    configured: Mapping[str, Mapping[str, Any]]  # resources by their address without keys
    providers: Mapping[str, Any]
    variables: Mapping[str, Any]

    @classmethod
    def of_file(cls, raw: Mapping[str, Any]) -> "Regions":
        configuration = raw.get("configuration") or {}
        configured = dict(_configured(configuration.get("root_module") or {}, ""))
        return cls(configured, configuration.get("provider_config") or {}, raw.get("variables") or {})

    def of(self, resource: Mapping[str, Any]) -> str | None:
        """The Region of a table or replica; None if the file does not tell."""
        values = resource.get("values") or {}
        region = values.get("region") or region_of_arn(values.get("arn") or "")
        return region or self._of_provider(_without_keys(resource))

    def _of_provider(self, address: str) -> str | None:
        """The Region of a provider, if it is a constant or a variable of the root module."""
        provider = self.providers.get(str(self.configured.get(address, {}).get("provider_config_key"))) or {}
        region = (provider.get("expressions") or {}).get("region") or {}
        value = region.get("constant_value")
        for name in () if provider.get("module_address") else region.get("references") or ():
            value = value or (self.variables.get(name.removeprefix("var.")) or {}).get("value")
        return str(value) if value else None

    def is_copy(self, replica: Mapping[str, Any], table: Mapping[str, Any]) -> bool:
        """Whether a replica copies a table, by its name or, before apply, by reference."""
        if (arn := (replica.get("values") or {}).get("global_table_arn")) is not None:
            return bool(arn.rpartition("/")[2] == (table.get("values") or {}).get("name"))
        return self.refers(replica, "global_table_arn", table)

    def refers(self, resource: Mapping[str, Any], field: str, table: Mapping[str, Any]) -> bool:
        """Whether a field of a resource is of a table, by reference: its value is known only after apply."""
        address = _without_keys(resource)
        expressions = self.configured.get(address, {}).get("expressions") or {}
        module = address.rpartition(f"{resource.get('type')}.")[0]
        referred = (expressions.get(field) or {}).get("references") or ()
        return _without_keys(table) in {f"{module}{name}" for name in referred}

    def arn_of(self, table: Mapping[str, Any], copies: list[Mapping[str, Any]]) -> str | None:
        """A table's ARN: its own, that which a replica names, or one with the Region alone."""
        values = table.get("values") or {}
        named = ((replica.get("values") or {}).get("global_table_arn") for replica in copies)
        if arn := values.get("arn") or next(filter(None, named), None):
            return str(arn)
        region = self.of(table)
        return f"arn:aws:dynamodb:{region}:000000000000:table/{values.get('name')}" if region else None


def _with_tables(resources: list[Mapping[str, Any]], regions: Regions) -> list[Mapping[str, Any]]:
    """The resources; an index whose table is named only after apply has the name of the one it refers to."""
    tables = [resource for resource in resources if resource.get("type") == TABLE]

    def named(resource: Mapping[str, Any]) -> Mapping[str, Any]:
        values = resource.get("values") or {}
        if resource.get("type") != INDEX or values.get("table_name") is not None:
            return resource
        of = next((table for table in tables if regions.refers(resource, "table_name", table)), {})
        return {**resource, "values": {**values, "table_name": (of.get("values") or {}).get("name")}}

    return [named(resource) for resource in resources]


def _configured(module: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each resource of a plan's configuration, by its address."""
    for resource in module.get("resources") or ():
        yield f"{prefix}{resource.get('address')}", resource
    for name, call in (module.get("module_calls") or {}).items():
        yield from _configured(call.get("module") or {}, f"{prefix}module.{name}.")


def _without_keys(resource: Mapping[str, Any]) -> str:
    """An address as the configuration has it: without the keys of count and for_each."""
    return re.sub(r"\[[^]]*\]", "", _address(resource))


def _address(resource: Mapping[str, Any]) -> str:
    return str(resource.get("address"))


OF_USE: Final = frozenset({
    "name", "hash_key", "range_key", "read_capacity", "write_capacity", "billing_mode", "attribute",
    "global_secondary_index", "local_secondary_index", "on_demand_throughput", "warm_throughput", "replica",
    "stream_enabled", "stream_view_type", "table_class", "key_schema", "projection", "provisioned_throughput",
})  # fmt: skip


def _list_unread(resources: list[Mapping[str, Any]]) -> Iterator[str]:
    """Notes on scaling and indexes that are unusable: their table may be any."""
    tables = {
        (resource.get("values") or {}).get("name") for resource in resources if resource.get("type") == TABLE
    }
    for resource in resources:
        kind, address = str(resource.get("type")), str(resource.get("address"))
        values = resource.get("values") or {}
        others = values.get("service_namespace") not in (None, "dynamodb")
        if kind == TARGET and not others and not list(_targets([resource])):
            yield f"{address}: its table or bounds are known only after apply; skipped"
        elif kind == SCHEDULE and not others:
            yield f"{address}: scheduled scaling is not simulated"
        elif kind == INDEX and ((name := values.get("table_name")) is None or name not in tables):
            yield f"{address}: its table, {name or 'known only after apply'}, is not in this file"


def _list_skipped(resources: list[Mapping[str, Any]]) -> Iterator[str]:
    for resource in resources:
        kind = str(resource.get("type"))
        if kind.startswith("aws_dynamodb_") and kind not in (
            TABLE,
            INDEX,
            REPLICA,
            "aws_dynamodb_table_item",
        ):
            yield f"{resource.get('address')}: {kind} is skipped"


def _resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources") or ()
    for child in module.get("child_modules") or ():
        yield from _resources(child)


def _indexes_of(table: object, resources: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Indexes of a table that are separate resources."""
    indexes = (resource for resource in resources if resource.get("type") == INDEX and table is not None)
    return [resource for resource in indexes if (resource.get("values") or {}).get("table_name") == table]


def _list_deleted(raw: Mapping[str, Any]) -> Iterator[str]:
    for change in raw.get("resource_changes") or ():
        actions = (change.get("change") or {}).get("actions") or []
        if change.get("type") == TABLE and actions == ["delete"]:
            yield f"{change.get('address')}: the plan deletes this table"


def _list_replaced(raw: Mapping[str, Any], address: str) -> Iterator[str]:
    for change in raw.get("resource_changes") or ():
        actions = (change.get("change") or {}).get("actions") or []
        if change.get("address") == address and len(actions) > 1 and "delete" in actions:
            yield f"{address}: the plan deletes this table and creates it again, without its items"


def _unknown(raw: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for change in raw.get("resource_changes") or ():
        after = (change.get("change") or {}).get("after_unknown") or {}
        names = [name for name, open_ in after.items() if open_ is True and name in OF_USE]
        yield str(change.get("address")), names


def _table(values: Mapping[str, Any], logical: str, alone: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Convert a table and its separate indexes (`alone`) to CreateTable properties."""
    types = {attribute["name"]: attribute["type"] for attribute in values.get("attribute") or ()}
    types |= {key["attribute_name"]: key["attribute_type"] for index in alone for key in index["key_schema"]}
    within = {index.get("name"): index for index in values.get("global_secondary_index") or ()}
    indexes = within | {index.get("index_name"): index for index in alone}  # a state lists some twice
    stream = values.get("stream_view_type") if values.get("stream_enabled") else None
    return as_description(
        {
            "TableName": values.get("name") or logical,
            "BillingMode": values.get("billing_mode") or "PROVISIONED",
            "TableClass": values.get("table_class"),
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in types.items()
            ],
            **_owner(values),
            "GlobalSecondaryIndexes": [_index(index) for index in indexes.values()],
            "LocalSecondaryIndexes": [
                _index({"hash_key": values.get("hash_key"), **index})
                for index in values.get("local_secondary_index") or ()
            ],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": stream} if stream else None,
            "TimeToLiveSpecification": any(ttl.get("enabled") for ttl in values.get("ttl") or ()) or None,
            "PointInTimeRecoverySpecification": any(
                recovery.get("enabled") for recovery in values.get("point_in_time_recovery") or ()
            )
            or None,
            "TableArn": values.get("arn"),
            "Replicas": [
                {"RegionName": replica.get("region_name")} for replica in values.get("replica") or ()
            ],
        }
    )


def _index(values: Mapping[str, Any]) -> dict[str, Any]:
    projected = next(iter(values.get("projection") or ()), values)  # a block in a separate index
    projection: dict[str, Any] = {"ProjectionType": projected.get("projection_type") or "ALL"}
    if projected.get("non_key_attributes"):
        projection["NonKeyAttributes"] = projected["non_key_attributes"]
    name = values.get("name") or values.get("index_name")
    return {"IndexName": name, "Projection": projection, **_owner(values)}


def _owner(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keys and capacity of a table or index."""
    keys = [
        {"AttributeName": values[name], "KeyType": kind}
        for name, kind in (("hash_key", "HASH"), ("range_key", "RANGE"))
        if values.get(name)
    ]
    keys = keys or [
        {"AttributeName": element.get("attribute_name"), "KeyType": element.get("key_type")}
        for element in values.get("key_schema") or ()
    ]
    owner: dict[str, Any] = {"KeySchema": keys}
    units = {
        "ReadCapacityUnits": values.get("read_capacity"),
        "WriteCapacityUnits": values.get("write_capacity"),
    }
    if any(units.values()):
        owner["ProvisionedThroughput"] = {side: count for side, count in units.items() if count}
    for block in ("provisioned_throughput", "on_demand_throughput", "warm_throughput"):
        for settings in values.get(block) or ():
            units_given = {
                _camel(key): settings[key] for key in UNITS if settings.get(key) and settings[key] > 0
            }
            owner |= {_camel(block): units_given} if units_given else {}
    return owner


UNITS: Final = (
    "read_capacity_units", "write_capacity_units", "max_read_request_units", "max_write_request_units",
    "read_units_per_second", "write_units_per_second",
)  # fmt: skip


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _policies(resources: list[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, Side], dict[str, float]]]:
    """Each target tracking policy, by table and side."""
    for resource in resources:
        values = resource.get("values") or {}
        scaled = scaled_side(values.get("resource_id"), values.get("scalable_dimension"))
        for tracking in values.get("target_tracking_scaling_policy_configuration") or ():
            if resource.get("type") == POLICY and scaled:
                yield scaled, parse_policy({_camel(name): value for name, value in tracking.items()})


def _targets(resources: list[Mapping[str, Any]]) -> Iterator[tuple[str, Side, dict[str, float]]]:
    """Table, side and bounds of every scalable target with known bounds."""
    for resource in resources:
        values = resource.get("values") or {}
        scaled = scaled_side(values.get("resource_id"), values.get("scalable_dimension"))
        bounds = values.get("min_capacity"), values.get("max_capacity")
        if resource.get("type") == TARGET and scaled and None not in bounds:
            yield *scaled, bounds_of(*bounds)
