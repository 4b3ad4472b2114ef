"""Throttles by the reason that DynamoDB gave, as a table."""

import pyarrow.compute as pc

from keyheat.numbers import clock, percent, whole
from keyheat.pages.charts.figures import Table, shortened
from keyheat.pages.constraints import NAMES
from keyheat.pages.moments import saying
from keyheat.pages.run.record import Record
from keyheat.runs.metrics import constraint_of

NO_REASON = "(none given)"


def reason_table(record: Record) -> Table | None:
    """Every reason with its count, share, first and last second; None without throttle records."""
    if record.throttles is None:
        return None
    by = ["reason", "index", "direction"]
    grouped = record.throttles.group_by(by, use_threads=False).aggregate(
        [("count", "sum"), ("second", "min"), ("second", "max")]
    )
    total = pc.sum(grouped["count_sum"]).as_py() or 0
    rows = sorted(
        grouped.to_pylist(), key=lambda row: (-row["count_sum"], str(row["reason"]), str(row["index"]))
    )
    seconds = [row[second] for row in rows for second in ("second_min", "second_max")]
    say = saying(min(seconds), max(seconds)) if seconds else clock
    return Table(
        caption="Throttles by the reason that DynamoDB gave",
        columns=(
            "reason",
            "resource",
            "direction",
            "constraint",
            "count",
            "share",
            "first (UTC)",
            "last (UTC)",
        ),
        rows=tuple(
            (
                shortened(row["reason"] or NO_REASON, 80),
                shortened(row["index"] or "table", 80),
                row["direction"],
                NAMES[constraint_of(row["reason"]) or "undetermined"].lower(),
                whole(row["count_sum"]),
                percent(row["count_sum"] / total),
                say(row["second_min"]),
                say(row["second_max"]),
            )
            for row in rows
        ),
        numeric=frozenset({4, 5}),
    )
