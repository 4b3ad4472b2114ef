"""UpdateTable: what a request asks a table to become, and whether the account may change it again so soon.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
"""

from typing import Any

from tablemodel.endpoint.errors import validation_error
from tablemodel.endpoint.service import Service
from tablemodel.endpoint.streams.registry import asked_view
from tablemodel.endpoint.tables.catalog import Change, Table, require_idle
from tablemodel.endpoint.tables.create import check_account
from tablemodel.endpoint.tables.definition import TableDefinition, refuse_what_is_not_here, settings
from tablemodel.endpoint.tables.describe import describe
from tablemodel.endpoint.tables.history import require_decrease_allowed, require_switch_allowed
from tablemodel.endpoint.tables.indexupdates import IndexUpdates, index_updates, updated_schema
from tablemodel.endpoint.tables.recapacity import updated_capacity
from tablemodel.resources import TableCapacity, Throughput

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


def update_table(service: Service, request: dict[str, Any]) -> dict[str, Any]:
    """UpdateTable. The answer shows the table UPDATING, still with its old capacity."""
    now_s = service.now_s()
    refuse_what_is_not_here(request)
    if all(request.get(member) is None for member in CHANGES):
        raise validation_error(f"At least one of {', '.join(CHANGES)} is required")
    table = service.catalog.find(request["TableName"])
    require_idle(table)
    becomes = updated_definition(table, request, index_updates(request))
    check_account(service.catalog, table.name, becomes.capacity)
    specification = request.get("StreamSpecification")
    view = asked_view(specification)
    if specification is not None:
        service.streams.check_change(table, view)
    record_changes(table, becomes.capacity, now_s)
    if specification is not None:
        service.streams.change(table, view, now_s)
    service.catalog.begin(table, Change("UPDATING", now_s + service.durations.update_s, becomes))
    return {"TableDescription": describe(table, now_s)}


def updated_definition(table: Table, request: dict[str, Any], updates: IndexUpdates) -> TableDefinition:
    """What the table is after the update. Raises ValidationException or ResourceNotFoundException."""
    return TableDefinition(
        schema=updated_schema(table.schema, request, updates),
        capacity=updated_capacity(table, request, updates),
        settings=settings(request, table.definition.settings),
    )


def record_changes(table: Table, after: TableCapacity, now_s: float) -> None:
    """Note decreases, increases and switches of mode; raises LimitExceededException before noting any."""
    before = table.definition.capacity
    switches = after.on_demand and not before.on_demand
    if switches:
        require_switch_allowed(table.history.to_on_demand_s, now_s)
    changes = [] if after.on_demand else list(_provisioned_changes(before, after))
    decreased = [index for index, old, new in changes if _below(new, old)]
    for index in decreased:
        require_decrease_allowed(table.history.of(index), now_s)
    for index in decreased:
        table.history.of(index).decreases_s.append(now_s)
    for index, old, new in changes:
        if _below(old, new):
            table.history.of(index).last_increase_s = now_s
    if switches:
        table.history.to_on_demand_s.append(now_s)


def _provisioned_changes(
    before: TableCapacity, after: TableCapacity
) -> list[tuple[str | None, Throughput, Throughput]]:
    """The resources that have provisioned throughput before and after, with both."""
    old = {part.name: part.provisioned for part in before.indexes} | {None: before.provisioned}
    new = {part.name: part.provisioned for part in after.indexes} | {None: after.provisioned}
    return [
        (index, was, is_now)
        for index, is_now in new.items()
        if is_now is not None and (was := old.get(index)) is not None
    ]


def _below(one: Throughput, other: Throughput) -> bool:
    """Whether `one` has less than `other` of reads, of writes or of both."""
    return (one.read or 0) < (other.read or 0) or (one.write or 0) < (other.write or 0)
