"""Datapoints: what was measured in a minute, and what a period makes of its minutes."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MINUTE_S = 60
PERCENTILE = re.compile(r"p(100|\d{1,2}(?:\.\d{1,10})?)")
SIMPLE_STATISTICS = ("SampleCount", "Average", "Sum", "Minimum", "Maximum")

Dimensions = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MetricKey:
    """Which metric: CloudWatch tells metrics apart by all three, and adds nothing up across dimensions."""

    namespace: str
    name: str
    dimensions: Dimensions = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What was measured from `start_s` on, for a minute or a longer period.

    `values` are (value, how often) in order of value, where they are kept: percentiles need them.
    """

    start_s: int
    sum: float
    count: float
    minimum: float
    maximum: float
    values: tuple[tuple[float, float], ...] | None = None


def together(points: Sequence[Point], start_s: int) -> Point:
    """Several points as one."""
    values: dict[float, float] | None = {}
    for point in points:
        if point.values is None or values is None:
            values = None
            continue
        for value, count in point.values:
            values[value] = values.get(value, 0.0) + count
    return Point(
        start_s=start_s,
        sum=math.fsum(point.sum for point in points),
        count=math.fsum(point.count for point in points),
        minimum=min(point.minimum for point in points),
        maximum=max(point.maximum for point in points),
        values=None if values is None else tuple(sorted(values.items())),
    )


def by_period(points: Iterable[Point], period_s: int, anchor_s: int = 0) -> list[Point]:
    """Points added up to periods, which begin at `anchor_s` and every `period_s` from it; oldest first."""
    periods: dict[int, list[Point]] = {}
    for point in points:
        start_s = anchor_s + (point.start_s - anchor_s) // period_s * period_s
        periods.setdefault(start_s, []).append(point)
    return [
        of_period[0]
        if len(of_period) == 1 and of_period[0].start_s == start_s
        else together(of_period, start_s)
        for start_s, of_period in sorted(periods.items())
    ]


def is_statistic(name: str) -> bool:
    """Whether the name is a statistic that is computed here."""
    return name in SIMPLE_STATISTICS or PERCENTILE.fullmatch(name) is not None


def statistic(point: Point, name: str) -> float | None:
    """One statistic of a point; None for a percentile of values that were not kept."""
    if name == "Sum":
        return point.sum
    if name == "SampleCount":
        return point.count
    if name == "Minimum":
        return point.minimum
    if name == "Maximum":
        return point.maximum
    if name == "Average":
        return point.sum / point.count if point.count else None
    return _percentile(point, float(name[1:]))


def _percentile(point: Point, percent: float) -> float | None:
    """The least value that `percent` of the values do not exceed."""
    if not point.values:
        return None
    rank = percent / 100.0 * sum(count for _, count in point.values)
    reached = 0.0
    for value, count in point.values:
        reached += count
        if reached >= rank:
            return value
    return point.values[-1][0]
