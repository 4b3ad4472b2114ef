"""UpdateTable: what a request asks a table to become, and whether the account may change it again so soon.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
"""

from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.service import Service
from keyheat.endpoint.streams.registry import asked_view
from keyheat.endpoint.tables.catalog import Change, Table, require_idle
from keyheat.endpoint.tables.create import check_account
from keyheat.endpoint.tables.definition import TableDefinition, refuse_what_is_not_here, settings
from keyheat.endpoint.tables.describe import describe
from keyheat.endpoint.tables.history import require_decrease_allowed, require_switch_allowed
from keyheat.endpoint.tables.indexupdates import IndexUpdates, index_updates, updated_schema
from keyheat.endpoint.tables.recapacity import updated_capacity
from keyheat.model.resources import TableCapacity
from keyheat.scenario.changes import decreased, switches_to_on_demand

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
    if switches_to_on_demand(before, after):
        require_switch_allowed(table.history.to_on_demand_s, now_s)
    for index in decreased(before, after):
        require_decrease_allowed(table.history.of(index), now_s)
    table.history.note(before, after, now_s)
