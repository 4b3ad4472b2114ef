"""CreateTable and DeleteTable: what a request and an account may have, and the table that comes of it.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.itemstore import ItemStore
from keyheat.endpoint.keycounts import Recording, RecordingModel
from keyheat.endpoint.schema import TableSchema, invalid, table_schema
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
from keyheat.endpoint.tables.describe import UNLIMITED, describe
from keyheat.endpoint.tables.settings import parse_tags
from keyheat.model import limits
from keyheat.model.resources import (
    TABLE_QUOTA,
    BillingMode,
    CapacityHistory,
    IndexCapacity,
    ResourceHistory,
    TableCapacity,
    next_decrease_s,
    recent_switches_s,
)
from keyheat.model.table import TableModel
from keyheat.model.transactions import OngoingTransactions
from keyheat.words import Capacity, Direction

Given = Mapping[str, Any]
NOT_HERE = (
    "GlobalTableSettingsReplicationMode",
    "GlobalTableSourceArn",
    "GlobalTableWitnessUpdates",
    "MultiRegionConsistency",
    "ReplicaUpdates",
    "ResourcePolicy",
    "VectorIndexes",
    "VectorIndexUpdates",
)
MOST_WARM_UNITS = (
    10_000_000  # per second; this endpoint's own bound, since it holds every partition in memory
)


def table_capacity(request: Given, schema: TableSchema) -> TableCapacity:
    """Capacity of a table to be created and of its global indexes. Raises ValidationException."""
    mode: BillingMode = request.get("BillingMode") or "PROVISIONED"
    return TableCapacity(
        billing_mode=mode,
        indexes=tuple(index_capacity(index, mode) for index in request.get("GlobalSecondaryIndexes") or ()),
        has_lsi=any(index.local for index in schema.indexes),
        **_capacities_of(request, mode, None),
    )


def index_capacity(request: Given, mode: BillingMode) -> IndexCapacity:
    """Capacity of a global index to be created. Raises ValidationException."""
    name = request["IndexName"]
    return IndexCapacity(name=name, **_capacities_of(request, mode, name))


def _capacities_of(request: Given, mode: BillingMode, index: str | None) -> dict[str, Any]:
    return {
        "provisioned": provisioned(request, mode, index=index),
        "max_on_demand": max_on_demand(request, mode),
        "warm": _warm(request, mode, index),
    }


def provisioned(request: Given, mode: BillingMode, *, index: str | None = None) -> Capacity | None:
    """Provisioned units per second: stated in provisioned mode, and only there."""
    given = request.get("ProvisionedThroughput")
    if mode == "PROVISIONED":
        if given is not None:
            return Capacity(given["ReadCapacityUnits"], given["WriteCapacityUnits"])
        if index is not None:
            raise invalid(f"ProvisionedThroughput is not specified for index: {index}")
        raise invalid(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
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


def max_on_demand(request: Given, mode: BillingMode, before: Capacity | None = None) -> Capacity | None:
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


def _warm(request: Given, mode: BillingMode, index: str | None) -> Capacity | None:
    """Pre-warmed units per second of a new table or index: never below what it starts with anyway."""
    given = request.get("WarmThroughput")
    if given is None:
        return None
    if mode == "PAY_PER_REQUEST":
        start = (limits.ON_DEMAND_START_READ, limits.ON_DEMAND_START_WRITE)
        return raised_warm(given, start, ("initial throughput for OnDemand",) * 2, index=index)
    stated, sides = request["ProvisionedThroughput"], ("ReadCapacityUnits", "WriteCapacityUnits")
    floors = (f"{sides[0]} of ProvisionedThroughput", f"{sides[1]} of ProvisionedThroughput")
    return raised_warm(given, (stated[sides[0]], stated[sides[1]]), floors, index=index)


def raised_warm(
    given: Given, floor: tuple[float, float], floors: tuple[str, str], *, index: str | None
) -> Capacity:
    """Warm throughput as a request states it; a side not stated is at its floor.

    Raises ValidationException where a side is below its `floor`, which `floors` names.
    """
    resource = "table" if index is None else f"index {index}"
    units_wanted = []
    for side, least, named in zip(("Read", "Write"), floor, floors, strict=True):
        units = given.get(f"{side}UnitsPerSecond")
        if units is not None and units < least:
            raise invalid(
                f"Requested {side}UnitsPerSecond for WarmThroughput for {resource} is lower than {named}"
            )
        if units is not None and units > MOST_WARM_UNITS:
            raise invalid(
                f"Requested {side}UnitsPerSecond for WarmThroughput for {resource} is above "
                f"{MOST_WARM_UNITS}, the most that the local endpoint can hold"
            )
        units_wanted.append(least if units is None else units)
    return Capacity(*units_wanted)


def define(request: Mapping[str, Any]) -> TableDefinition:
    """The definition in a CreateTable request. Raises ValidationException or LimitExceededException."""
    refuse_what_is_not_here(request)
    schema = table_schema(request)
    return TableDefinition(
        schema=schema, capacity=table_capacity(request, schema), settings=settings(request, Settings())
    )


def refuse_what_is_not_here(request: Mapping[str, Any]) -> None:
    """Raises ValidationException where a request asks for something that the local table cannot be."""
    for member in NOT_HERE:
        if request.get(member) is not None:
            raise validation_error(f"The local endpoint does not support {member}")


def settings(request: Mapping[str, Any], before: Settings) -> Settings:
    """The settings after a CreateTable or UpdateTable request that may name some of them."""
    protect = request.get("DeletionProtectionEnabled")
    encryption = request.get("SSESpecification")
    return Settings(
        deletion_protection=before.deletion_protection if protect is None else protect,
        table_class=request.get("TableClass") or before.table_class,
        encrypted_by=before.encrypted_by if encryption is None else _encrypted_by(encryption),
    )


def _encrypted_by(encryption: Mapping[str, Any]) -> str | None:
    return encryption.get("KMSMasterKeyId", "alias/aws/dynamodb") if encryption.get("Enabled") else None


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


def require_decrease_allowed(history: ResourceHistory, now_s: float) -> None:
    """Raises LimitExceededException when the day's decreases are used up for now."""
    today = history.decreases_today(now_s)
    next_s = next_decrease_s(today, now_s)
    if next_s > now_s:
        raise limit_exceeded(
            "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. "
            f"After the first {limits.DECREASES_FIRST_HOUR} decreases, each subsequent decrease in the "
            f"same UTC day can be performed at most once every {limits.DECREASE_SPACING_S} seconds. "
            f"Number of decreases today: {len(today)}. "
            f"Last decrease at {_day_and_time(today[-1])}. "
            f"Next decrease can be made at {_day_and_time(next_s)}"
        )


def require_switch_allowed(to_on_demand_s: Sequence[float], now_s: float) -> None:
    """Raises LimitExceededException when the table went to on-demand mode too often in 24 hours.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-switching-capacity-modes.html
    """
    recent = recent_switches_s(to_on_demand_s, now_s)
    if len(recent) >= limits.ON_DEMAND_SWITCHES:
        raise limit_exceeded(
            "Subscriber limit exceeded: Update to PayPerRequest mode are limited to "
            f"{limits.ON_DEMAND_SWITCHES} times in 1 day(s). "
            f"Last update at {_day_and_time(recent[-1])}. "
            f"Next update can be made at {_day_and_time(recent[0] + limits.ON_DEMAND_SWITCH_WINDOW_S)}"
        )


def limit_exceeded(message: str) -> ServiceError:
    return ServiceError("LimitExceededException", message)


def _day_and_time(at_s: float) -> str:
    """`Sunday, July 9, 2017 4:04:19 PM UTC`, as the service writes times into these messages."""
    at = datetime.fromtimestamp(at_s, UTC)
    return f"{at:%A, %B} {at.day}, {at.year} {at.hour % 12 or 12}:{at:%M:%S %p} UTC"


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
        for direction in Direction:
            total, limit = provisioned_total(capacities, direction), quota.of(direction) or 0
            if total > limit:
                raise limit_exceeded(
                    f"Subscriber limit exceeded: Provisioned {direction.title()}CapacityUnits of {total} for "
                    f"the {whose}, global secondary indexes included, exceed the {whose} limit of {limit}"
                )


def provisioned_total(capacities: Iterable[TableCapacity], direction: Direction) -> float:
    """Provisioned reads or writes of tables and all their global indexes, units per second."""
    pairs = (resource.provisioned for capacity in capacities for resource in capacity.parts.values())
    return sum(pair.of(direction) or 0 for pair in pairs if pair is not None)


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
