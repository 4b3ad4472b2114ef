"""CreateTable and DeleteTable: what a request and an account may have, and the table that comes of it.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

from collections.abc import Mapping
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.itemstore import ItemStore
from keyheat.endpoint.keycounts import Recording, RecordingModel
from keyheat.endpoint.schema import invalid, table_schema
from keyheat.endpoint.service import Context, Service
from keyheat.endpoint.stream import View
from keyheat.endpoint.tables.catalog import (
    Catalog,
    Settings,
    Table,
    TableChange,
    TableDefinition,
    require_idle,
)
from keyheat.endpoint.tables.describe import UNLIMITED, describe, parse_tags
from keyheat.model import limits
from keyheat.model.resources import TABLE_QUOTA, BillingMode, CapacityHistory, IndexCapacity, TableCapacity
from keyheat.model.table import TableModel
from keyheat.model.transactions import OngoingTransactions
from keyheat.words import Capacity, Direction

Given = Mapping[str, Any]
NOT_HERE = (
    "GlobalTableSettingsReplicationMode", "GlobalTableSourceArn", "GlobalTableWitnessUpdates",
    "MultiRegionConsistency", "ReplicaUpdates", "ResourcePolicy", "VectorIndexes", "VectorIndexUpdates",
)  # fmt: skip
MOST_WARM_UNITS = 10_000_000
"""Per second: this endpoint's own bound, since it holds every partition in memory."""


def index_capacity(request: Given, mode: BillingMode) -> IndexCapacity:
    """Capacity of a global index to be created. Raises ValidationException."""
    name = request["IndexName"]
    return IndexCapacity(name=name, **stated_capacity(request, mode, name))


def stated_capacity(
    request: Given,
    mode: BillingMode,
    index: str | None,
    before: TableCapacity | IndexCapacity | None = None,
    warm_now: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """The capacities of a table or an index that is created, or updated from `before`.

    `warm_now`: its warm throughput before an update. Raises ValidationException.
    """
    old = before or IndexCapacity(name="")
    return {
        "provisioned": _provisioned(request, mode, index, old.provisioned),
        "max_on_demand": _max_on_demand(request, mode, old.max_on_demand),
        "warm": old.warm if request.get("WarmThroughput") is None else _warm(request, mode, index, warm_now),
    }


def _provisioned(
    request: Given, mode: BillingMode, index: str | None, before: Capacity | None
) -> Capacity | None:
    """Provisioned units per second: stated in provisioned mode, and only there."""
    given = request.get("ProvisionedThroughput")
    if mode == "PAY_PER_REQUEST":
        if given is None:
            return None
        if index is not None:
            raise invalid(
                f"ProvisionedThroughput should not be specified for index: {index} "
                "when BillingMode is PAY_PER_REQUEST"
            )
        raise invalid(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if given is None:
        if before is not None:
            return before
        if index is not None:
            raise invalid(f"ProvisionedThroughput is not specified for index: {index}")
        raise invalid(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    after = Capacity(given["ReadCapacityUnits"], given["WriteCapacityUnits"])
    if after == before:
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


def _max_on_demand(request: Given, mode: BillingMode, before: Capacity | None) -> Capacity | None:
    """The self-imposed on-demand maximum; a side that is not named stays as `before`."""
    given = request.get("OnDemandThroughput")
    if given is None:
        return before if mode == "PAY_PER_REQUEST" else None
    if mode == "PROVISIONED":
        raise invalid("OnDemandThroughput cannot be specified when BillingMode is PROVISIONED")
    old = before or Capacity(None, None)
    read = _maximum("MaxReadRequestUnits", given.get("MaxReadRequestUnits"), old.read)
    write = _maximum("MaxWriteRequestUnits", given.get("MaxWriteRequestUnits"), old.write)
    return None if read is None and write is None else Capacity(read, write)


def _maximum(member: str, given: int | None, before: float | None) -> float | None:
    if given is None:
        return before
    if given != UNLIMITED and given < 1:
        raise invalid(f"{member} must be greater than or equal to 1, or -1 to remove the maximum")
    return None if given == UNLIMITED else given


def _warm(request: Given, mode: BillingMode, index: str | None, now: tuple[float, float] | None) -> Capacity:
    """Warm throughput as a request states it; a side that it does not state is at its floor.

    The floor is what the resource has now, else what it starts with. Raises ValidationException below it.
    """
    resource = "table" if index is None else f"index {index}"
    units: list[float] = []
    for number, side in enumerate(("Read", "Write")):
        if now is not None:
            floor, named = now[number], "current WarmThroughput, decreasing WarmThroughput is not supported"
        elif mode == "PAY_PER_REQUEST":
            floor = (limits.ON_DEMAND_START_READ, limits.ON_DEMAND_START_WRITE)[number]
            named = "initial throughput for OnDemand"
        else:
            floor = request["ProvisionedThroughput"][f"{side}CapacityUnits"]
            named = f"{side}CapacityUnits of ProvisionedThroughput"
        stated = request["WarmThroughput"].get(f"{side}UnitsPerSecond")
        what = f"Requested {side}UnitsPerSecond for WarmThroughput for {resource}"
        if stated is not None and stated < floor:
            raise invalid(f"{what} is lower than {named}")
        if stated is not None and stated > MOST_WARM_UNITS:
            raise invalid(f"{what} is above {MOST_WARM_UNITS}, the most that the local endpoint can hold")
        units.append(floor if stated is None else stated)
    return Capacity(*units)


def define(request: Mapping[str, Any]) -> TableDefinition:
    """The definition in a CreateTable request. Raises ValidationException or LimitExceededException."""
    refuse_what_is_not_here(request)
    schema = table_schema(request)
    mode: BillingMode = request.get("BillingMode") or "PROVISIONED"
    capacity = TableCapacity(
        billing_mode=mode,
        indexes=tuple(index_capacity(index, mode) for index in request.get("GlobalSecondaryIndexes") or ()),
        has_lsi=any(index.local for index in schema.indexes),
        **stated_capacity(request, mode, None),
    )
    return TableDefinition(schema=schema, capacity=capacity, settings=settings(request, Settings()))


def refuse_what_is_not_here(request: Mapping[str, Any]) -> None:
    """Raises ValidationException where a request asks for something that the local table cannot be."""
    for member in NOT_HERE:
        if request.get(member) is not None:
            raise validation_error(f"The local endpoint does not support {member}")


def settings(request: Mapping[str, Any], before: Settings) -> Settings:
    """The settings after a CreateTable or UpdateTable request that may name some of them."""
    protect, encryption = request.get("DeletionProtectionEnabled"), request.get("SSESpecification")
    encrypted_by = before.encrypted_by
    if encryption is not None:
        key = encryption.get("KMSMasterKeyId", "alias/aws/dynamodb")
        encrypted_by = key if encryption.get("Enabled") else None
    return Settings(
        deletion_protection=before.deletion_protection if protect is None else protect,
        table_class=request.get("TableClass") or before.table_class,
        encrypted_by=encrypted_by,
    )


def view_of(specification: Given | None) -> View | None:
    """The view that a StreamSpecification enables; None if it disables, or if it is absent.

    Raises ValidationException where the switch and the view contradict each other.
    """
    if specification is None:
        return None
    enabled, view = specification["StreamEnabled"], specification.get("StreamViewType")
    if enabled and view is None:
        raise invalid("StreamViewType is required when StreamEnabled is true")
    if not enabled and view is not None:
        raise invalid("StreamViewType cannot be given when StreamEnabled is false")
    return cast("View | None", view)


ACCOUNT_QUOTA = Capacity(limits.ACCOUNT_READ_UNITS_PER_S, limits.ACCOUNT_WRITE_UNITS_PER_S)


def limit_exceeded(message: str) -> ServiceError:
    return ServiceError("LimitExceededException", message)


def create_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """CreateTable. The answer shows the table CREATING, however soon it is ACTIVE.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
    """
    service, now_s = context.service, context.now_s
    definition = define(request)
    name = definition.schema.name
    if name in service.catalog:
        raise ServiceError("ResourceInUseException", f"Table already exists: {name}")
    check_account(service.catalog, name, definition.capacity)
    view = view_of(request.get("StreamSpecification"))
    table = make_table(service, definition, now_s)
    table.tags.update(parse_tags(request.get("Tags") or ()))
    if view is not None:
        service.catalog.enable_stream(table, view, now_s)
    service.catalog.add(table)
    service.catalog.begin(table, TableChange("CREATING", now_s + service.durations.create_s, definition))
    return {"TableDescription": describe(table, now_s)}


def make_table(service: Service, definition: TableDefinition, now_s: float) -> Table:
    """An empty table whose buckets are full, as a new table's are."""
    arn = service.table_arn(definition.schema.name)
    return Table(
        definition=definition,
        arn=arn,
        table_id=str(uuid5(NAMESPACE_URL, f"{arn}#{now_s}")),
        created_s=now_s,
        model=_model(service, definition, now_s),
        items=ItemStore(definition.schema),
        history=CapacityHistory.of_new(definition.capacity, now_s),
        ongoing=OngoingTransactions(service.durations.transaction_s),
    )


def _model(service: Service, definition: TableDefinition, now_s: float) -> TableModel:
    settings: Any = {
        "now_s": now_s, "scale": service.scale, "seed": service.seed, "behaviour": service.behaviour,
    }  # fmt: skip
    if service.recordings is None:
        return TableModel(definition.capacity, **settings)
    model = RecordingModel(definition.capacity, **settings)
    model.recording = service.recordings.setdefault(definition.schema.name, Recording())
    return model


def check_account(catalog: Catalog, name: str, capacity: TableCapacity) -> None:
    """Raises LimitExceededException where the account may not have so much.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
    """
    others = [table for table in catalog if table.name != name]
    if len(others) >= limits.TABLES_PER_REGION:
        raise limit_exceeded(
            f"Subscriber limit exceeded: There is a limit of {limits.TABLES_PER_REGION} tables per subscriber"
        )
    all_tables = [capacity, *(other.definition.capacity for other in others)]
    for whose, capacities, quota in (
        ("table", [capacity], TABLE_QUOTA),
        ("account", all_tables, ACCOUNT_QUOTA),
    ):
        parts = [resource.provisioned for each in capacities for resource in each.parts.values()]
        for direction in Direction:
            total = sum(units.of(direction) or 0 for units in parts if units is not None)
            limit = quota.of(direction) or 0
            if total > limit:
                raise limit_exceeded(
                    f"Subscriber limit exceeded: Provisioned {direction.title()}CapacityUnits of {total} for "
                    f"the {whose}, global secondary indexes included, exceed the {whose} limit of {limit}"
                )


def delete_table(context: Context, request: dict[str, Any]) -> dict[str, Any]:
    """DeleteTable. Raises ValidationException for a protected table."""
    now_s = context.now_s
    table = context.service.catalog.find(request["TableName"])
    require_idle(table)
    if table.definition.settings.deletion_protection:
        raise validation_error(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    if table.stream is not None and table.stream.disabled_s is None:
        table.stream.disable(now_s)
    ends_s = now_s + context.service.durations.delete_s
    context.service.catalog.begin(table, TableChange("DELETING", ends_s, None))
    return {"TableDescription": describe(table, now_s)}
