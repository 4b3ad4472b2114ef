"""Did writers meet on the same item? Capacity does not help them; to meet less often does."""

from collections.abc import Iterator
from math import isfinite

from keyheat.analysis.thresholds import Thresholds
from keyheat.numbers import percent, some
from keyheat.runs.formats import Finding
from keyheat.runs.run import Run

LOST = (
    # what the load test counts, the metric of CloudWatch, what that is
    (
        "transactions.conflicts", "TransactionConflict",
        "transaction conflict", "another one was on the same item, and the whole of it has to be sent again",
    ),
    (
        "conditions.failed", "ConditionalCheckFailedRequests",
        "failed condition", "the item was not as a write expected it, which consumed its units all the same",
    ),
)  # fmt: skip


def analyze(run: Run, numbers: Thresholds) -> Iterator[Finding]:
    """A finding for each way to meet of which a notable share of the writes died."""
    counted = run.client.manifest.counted if run.client and run.client.manifest else {}
    writes = sum(
        row.attempts for row in run.evidence.seconds or () if row.direction == "write" and row.index is None
    )
    for name, metric, what, meaning in LOST:
        lost = counted.get(name) or run.evidence.total(metric)
        if (
            not lost
            or not isfinite(100 * lost)
            or (writes and lost / writes < numbers.failures.mention_share)
        ):
            continue
        because, measures = some(round(lost), what), {f"{what}s": (lost, "")}
        if writes:
            because += f", {percent(lost / writes)} of all writes"
            measures["of all writes"] = (100 * lost / writes, "%")
        yield Finding(
            label="contention", because=(f"{because}: {meaning}.",), numbers=measures, direction="write"
        )
