"""Did writers meet on the same item? Capacity does not help them; to meet less often does.

A write is refused, and that is no throttle, where a transaction is under way on its item, where its condition
does not hold, or where another Region is writing the item.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

from keyheat.analysis.heat import heats_of
from keyheat.analysis.thresholds import Thresholds
from keyheat.numbers import percent, some
from keyheat.runs.formats import Evidence, Finding
from keyheat.runs.metrics import throttle_events
from keyheat.runs.run import Run
from keyheat.words import WRITE, Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One way in which writes die of each other."""

    counted: tuple[str, ...]  # what the load test counts
    metric: str | None  # the metric of CloudWatch
    keys: str  # by which name keys.json has the keys
    what: str
    meaning: str
    helps: str


CONFLICT = Meeting(
    counted=("transactions.conflicts", "writes.conflicts"),
    metric="TransactionConflict",
    keys="conflicts",
    what="transaction conflict",
    meaning="another one was on the same item, and the whole of it has to be sent again",
    helps="What helps: retry with jitter, keep the item that all share out of the transaction (add it up "
    "from the table's stream, or spread it over several items), and transactions of fewer items.",
)
CONDITION = Meeting(
    counted=("conditions.failed", "transactions.conditions"),
    metric="ConditionalCheckFailedRequests",
    keys="conditions",
    what="failed condition",
    meaning="the item was not as a write expected it, which consumed its units all the same",
    helps="What helps: read the item again before the next try (ReturnValuesOnConditionCheckFailure saves "
    "that read), ADD in place of read and write where order does not matter, and one writer for each item.",
)
REPLICATION = Meeting(
    counted=("replication.conflicts",),
    metric=None,
    keys="conflicts",
    what="replication conflict",
    meaning="another Region was writing the same item",
    helps="What helps: retry with jitter, and a home Region for each item, in which alone it is written.",
)


def analyze(run: Run, numbers: Thresholds) -> Iterator[Finding]:
    """A finding for each way to meet of which a notable share of the writes died."""
    counted = run.client.manifest.counted if run.client and run.client.manifest else {}
    writes = sum(
        row.attempts for row in run.evidence.seconds or () if row.direction == "write" and row.index is None
    )
    for one in (CONFLICT, CONDITION, REPLICATION):
        lost = _lost(one, counted, run.evidence)
        if (
            not lost
            or not isfinite(100 * lost)
            or (writes and lost / writes < numbers.failures.mention_share)
        ):
            continue
        said, measures = some(round(lost), one.what), {f"{one.what}s": (lost, "")}
        if writes:
            said += f", {percent(lost / writes)} of all writes"
            measures["of all writes"] = (100 * lost / writes, "%")
        yield Finding(
            label="contention",
            because=(
                f"{said}: {one.meaning}.",
                *_of_transactions(one, counted),
                *_where(one, run),
                _not_capacity(run.evidence),
                one.helps,
            ),
            numbers=measures,
            direction=WRITE,
        )


def _lost(one: Meeting, counted: Mapping[str, float], evidence: Evidence) -> float:
    """Requests of ours that were lost so; where nobody counted any, what CloudWatch counted, item by item."""
    ours = sum(counted.get(name, 0.0) for name in one.counted)
    return ours or (evidence.total(one.metric) if one.metric else None) or 0.0


def _of_transactions(one: Meeting, counted: Mapping[str, float]) -> Iterator[str]:
    lost, sent = counted.get(one.counted[0], 0.0), counted.get("transactions.requests", 0.0)
    if one is CONFLICT and lost and sent:
        share = percent(min(1.0, lost / sent))
        yield f"Of {some(round(sent), 'transaction')}, {share} were cancelled for it."


def _where(one: Meeting, run: Run) -> Iterator[str]:
    """The key on which most met; where nobody noted that, the hottest one, if it is hot."""
    met = run.client.keys.contended.get(one.keys, ()) if run.client and run.client.keys else ()
    total = sum(key.count for key in met)
    if met and total:
        name, share = met[0].shown or met[0].key, percent(met[0].count / total)
        yield f"The key on which most met is {name}: {share} of those whose key was noted."
        return
    for heat in heats_of(run.evidence, run.client):
        first_hot = heat.hottest[0] if heat.hottest else None
        if heat.direction == WRITE and first_hot and first_hot.share >= 0.1:
            name, share = first_hot.shown or first_hot.key, percent(first_hot.share)
            yield f"The hottest key, {name}, has {share} of the write units: most will have met there."


def _not_capacity(evidence: Evidence) -> str:
    """That this is contention, and whether anything was throttled besides."""
    events = [evidence.total(throttle_events(side)) for side in Direction]
    throttled = any(row.throttled for row in evidence.seconds or ()) or any(events)
    said = "This is contention and not capacity: more capacity changes nothing about it."
    return said if throttled else f"Nothing was throttled. {said}"
