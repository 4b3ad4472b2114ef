"""UpdateTable: what a request asks a table and its indexes to become, and whether that may be so soon.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-switching-capacity-modes.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GlobalSecondaryIndexUpdate.html
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from keyheat.endpoint.errors import resource_not_found, validation_error
from keyheat.endpoint.schema import (
    TableSchema,
    attribute_types,
    check_all_used,
    check_counts,
    global_index,
    invalid,
    used_attributes,
)
from keyheat.endpoint.service import Context
from keyheat.endpoint.stream import View
from keyheat.endpoint.tables.catalog import Table, TableChange, TableDefinition, require_idle
from keyheat.endpoint.tables.create import (
    Given,
    check_account,
    index_capacity,
    limit_exceeded,
    max_on_demand,
    provisioned,
    raised_warm,
    refuse_what_is_not_here,
    require_decrease_allowed,
    require_switch_allowed,
    settings,
    view_of,
)
from keyheat.endpoint.tables.describe import describe
from keyheat.model.resources import (
    BillingMode,
    IndexCapacity,
    TableCapacity,
    decreased,
    switches_to_on_demand,
)
from keyheat.words import Capacity

IndexUpdates = Mapping[str, Mapping[str, Given]]
"""The actions by index name, below `Create`, `Update` and `Delete`; an index is named once."""


def index_updates(request: Given) -> IndexUpdates:
    """The updates sorted by what they do. Raises ValidationException or LimitExceededException."""
    sorted_by: dict[str, dict[str, Given]] = {"Create": {}, "Update": {}, "Delete": {}}
    names: set[str] = set()
    for update in request.get("GlobalSecondaryIndexUpdates") or ():
        kinds = [kind for kind in sorted_by if update.get(kind) is not None]
        if len(kinds) != 1:
            raise invalid(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        action = update[kinds[0]]
        name = action["IndexName"]
        if name in names:
            raise invalid(
                f"Only one global secondary index update per index is allowed simultaneously. Index: {name}"
            )
        names.add(name)
        sorted_by[kinds[0]][name] = action
    if len(sorted_by["Create"]) + len(sorted_by["Delete"]) > 1:
        raise limit_exceeded(
            "Subscriber limit exceeded: "
            "Only 1 online index can be created or deleted simultaneously per table"
        )
    return sorted_by


def updated_schema(schema: TableSchema, request: Given, updates: IndexUpdates) -> TableSchema:
    """The schema after the updates. Raises ValidationException or ResourceNotFoundException."""
    there = {index.name for index in schema.indexes}
    global_ = {index.name for index in schema.indexes if not index.local}
    if not (updates["Update"].keys() | updates["Delete"].keys()) <= global_:
        raise resource_not_found()
    if updates["Create"].keys() & there:
        raise validation_error("Attempting to create an index which already exists")
    types = used_attributes(schema)
    given = attribute_types(request.get("AttributeDefinitions") or ())
    for name in types.keys() & given.keys():
        if types[name] != given[name]:
            raise invalid(f"Type of key attribute {name} cannot change from {types[name]} to {given[name]}")
    kept = tuple(index for index in schema.indexes if index.name not in updates["Delete"])
    new = tuple(global_index(action, types | given) for action in updates["Create"].values())
    after = replace(schema, indexes=kept + new)
    check_counts(after.indexes)
    if new:
        check_all_used(after, used_attributes(after) | given)
    return after


CURRENT_WARM = ("current WarmThroughput, decreasing WarmThroughput is not supported",) * 2


def updated_capacity(table: Table, request: Given, updates: IndexUpdates) -> TableCapacity:
    """Capacity of the table and its indexes after an update. Raises ValidationException."""
    before = table.definition.capacity
    mode: BillingMode = request.get("BillingMode") or before.billing_mode
    capacities = _updated_capacities(table, request, mode, before, None)
    kept = [
        replace(
            index,
            **_updated_capacities(table, updates["Update"].get(index.name, {}), mode, index, index.name),
        )
        for index in before.indexes
        if index.name not in updates["Delete"]
    ]
    new = [index_capacity(action, mode) for action in updates["Create"].values()]
    return replace(before, billing_mode=mode, indexes=(*kept, *new), **capacities)


def _updated_capacities(
    table: Table, request: Given, mode: BillingMode, before: TableCapacity | IndexCapacity, index: str | None
) -> dict[str, Any]:
    """The capacities of the table or of an index after an update."""
    warm = request.get("WarmThroughput")
    return {
        "provisioned": _reprovisioned(request, mode, before.provisioned, index=index),
        "max_on_demand": max_on_demand(request, mode, before.max_on_demand),
        "warm": before.warm
        if warm is None
        else raised_warm(warm, table.model.warm_throughput(index), CURRENT_WARM, index=index),
    }


def _reprovisioned(
    request: Given, mode: BillingMode, before: Capacity | None, *, index: str | None = None
) -> Capacity | None:
    """Provisioned throughput after the update; a change that changes nothing is refused."""
    if request.get("ProvisionedThroughput") is None and mode == "PROVISIONED" and before is not None:
        return before
    after = provisioned(request, mode, index=index)
    if after is not None and after == before:
        resource = "table" if index is None else f"index {index}"
        raise validation_error(
            f"The provisioned throughput for the {resource} will not change. "
            "The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for the {resource}: {before.read}. "
            f"Requested ReadCapacityUnits: {after.read}. "
            f"Current WriteCapacityUnits provisioned for the {resource}: {before.write}. "
            f"Requested WriteCapacityUnits: {after.write}. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits "
            "and how to request higher limits."
        )
    return after


CHANGES = (
    "ProvisionedThroughput",
    "BillingMode",
    "OnDemandThroughput",
    "WarmThroughput",
    "GlobalSecondaryIndexUpdates",
    "StreamSpecification",
    "SSESpecification",
    "TableClass",
    "DeletionProtectionEnabled",
)


def update_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """UpdateTable. The answer shows the table UPDATING, still with its old capacity."""
    service, now_s = context.service, context.now_s
    refuse_what_is_not_here(request)
    if all(request.get(member) is None for member in CHANGES):
        raise validation_error(f"At least one of {', '.join(CHANGES)} is required")
    table = service.catalog.find(request["TableName"])
    require_idle(table)
    updates = index_updates(request)
    becomes = TableDefinition(
        schema=updated_schema(table.schema, request, updates),
        capacity=updated_capacity(table, request, updates),
        settings=settings(request, table.definition.settings),
    )
    check_account(service.catalog, table.name, becomes.capacity)
    specification = request.get("StreamSpecification")
    view = view_of(specification)
    if specification is not None:
        _check_stream_change(table, view)
    record_changes(table, becomes.capacity, now_s)
    if view is not None:
        service.catalog.enable_stream(table, view, now_s)
    elif specification is not None and table.stream is not None:
        table.stream.disable(now_s)
    service.catalog.begin(table, TableChange("UPDATING", now_s + service.durations.update_s, becomes))
    return {"TableDescription": describe(table, now_s)}


def _check_stream_change(table: Table, view: View | None) -> None:
    """Raises ValidationException for enabling a stream that is enabled, or disabling one that is not."""
    enabled = table.stream is not None and table.stream.disabled_s is None
    if enabled and view is not None:
        raise validation_error(f"Table already has an enabled stream: TableName: {table.name}")
    if not enabled and view is None:
        raise validation_error(f"Table has no stream to disable: TableName: {table.name}")


def record_changes(table: Table, after: TableCapacity, now_s: float) -> None:
    """Note decreases, increases and switches of mode; raises LimitExceededException before noting any."""
    before = table.definition.capacity
    if switches_to_on_demand(before, after):
        require_switch_allowed(table.history.to_on_demand_s, now_s)
    for index in decreased(before, after):
        require_decrease_allowed(table.history.of(index), now_s)
    table.history.note(before, after, now_s)
