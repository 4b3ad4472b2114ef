"""The model's own truth, by which labels are tested: what was admitted and refused every second, and why."""

from collections.abc import Iterable
from typing import Any

from keyheat.model.minutes import ResourceRecord


class Decisions:
    """A view of a table's meters, second by second. Bounded: the last two busy hours of each meter."""

    __slots__ = ("_records",)

    def __init__(self, records: Iterable[ResourceRecord]) -> None:
        self._records = records

    def rows(self) -> list[dict[str, Any]]:
        """One row per second, resource and direction in which anything was asked, in order of time.

        `second` is an epoch second, `consumed` in units, `refused` counts by cause.
        """
        rows = [
            {
                "second": second.start_s,
                "index": meter.index,
                "direction": meter.direction.value,
                "accepted": second.count,
                "consumed": second.sum,
                "refused": {cause.value: count for cause, count in second.refused.items()},
            }
            for record in self._records
            for meter in record.meters
            for second in meter.seconds
        ]
        return sorted(rows, key=lambda row: (row["second"], row["index"] or "", row["direction"]))
