"""The grades of evidence, the best hidden first, so that each shows what is known without the better ones.

reasons   everything: DynamoDB's reasons, as the client saw them
causes    no reasons: CloudWatch's cause-specific metrics
seconds   no cause metrics either: throttle events, consumed against provisioned, the client's seconds
minutes   no client either: CloudWatch's minutes alone
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal

from keyheat.model.resources import Cause
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, SecondCount, ThrottleCount
from keyheat.words import Direction

Best = Literal["reasons", "causes", "seconds", "minutes"]
"""The best evidence that is left."""

BEST: Final[tuple[Best, ...]] = ("reasons", "causes", "seconds", "minutes")
CAUSES: Final = frozenset(
    metrics.cause_events(direction, cause) for direction in Direction for cause in Cause
)


def left(evidence: Evidence, best: Best, *, client: bool) -> Evidence:
    """What is left of the evidence when everything better than `best` is hidden.

    `client`: whether, beside the cause metrics, a client's record is there, who was given no reasons.
    """
    if best == "reasons":
        return evidence
    if best == "causes":
        return without_reasons(evidence) if client else without_client(evidence)
    hidden = without_causes(evidence)
    return without_reasons(hidden) if best == "seconds" else without_client(hidden)


def without_reasons(evidence: Evidence) -> Evidence:
    """As an old SDK saw it: throttles without a reason, and so without the index that refused a write."""
    return evidence.model_copy(
        update={"throttles": _bare(evidence.throttles), "seconds": _unblamed(evidence.seconds)}
    )


def without_causes(evidence: Evidence) -> Evidence:
    """As CloudWatch was before its cause-specific metrics: throttle events of any cause only."""
    kept = tuple(series for series in evidence.series if series.metric not in CAUSES)
    return evidence.model_copy(update={"series": kept})


def without_client(evidence: Evidence) -> Evidence:
    """As for a table that others load: CloudWatch alone."""
    return evidence.model_copy(update={"throttles": None, "seconds": None})


def _bare(rows: Sequence[ThrottleCount] | None) -> tuple[ThrottleCount, ...] | None:
    if rows is None:
        return None
    counts: Counter[tuple[datetime, str | None, Direction]] = Counter()
    for row in rows:
        asked = row.index if row.direction == "read" else None  # a reader names the index, a writer does not
        counts[row.second, asked, row.direction] += row.count
    return tuple(
        ThrottleCount(second=second, index=index, direction=direction, count=count)
        for (second, index, direction), count in counts.items()
    )


def _unblamed(rows: Sequence[SecondCount] | None) -> tuple[SecondCount, ...] | None:
    """The client's seconds without knowing which index refused a write; the table's row counts it anyway."""
    if rows is None:
        return None
    return tuple(
        row.model_copy(update={"throttled": 0}) if row.index and row.direction == "write" else row
        for row in rows
    )
