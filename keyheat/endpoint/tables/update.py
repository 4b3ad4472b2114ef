"""UpdateTable: what a request asks a table and its indexes to become, and whether that may be so soon.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GlobalSecondaryIndexUpdate.html
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from keyheat.endpoint import schema as schemas
from keyheat.endpoint.errors import resource_not_found, validation_error
from keyheat.endpoint.schema import TableSchema, invalid, used_attributes
from keyheat.endpoint.service import Context
from keyheat.endpoint.tables import create
from keyheat.endpoint.tables.catalog import Table, TableChange, TableDefinition, require_idle
from keyheat.endpoint.tables.create import Given, limit_exceeded, stated_capacity
from keyheat.endpoint.tables.describe import describe
from keyheat.model import limits, resources
from keyheat.model.resources import BillingMode, TableCapacity

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
    given = schemas.attribute_types(request.get("AttributeDefinitions") or ())
    for name in types.keys() & given.keys():
        if types[name] != given[name]:
            raise invalid(f"Type of key attribute {name} cannot change from {types[name]} to {given[name]}")
    kept = tuple(index for index in schema.indexes if index.name not in updates["Delete"])
    new = tuple(schemas.global_index(action, types | given) for action in updates["Create"].values())
    after = replace(schema, indexes=kept + new)
    schemas.check_counts(after.indexes)
    if new:
        schemas.check_all_used(after, used_attributes(after) | given)
    return after


def updated_capacity(table: Table, request: Given, updates: IndexUpdates) -> TableCapacity:
    """Capacity of the table and its indexes after an update. Raises ValidationException."""
    before = table.definition.capacity
    mode: BillingMode = request.get("BillingMode") or before.billing_mode
    of_table = stated_capacity(request, mode, None, before, table.model.warm_throughput(None))
    kept = []
    for index in before.indexes:
        if index.name not in updates["Delete"]:
            warm_now = table.model.warm_throughput(index.name)
            update = updates["Update"].get(index.name, {})
            kept.append(replace(index, **stated_capacity(update, mode, index.name, index, warm_now)))
    new = [create.index_capacity(action, mode) for action in updates["Create"].values()]
    return replace(before, billing_mode=mode, indexes=(*kept, *new), **of_table)


CHANGES = (
    "ProvisionedThroughput", "BillingMode", "OnDemandThroughput", "WarmThroughput",
    "GlobalSecondaryIndexUpdates", "StreamSpecification", "SSESpecification", "TableClass",
    "DeletionProtectionEnabled",
)  # fmt: skip


def update_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """UpdateTable. The answer shows the table UPDATING, still with its old capacity."""
    service, now_s = context.service, context.now_s
    create.refuse_what_is_not_here(request)
    if all(request.get(member) is None for member in CHANGES):
        raise validation_error(f"At least one of {', '.join(CHANGES)} is required")
    table = service.catalog.find(request["TableName"])
    require_idle(table)
    updates = index_updates(request)
    becomes = TableDefinition(
        schema=updated_schema(table.schema, request, updates),
        capacity=updated_capacity(table, request, updates),
        settings=create.settings(request, table.definition.settings),
    )
    create.check_account(service.catalog, table.name, becomes.capacity)
    specification = request.get("StreamSpecification")
    view = create.view_of(specification)
    enabled = table.stream is not None and table.stream.disabled_s is None
    if enabled and view is not None:
        raise validation_error(f"Table already has an enabled stream: TableName: {table.name}")
    if specification is not None and not enabled and view is None:
        raise validation_error(f"Table has no stream to disable: TableName: {table.name}")
    record_changes(table, becomes.capacity, now_s)
    if view is not None:
        service.catalog.enable_stream(table, view, now_s)
    elif specification is not None and table.stream is not None:
        table.stream.disable(now_s)
    service.catalog.begin(table, TableChange("UPDATING", now_s + service.durations.update_s, becomes))
    return {"TableDescription": describe(table, now_s)}


def record_changes(table: Table, after: TableCapacity, now_s: float) -> None:
    """Note decreases, increases and switches of mode.

    Raises LimitExceededException before noting any: where a table went to on-demand mode too often in 24
    hours, or the day's decreases are used up for now.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-switching-capacity-modes.html
    """
    before = table.definition.capacity
    recent = resources.recent_switches_s(table.history.to_on_demand_s, now_s)
    if resources.switches_to_on_demand(before, after) and len(recent) >= limits.ON_DEMAND_SWITCHES:
        raise limit_exceeded(
            "Subscriber limit exceeded: Update to PayPerRequest mode are limited to "
            f"{limits.ON_DEMAND_SWITCHES} times in 1 day(s). "
            f"Last update at {_day_and_time(recent[-1])}. "
            f"Next update can be made at {_day_and_time(recent[0] + limits.ON_DEMAND_SWITCH_WINDOW_S)}"
        )
    for index in resources.decreased(before, after):
        today = table.history.of(index).decreases_today(now_s)
        next_s = resources.next_decrease_s(today, now_s)
        if next_s > now_s:
            raise limit_exceeded(
                "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC "
                f"day. After the first {limits.DECREASES_FIRST_HOUR} decreases, each subsequent decrease in "
                f"the same UTC day can be performed at most once every {limits.DECREASE_SPACING_S} seconds. "
                f"Number of decreases today: {len(today)}. "
                f"Last decrease at {_day_and_time(today[-1])}. "
                f"Next decrease can be made at {_day_and_time(next_s)}"
            )
    table.history.note(before, after, now_s)


def _day_and_time(at_s: float) -> str:
    """`Sunday, July 9, 2017 4:04:19 PM UTC`, as the service writes times into these messages."""
    at = datetime.fromtimestamp(at_s, UTC)
    return f"{at:%A, %B} {at.day}, {at.year} {at.hour % 12 or 12}:{at:%M:%S %p} UTC"
