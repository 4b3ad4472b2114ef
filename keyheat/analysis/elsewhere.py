"""Problems of an application whose reads and writes were not throttled.

Throttled requests of other operations, errors inside DynamoDB, and slow responses:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from keyheat.numbers import milliseconds, some
from keyheat.runs.formats import Evidence, Series
from keyheat.runs.metrics import GET_RECORDS, LATENCY, OPERATIONS, SYSTEM_ERRORS, THROTTLED_REQUESTS

SLOW_RATIO: Final = 3.0  # least ratio of a slow minute's mean latency to the median minute's
SLOW_MS: Final = 20.0  # and least difference
LEAST_SLOW: Final = 3  # minutes in a row


def throttled_elsewhere(evidence: Evidence) -> dict[str, int]:
    """Count throttled requests by operation that neither read nor write the table, such as GetRecords."""
    counts = Counter[str]()
    for series in evidence.series:
        if series.metric == THROTTLED_REQUESTS and series.operation and series.operation not in OPERATIONS:
            counts[series.operation] += round(sum(value for _at, value in series.points))
    return dict(+counts)


def other_causes(evidence: Evidence) -> tuple[str, ...]:
    """Return clauses that follow `Nothing was throttled, but`, the gravest first."""
    return (*_streams(evidence), *_errors(evidence), *_late(evidence))


def has_errors(evidence: Evidence) -> bool:
    """Whether requests failed inside DynamoDB."""
    return any(_errors(evidence))


def _streams(evidence: Evidence) -> Iterator[str]:
    for operation, count in throttled_elsewhere(evidence).items():
        look = "; look at the readers of its stream" if operation == GET_RECORDS else ""
        yield f"{some(count, f'{operation} request')} {'was' if count == 1 else 'were'}{look}"


def _errors(evidence: Evidence) -> Iterator[str]:
    for series in evidence.series:
        failed = [(at, count) for at, count in series.points if count]
        if series.metric == SYSTEM_ERRORS and failed:
            count = round(sum(count for _at, count in failed))
            span = _span([at for at, _count in failed], series.period_s)
            yield (
                f"{some(count, f'{series.operation} request')} failed inside DynamoDB (SystemErrors) {span}; "
                "retry them, and look at the AWS Health Dashboard"
            )


def _late(evidence: Evidence) -> Iterator[str]:
    for series in _latencies(evidence):
        usual_ms = median(value for _at, value in series.points)
        slow = _longest(series, max(SLOW_RATIO * usual_ms, usual_ms + SLOW_MS))
        if len(slow) >= LEAST_SLOW:
            worst_ms = median(value for _at, value in slow)
            span = _span([at for at, _value in slow], series.period_s)
            yield (
                f"DynamoDB took {milliseconds(worst_ms)} for a {series.operation} {span}, and "
                f"{milliseconds(usual_ms)} otherwise; look at item sizes and at the AWS Health Dashboard"
            )


def usual_latency_ms(evidence: Evidence) -> float | None:
    """Return the highest mean latency of an operation; None if unknown, or slow at some time."""
    values = [value for series in _latencies(evidence) for _at, value in series.points]
    return None if any(_late(evidence)) else max(values, default=None)


def _latencies(evidence: Evidence) -> Iterator[Series]:
    for series in evidence.series:
        if (series.metric, series.statistic) == (LATENCY, "Average") and series.points:
            yield series


def _longest(series: Series, beyond_ms: float) -> Sequence[tuple[datetime, float]]:
    """Return the longest run of periods whose mean exceeds a limit."""
    best: list[tuple[datetime, float]] = []
    run: list[tuple[datetime, float]] = []
    for at, value in series.points:
        follows = not run or at - run[-1][0] == timedelta(seconds=series.period_s)
        run = [*(run if follows else ()), (at, value)] if value > beyond_ms else []
        best = max(best, run, key=len)
    return best


def _span(moments: Sequence[datetime], period_s: int) -> str:
    end = max(moments) + timedelta(seconds=period_s)
    return f"from {min(moments):%H:%M} to {end:%H:%M} UTC"
