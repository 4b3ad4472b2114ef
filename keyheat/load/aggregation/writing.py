"""Writing what was counted: one UpdateItem for each total that changed since the last time.

Adding is not idempotent, and a request whose answer is lost may have been carried out. So each update says
which flush it belongs to, on the condition that the total has not seen that flush: sent again, it is refused.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from keyheat.load.aggregation.orders import Of, Tally, Totals, total_update
from keyheat.scenario.spec.tables import TableSpec

AT_ONCE = 8
FLUSH = "flush"
FAILED_UNITS = 1.0  # of a small item's update whose condition failed


@dataclass(slots=True)
class TotalsWriter:
    """Adds to the totals of one run; `writer` names it in them."""

    client: Any
    table: TableSpec
    run_id: str
    writer: str
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(AT_ONCE))
    flushes: int = 0
    updates: int = 0
    repeated: int = 0
    units: float = 0.0

    def flush(self, batch: Totals) -> None:
        """Add a batch to the totals. Raises where an update fails for good: the totals are then behind."""
        self.flushes += 1
        flush = f"{self.writer}/{self.flushes}"
        for applied, units in self.pool.map(partial(self._update, flush), batch, batch.values()):
            self.updates += 1
            self.repeated += not applied
            self.units += units

    def close(self) -> None:
        """End the threads."""
        self.pool.shutdown()

    def _update(self, flush: str, of: Of, tally: Tally) -> tuple[bool, float]:
        """Whether this very request did it (an earlier try may have), and what it cost."""
        request = guarded(total_update(self.table, self.run_id, of, tally), flush)
        try:
            answer = self.client.update_item(**request, ReturnConsumedCapacity="TOTAL")
        except self.client.exceptions.ConditionalCheckFailedException:
            return False, FAILED_UNITS
        return True, float(answer["ConsumedCapacity"]["CapacityUnits"])


def guarded(update: Mapping[str, Any], flush: str) -> dict[str, Any]:
    """The update with the mark of its flush, refused where the mark is there already."""
    return {
        **update,
        "UpdateExpression": update["UpdateExpression"].replace("SET ", "SET #f = :f, ", 1),
        "ConditionExpression": "attribute_not_exists(#f) OR #f <> :f",
        "ExpressionAttributeNames": {**update["ExpressionAttributeNames"], "#f": FLUSH},
        "ExpressionAttributeValues": {**update["ExpressionAttributeValues"], ":f": {"S": flush}},
    }
