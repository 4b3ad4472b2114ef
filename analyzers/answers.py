"""Answers of GetMetricData, from boto3 or as the AWS CLI prints them, put together into series."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from analyzers.client import NO_RECORDS, Records
from analyzers.formats import Evidence, Series, TableFacts, Window
from analyzers.metrics import SeriesKey

Points = dict[SeriesKey, dict[datetime, float]]


def from_cli_output(
    content: object, *, table: TableFacts, window: Window, records: Records = NO_RECORDS
) -> Evidence:
    """Evidence from what `aws cloudwatch get-metric-data` printed for the queries of `queries_for`.

    `content` is the parsed JSON. The CLI follows the pages itself, so a series may come in several parts.
    Raises `ValueError` with every mistake as `message @ $.path`.
    """
    results = content.get("MetricDataResults") if isinstance(content, dict) else None
    if not isinstance(results, list):
        raise ValueError("no list of MetricDataResults: `aws cloudwatch get-metric-data` did not print this")
    points: Points = {}
    mistakes: list[str] = []
    for number, result in enumerate(results):
        try:
            add_result(points, result)
        except KeyError as error:
            mistakes.append(f"{error} is missing @ $.MetricDataResults[{number}]")
        except (ValueError, TypeError, AttributeError) as error:
            mistakes.append(f"{error} @ $.MetricDataResults[{number}]")
    if mistakes:
        raise ValueError("\n  ".join([f"{len(mistakes)} errors in the answer of CloudWatch", *mistakes]))
    return Evidence(
        table=table,
        window=window,
        series=series_of(points, window),
        throttles=records.throttles,
        seconds=records.seconds,
        missing=records.missing,
    )


def add_result(points: Points, result: Mapping[str, Any]) -> None:
    """Add one page of one series; a series that was asked for and has no points is kept as such."""
    key = SeriesKey.of_label(str(result["Label"]))
    if key is None:
        raise ValueError(f"label {result['Label']!r} is none that `keyheat queries` makes")
    times, values = result["Timestamps"], result["Values"]
    if len(times) != len(values):
        raise ValueError(f"{len(times)} timestamps for {len(values)} values")
    found = points.setdefault(key, {})
    for at, value in zip(times, values, strict=True):
        moment = datetime.fromisoformat(at) if isinstance(at, str) else at
        if moment.tzinfo is None:
            raise ValueError(f"timestamp {at} has no zone")
        found[moment.astimezone(UTC)] = _quantity(value)


def _quantity(value: Any) -> float:
    number = float(value)
    if not isfinite(number) or number < 0:
        raise ValueError(f"{number} is no quantity")
    return number


def series_of(points: Points, window: Window) -> tuple[Series, ...]:
    """Points in order, within the window; a setting keeps the one point from which it is carried forward."""
    made = []
    for key, found in points.items():
        ordered = sorted(found.items())
        inside = [point for point in ordered if window.start <= point[0] < window.end]
        before = [point for point in ordered if point[0] < window.start]
        if before and key.metric.startswith(("Provisioned", "OnDemandMax")):
            inside = [before[-1], *inside]
        made.append(
            Series(
                metric=key.metric,
                statistic=key.statistic,
                period_s=key.period_s,
                index=key.index,
                operation=key.operation,
                points=tuple(inside),
            )
        )
    return tuple(made)
