"""Series from outside: periods, statistics and units, and points where a series of CloudWatch has them."""

from collections.abc import Hashable, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from keyheat.checked import Mistakes
from keyheat.model import limits
from keyheat.runs import metrics
from keyheat.runs.formats import Series, Window

MOST: Final = 1e15  # more units, or throttles, than any table has in a day
NEARLY: Final = 0.85  # how much alike two names are, one of which is a typing mistake for the other
MOST_SERIES: Final = 10_000

Floats = npt.NDArray[np.float64]
Points = tuple[tuple[datetime, float], ...]


def sound_series(
    found: Sequence[Series], window: Window, known: set[str], mistakes: Mistakes
) -> tuple[Series, ...]:
    """The series with their points in order and each once; what is wrong with them goes to `mistakes`."""
    if len(found) > MOST_SERIES:
        mistakes.add(f"{len(found):,} series; at most {MOST_SERIES:,} are read", ".series")
        return ()
    places: dict[Hashable, int] = {}
    good = []
    for place, series in enumerate(found):
        where = f".series[{place}]"
        key = (series.metric, series.statistic, series.index, series.operation)
        if (earlier := places.setdefault(key, place)) != place:
            mistakes.add(f"the same series as $.series[{earlier}]: put their points together", where)
        _check_kind(series, known, where, mistakes)
        good.append(series.model_copy(update={"points": _points(series, window, where, mistakes)}))
    return tuple(good)


def _check_kind(series: Series, known: set[str], where: str, mistakes: Mistakes) -> None:
    """What a series is of, and in which terms."""
    if series.period_s % limits.MINUTE_S or series.period_s > metrics.LONGEST_PERIOD_S:
        message = f"a period is a multiple of 60 s, a day at most, got {series.period_s}"
        mistakes.add(message, f"{where}.period_s")
    if series.index is not None and series.operation is not None:
        mistakes.add("a series is of an index or of an operation, not of both", where)
    if series.index is not None and known and series.index not in known:
        has = ", ".join(sorted(known)[:10])
        mistakes.add(f"the table has no index {series.index[:255]!r}; it has {has[:500]}", f"{where}.index")
    read = metrics.READ.get(series.metric)
    if read is None:
        meant = _meant(series.metric)
        if meant is not None:
            mistakes.add(f"no metric {series.metric!r}; is it {meant}?", f"{where}.metric")
        return
    if series.statistic not in read and series.metric != metrics.LATENCY:
        wanted = " or ".join(sorted(read))
        mistakes.add(
            f"{series.metric} is read as {wanted}, got {series.statistic[:80]!r}", f"{where}.statistic"
        )
    unit = "Milliseconds" if series.metric == metrics.LATENCY else "Count"
    if series.unit is not None and {series.unit, "Count"} != {unit, "Count"}:
        mistakes.add(f"{series.metric} is in {unit}, got {series.unit[:80]!r}", f"{where}.unit")


@lru_cache(maxsize=1_000)
def _meant(name: str) -> str | None:
    """The metric that a name is nearly the name of. Other metrics of AWS are let be, and not looked at."""
    if name in metrics.NOT_READ or len(name) > 80:
        return None
    return next(iter(get_close_matches(name, metrics.READ, n=1, cutoff=NEARLY)), None)


def _points(series: Series, window: Window, where: str, mistakes: Mistakes) -> Points:
    """The points in order, each once: whole minutes, within the window, a period or more apart."""
    number = len(series.points)
    at = np.fromiter((moment.timestamp() for moment, _ in series.points), np.float64, number)
    values = np.fromiter((value for _, value in series.points), np.float64, number)

    def complain(wrong: Any, message: str) -> None:
        for place in np.flatnonzero(wrong).tolist():
            mistakes.add(
                message.format(at=_shown(at[place]), value=values[place]), f"{where}.points[{place}]"
            )

    first_s, end_s = window.start.timestamp(), window.end.timestamp()
    early_s = metrics.carried_s(series.period_s) if series.metric in metrics.SETTINGS else series.period_s - 1
    complain(at % limits.MINUTE_S != 0, "{at} is no whole minute")
    complain((at < first_s - early_s) | (at >= end_s), "{at} is outside the window")
    complain(values > MOST, "{value:g} is more than any table has")
    return _in_order(series, at, values, where, mistakes)


def _in_order(series: Series, at: Floats, values: Floats, where: str, mistakes: Mistakes) -> Points:
    order = np.argsort(at, kind="stable")
    apart_s = np.diff(at[order])
    again = apart_s == 0
    unequal = again & (np.diff(values[order]) != 0)
    close = ~again & (apart_s < series.period_s)
    for wrong in np.flatnonzero(unequal | close).tolist():
        before, place = int(order[wrong]), int(order[wrong + 1])
        if unequal[wrong]:
            message = f"{values[place]:g}, where points[{before}] says {values[before]:g} for the same time"
        else:
            message = f"{apart_s[wrong]:g} s after points[{before}], in a series of {series.period_s} s"
        mistakes.add(message, f"{where}.points[{place}]")
    kept = order if not len(order) else order[np.concatenate(([True], ~again))]
    if len(kept) == len(at) and bool(np.all(np.diff(kept) > 0)):
        return series.points
    return tuple(series.points[place] for place in kept.tolist())


def _shown(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%FT%TZ")
