"""Infer the periods of series in files, and whether values are sums or rates."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from itertools import pairwise
from math import gcd
from typing import Final

from keyheat.model.limits import MINUTE_S, SETTING_PERIOD_S
from keyheat.runs import metrics
from keyheat.runs.metrics import SeriesKey
from keyheat.words import Direction

BURST_S: Final = 300
CLOSE: Final = 1e-6
_RATE: Final = re.compile(r"(?i)count/sec|/\s?s(ec(ond)?)?\b|per[ _-]?s(ec(ond)?)?\b|\brate\b")


@dataclass(slots=True)
class FileSeries:
    """A series in a file; `period_s` is 0 if not stated, `unit` is as stated."""

    where: str
    key: SeriesKey
    points: list[tuple[datetime, float]] = field(default_factory=list)
    unit: str | None = ""
    """Empty: not stated. None: CloudWatch's own sums."""


def is_rate(unit: str) -> bool:
    """Whether a unit or name means a rate per second."""
    return _RATE.search(unit) is not None


def infer_periods(all_series: Sequence[FileSeries]) -> Iterator[str]:
    """Infer missing periods from the distances between points; yields what was inferred."""
    for settings, usual_s in ((False, MINUTE_S), (True, SETTING_PERIOD_S)):
        some = [
            series
            for series in all_series
            if (series.key.metric in metrics.SETTINGS) == settings and not series.key.period_s
        ]
        gaps = [
            int((after - before).total_seconds())
            for series in some
            for before, after in pairwise(sorted({at for at, _value in series.points}))
        ]
        period_s = reduce(gcd, gaps) if gaps else usual_s
        for series in some:
            series.key = replace(series.key, period_s=period_s)
        if some and period_s != usual_s:
            yield f"metrics: periods of {period_s} s, by the distance of points; --metric sets another"


def convert_to_sums(all_series: Sequence[FileSeries]) -> Iterator[str]:
    """Convert rates per second to sums per period; yields what was inferred.

    Raises `ValueError` for values that contradict their unit, or fit neither.
    """
    capacities = {side: _provisioned(all_series, side) for side in Direction}
    for series in all_series:
        if series.unit is None or series.key.metric in (*metrics.SETTINGS, *metrics.DURATIONS):
            continue
        no_sums, no_rates = _no_sums(series), _no_rates(series, capacities)
        if is_rate(series.unit):
            kind, wrong = "rates per second", no_rates
        elif series.unit:
            kind, wrong = "sums per period", no_sums
        else:
            kind, wrong = "sums or rates per second", no_sums and no_rates and f"{no_sums}; {no_rates}"
        if wrong:
            raise ValueError(f"{series.where}: {series.key.metric} has no {kind}: {wrong}")
        if no_sums or is_rate(series.unit):
            series.points = [(at, value * series.key.period_s) for at, value in series.points]
        if not series.unit and no_sums:
            yield f"metrics: {series.key.metric} is read as rates per second: {no_sums}"
        elif not series.unit:
            yield "metrics: values without a unit are read as sums per period"


def _provisioned(all_series: Sequence[FileSeries], side: Direction) -> float | None:
    """The highest capacity provisioned for the table, from the files."""
    of_table = (
        series
        for series in all_series
        if series.key.metric == metrics.provisioned(side) and not series.key.index
    )
    return max((value for series in of_table for _at, value in series.points), default=None)


def _no_sums(series: FileSeries) -> str | None:
    """Why values cannot be sums: events are whole, and units are halves."""
    parts = 2 if "CapacityUnits" in series.key.metric else 1
    for _at, value in series.points:
        if abs(value * parts - round(value * parts)) > CLOSE * max(1.0, value):
            return f"{value:g} is not a sum of {'half units' if parts == 2 else 'whole events'}"
    return None


def _no_rates(series: FileSeries, capacities: Mapping[Direction, float | None]) -> str | None:
    """Why values cannot be rates per second: capacity and burst do not allow them."""
    side = next(
        (direction for direction in Direction if metrics.consumed(direction) == series.key.metric), None
    )
    most = capacities[side] if side and series.key.index is None else None
    lasts_s = len(series.points) * series.key.period_s
    if not most or not lasts_s:
        return None
    mean = sum(value for _at, value in series.points) / len(series.points)
    if mean <= most * (1 + BURST_S / lasts_s):
        return None
    return f"{mean:,.0f} per second is more than the {most:,.0f} provisioned and burst allow"
