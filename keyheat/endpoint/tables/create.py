"""CreateTable: from a request to a table; and the answer to an account that changes tables too often."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.itemstore import ItemStore
from keyheat.endpoint.recording import Recording, RecordingModel
from keyheat.endpoint.service import Context, Service, view_of
from keyheat.endpoint.tables.catalog import Catalog, Table, TableChange, TableDefinition, define
from keyheat.endpoint.tables.describe import describe
from keyheat.endpoint.tables.settings import parse_tags
from keyheat.model import limits
from keyheat.model.resources import (
    TABLE_QUOTA,
    CapacityHistory,
    ResourceHistory,
    TableCapacity,
    next_decrease_s,
    recent_switches_s,
)
from keyheat.model.table import TableModel
from keyheat.model.transactions import OngoingTransactions
from keyheat.words import Capacity, Direction

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
        service.streams.enable(table, view, now_s)
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
