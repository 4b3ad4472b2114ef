"""Did writes conflict on the same item? Fewer conflicts help; more capacity does not.

A write fails without a throttle if a transaction is under way on its item, if its condition is false, or if
another Region is writing the item.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

from keyheat.analysis.heat import heats_of
from keyheat.analysis.rules import Thresholds
from keyheat.numbers import percent, some
from keyheat.runs.formats import Finding
from keyheat.runs.metrics import throttle_events
from keyheat.runs.run import Run
from keyheat.words import WRITE, Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One way in which writes make each other fail."""

    counted: tuple[str, ...]  # names of the load test's counters
    metric: str | None  # CloudWatch's metric
    keys: str  # the name of its keys in keys.json
    noun: str
    meaning: str
    helps: str


CONFLICT = Conflict(
    counted=("transactions.conflicts", "writes.conflicts"),
    metric="TransactionConflict",
    keys="conflicts",
    noun="transaction conflict",
    meaning="another transaction was on the same item; the whole transaction has to be sent again",
    helps="What helps: retry with jitter, keep a shared item out of the transaction (add it up from the "
    "table's stream, or spread it over several items), and send transactions of fewer items.",
)
CONDITION = Conflict(
    counted=("conditions.failed", "transactions.conditions"),
    metric="ConditionalCheckFailedRequests",
    keys="conditions",
    noun="failed condition",
    meaning="the item was not as the write expected, and the write still consumed its units",
    helps="What helps: read the item again before the next try (ReturnValuesOnConditionCheckFailure saves "
    "that read), ADD in place of read and write where order does not matter, and one writer for each item.",
)
REPLICATION = Conflict(
    counted=("replication.conflicts",),
    metric=None,
    keys="conflicts",
    noun="replication conflict",
    meaning="another Region was writing the same item",
    helps="What helps: retry with jitter, and a home Region for each item, the only one that writes it.",
)


def analyze(run: Run, numbers: Thresholds) -> Iterator[Finding]:
    """Report each kind of conflict that made a notable share of the writes fail."""
    counted = run.client.manifest.counted if run.client and run.client.manifest else {}
    writes = sum(
        row.attempts for row in run.evidence.seconds or () if row.direction == "write" and row.index is None
    )
    events = [run.evidence.total(throttle_events(side)) for side in Direction]
    throttled = any(row.throttled for row in run.evidence.seconds or ()) or any(events)
    not_capacity = "This is contention, not capacity: more capacity does not help."
    for conflict in (CONFLICT, CONDITION, REPLICATION):
        ours = sum(counted.get(name, 0.0) for name in conflict.counted)
        by_item = run.evidence.total(conflict.metric) if conflict.metric else None  # without a count of ours
        failed = ours or by_item or 0.0
        if (
            not failed
            or not isfinite(100 * failed)
            or (writes and failed / writes < numbers.failures.mention_share)
        ):
            continue
        count, measures = some(round(failed), conflict.noun), {f"{conflict.noun}s": (failed, "")}
        if writes:
            count += f", {percent(failed / writes)} of all writes"
            measures["of all writes"] = (100 * failed / writes, "%")
        yield Finding(
            label="contention",
            because=(
                f"{count}: {conflict.meaning}.",
                *_of_transactions(conflict, counted),
                *_where(conflict, run),
                not_capacity if throttled else f"Nothing was throttled. {not_capacity}",
                conflict.helps,
            ),
            numbers=measures,
            direction=WRITE,
        )


def _of_transactions(conflict: Conflict, counted: Mapping[str, float]) -> Iterator[str]:
    failed, sent = counted.get(conflict.counted[0], 0.0), counted.get("transactions.requests", 0.0)
    if conflict is CONFLICT and failed and sent:
        share = percent(min(1.0, failed / sent))
        yield f"Of {some(round(sent), 'transaction')}, {share} were cancelled for it."


def _where(conflict: Conflict, run: Run) -> Iterator[str]:
    """Name the key with most conflicts; without a record of them, the hottest key, if it is hot."""
    keys = run.client.keys.contended.get(conflict.keys, ()) if run.client and run.client.keys else ()
    total = sum(key.count for key in keys)
    if keys and total:
        name, share = keys[0].shown or keys[0].key, percent(keys[0].count / total)
        yield f"The key with most conflicts is {name}: {share} of those whose key was recorded."
        return
    for heat in heats_of(run.evidence, run.client):
        first_hot = heat.hottest[0] if heat.hottest else None
        if heat.direction == WRITE and first_hot and first_hot.share >= 0.1:
            name, share = first_hot.shown or first_hot.key, percent(first_hot.share)
            yield f"The hottest key, {name}, has {share} of the write units: most conflicts are likely there."
