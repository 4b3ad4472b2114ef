"""At the end of a load: do the totals agree with the orders? `python -m keyheat.load.aggregation.check KEPT`

KEPT is `scanned` where nobody keeps totals and a scan finds them, or `beside-orders` where they are items of
the orders' own table. The check reads the whole table, strongly consistent and at a bounded rate, after the
load; what that costs is no part of the orders' units.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from threading import Event
from time import sleep
from typing import Any

from keyheat.load.aggregation.orders import OrderTotals, orders_in, sorted_items, wrong
from keyheat.load.sidecar import Assignment, SidecarOutcome, serve
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.scenario.spec.tables import TableSpec

ATTEMPTS = 10
READ_UNITS_PER_S = 1_500.0  # half of what one partition can be asked for


@dataclass(slots=True)
class TableScan:
    """Every item of a table, in pages that come no faster than so many units per second."""

    client: Any
    table: TableSpec
    units_per_s: float = READ_UNITS_PER_S
    sleep: Callable[[float], None] = sleep
    units: float = 0.0

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        more: dict[str, Any] = {}
        while True:
            page = self.client.scan(
                TableName=self.table.name, ConsistentRead=True, ReturnConsumedCapacity="TOTAL", **more
            )
            units = page["ConsumedCapacity"]["CapacityUnits"]
            self.units += units
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
            self.sleep(units / self.units_per_s)


def rate_for(table: TableSpec, scale: float) -> float:
    """Read units per second that the check may take: half of the table's, or of a partition's."""
    read = table.provisioned.read if table.provisioned is not None else None
    own = READ_UNITS_PER_S if read is None else min(READ_UNITS_PER_S, read / 2)
    return own * min(1.0, scale)


def compared(
    kept: OrderTotals, truth: OrderTotals, counted: Mapping[str, float], *, check_units: float = 0.0
) -> SidecarOutcome:
    """The totals held against the orders in the table, and against those that users saw acknowledged."""
    placed, found, in_totals = int(counted.get("orders.placed", 0)), orders_in(truth), orders_in(kept)
    differing = wrong(kept, truth)
    said = [f"orders: {placed:,} acknowledged, {in_totals:,} in the totals: {_word(placed, in_totals)}"]
    if found != placed:
        said.append(f"{found:,} orders are in the table: {_word(placed, found)}")
    if differing:
        said.append(f"{differing:,} of {len(kept.keys() | truth.keys()):,} totals are wrong")
    numbers = {
        "orders.counted": in_totals,
        "orders.missing": placed - in_totals,
        "totals.kept": len(kept),
        "totals.wrong": differing,
        "totals.check_units": check_units,
    }
    return SidecarOutcome(counted={name: float(number) for name, number in numbers.items()}, said=said)


def _word(placed: int, other: int) -> str:
    if other == placed:
        return "equal"
    return f"{abs(placed - other):,} {'fewer' if other < placed else 'more'}"


@dataclass(slots=True)
class TotalsCheck:
    """Waits for the end of the load, and then reads the table."""

    assignment: Assignment
    kept: str

    def work(self, stop: Event) -> None:
        """There is nothing to do while the load goes on."""
        stop.wait()

    def finish(self, counted: Mapping[str, float]) -> SidecarOutcome:
        """Read everything and compare."""
        assignment = self.assignment
        table = assignment.scenario.table
        client = make_client(target_at(assignment.url, region=assignment.region), attempts=ATTEMPTS)
        rate = rate_for(table, assignment.scenario.local.scale)
        scan = TableScan(client, table, rate)
        truth, kept = sorted_items(scan, table, assignment.run_id)
        return compared(truth if self.kept == "scanned" else kept, truth, counted, check_units=scan.units)


if __name__ == "__main__":
    (how,) = sys.argv[1:]
    if how not in ("scanned", "beside-orders"):
        sys.exit(f"scanned or beside-orders, not {how}")
    sys.exit(serve(lambda assignment: TotalsCheck(assignment, how)))
