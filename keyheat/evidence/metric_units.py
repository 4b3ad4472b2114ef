"""Series that files hold: which periods their values have, and whether they are sums or rates a second."""

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
    """A series of a file; `period_s` is 0 where the file does not state it, `unit` is as it is stated."""

    where: str
    key: SeriesKey
    points: list[tuple[datetime, float]] = field(default_factory=list)
    unit: str | None = ""
    """Empty: not stated. None: CloudWatch's own sums."""


def is_rate(unit: str) -> bool:
    """Whether a unit, or a name, says that values are rates a second."""
    return _RATE.search(unit) is not None


def with_periods(found: Sequence[FileSeries]) -> Iterator[str]:
    """Give series without a period one by the distances between their points; yields what is inferred."""
    for settings, usual_s in ((False, MINUTE_S), (True, SETTING_PERIOD_S)):
        some = [
            one for one in found if (one.key.metric in metrics.SETTINGS) == settings and not one.key.period_s
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
            yield f"metrics: periods of {period_s} s, by the distances between points; --metric says another"


def in_sums(found: Sequence[FileSeries]) -> Iterator[str]:
    """Turn rates a second into sums of a period; yields what is inferred.

    Raises `ValueError` for values that cannot be what they are said to be, or neither of the two.
    """
    capacities = {side: _provisioned(found, side) for side in Direction}
    for series in found:
        if series.unit is None or series.key.metric in (*metrics.SETTINGS, *metrics.DURATIONS):
            continue
        no_sums, no_rates = _no_sums(series), _no_rates(series, capacities)
        if is_rate(series.unit):
            kind, wrong = "rates a second", no_rates
        elif series.unit:
            kind, wrong = "sums of a period", no_sums
        else:
            kind, wrong = "sums, nor rates a second", no_sums and no_rates and f"{no_sums}; {no_rates}"
        if wrong:
            raise ValueError(f"{series.where}: {series.key.metric} has no {kind}: {wrong}")
        if no_sums or is_rate(series.unit):
            series.points = [(at, value * series.key.period_s) for at, value in series.points]
        if not series.unit and no_sums:
            yield f"metrics: {series.key.metric} is taken as rates a second: {no_sums}"
        elif not series.unit:
            yield "metrics: values without a unit are taken as sums of a period"


def _provisioned(found: Sequence[FileSeries], side: Direction) -> float | None:
    """The most that was provisioned for the table, by the files."""
    of_table = (one for one in found if one.key.metric == metrics.provisioned(side) and not one.key.index)
    return max((value for one in of_table for _at, value in one.points), default=None)


def _no_sums(series: FileSeries) -> str | None:
    """Why values are no sums: events are whole, and units are halves."""
    parts = 2 if "CapacityUnits" in series.key.metric else 1
    for _at, value in series.points:
        if abs(value * parts - round(value * parts)) > CLOSE * max(1.0, value):
            return f"{value:g} is no sum of {'half units' if parts == 2 else 'whole events'}"
    return None


def _no_rates(series: FileSeries, capacities: Mapping[Direction, float | None]) -> str | None:
    """Why values are no rates a second: they are more than capacity and burst allow."""
    side = next((one for one in Direction if metrics.consumed(one) == series.key.metric), None)
    most = capacities[side] if side and series.key.index is None else None
    lasts_s = len(series.points) * series.key.period_s
    if not most or not lasts_s:
        return None
    mean = sum(value for _at, value in series.points) / len(series.points)
    if mean <= most * (1 + BURST_S / lasts_s):
        return None
    return f"{mean:,.0f} a second is more than the {most:,.0f} provisioned and burst allow"
