"""Check evidence from outside for contradictions, and report all of them at once.

Types are already valid. Output of `collect` passes; damaged or handwritten files stop here.
"""

from collections.abc import Hashable, Iterator, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from keyheat import runfiles
from keyheat.model import limits
from keyheat.numbers import span
from keyheat.runfiles import MOST_ROWS, SHORTER, FileProblem
from keyheat.runs import metrics
from keyheat.runs.formats import Contributors, Evidence, SecondCount, Series, ThrottleCount, Window
from keyheat.runs.table_facts import TableFacts
from keyheat.validation import Mistakes, checked
from keyheat.words import Direction

MOST: Final = 1e15  # units or throttles; no table has more in a day
MOST_OF_KEY: Final = MOST / 2  # for one rule: accessed and throttled counts are added up
NEARLY: Final = 0.85  # similarity of a misspelt name
MOST_SERIES: Final = 10_000

Points = tuple[tuple[datetime, float], ...]


def _series(evidence: Evidence, indexes: set[str], mistakes: Mistakes) -> tuple[Series, ...]:
    """Sort the points of each series and drop repeated ones; errors go to `mistakes`."""
    if len(evidence.series) > MOST_SERIES:
        mistakes.add(f"{len(evidence.series):,} series; at most {MOST_SERIES:,} are read", ".series")
        return ()
    places: dict[Hashable, int] = {}
    good = []
    for number, series in enumerate(evidence.series):
        where = f".series[{number}]"
        key = (series.metric, series.statistic, series.index, series.operation, series.dimension)
        if (earlier := places.setdefault(key, number)) != number:
            mistakes.add(f"the same series as $.series[{earlier}]: put their points together", where)
        _check_index(series.index, indexes, f"{where}.index", mistakes)
        for field, message in _wrong_kind(series):
            mistakes.add(message, f"{where}{field}")
        points = _points(series, evidence.window, where, mistakes)
        good.append(series.model_copy(update={"points": points}))
    return tuple(good)


def _wrong_kind(series: Series) -> Iterator[tuple[str, str]]:
    """Yield fields of a series that contradict its metric, with reasons."""
    metric, read = series.metric, metrics.READ.get(series.metric)
    yield from _wrong_period(series.period_s)
    if series.index is not None and series.operation is not None:
        yield "", "a series is of an index or of an operation, not of both"
    if series.dimension is not None and not metrics.is_dimension(series.dimension):
        yield ".dimension", f"a dimension is written as Name=Value, got {series.dimension[:80]!r}"
    if read is None:
        if (meant := _meant(metric)) is not None:
            yield ".metric", f"no metric {metric!r}; is it {meant}?"
        return
    if series.statistic not in read and metric not in metrics.DURATIONS:
        accepted = " or ".join(sorted(read))
        yield ".statistic", f"{metric} is read as {accepted}, got {series.statistic[:80]!r}"
    unit = "Milliseconds" if metric in metrics.DURATIONS else "Count"
    if series.unit not in (None, unit):
        yield ".unit", f"{metric} is in {unit}, got {series.unit[:80]!r}"


def _wrong_period(period_s: int) -> Iterator[tuple[str, str]]:
    if period_s % limits.MINUTE_S or period_s > metrics.LONGEST_PERIOD_S:
        yield ".period_s", f"a period is a multiple of 60 s, a day at most, got {period_s}"


@lru_cache(maxsize=1_000)
def _meant(name: str) -> str | None:
    """The metric that a misspelt name means; other metrics of AWS are ignored."""
    if name in metrics.NOT_READ or len(name) > 80:
        return None
    return next(iter(get_close_matches(name, metrics.READ, n=1, cutoff=NEARLY)), None)


def _points(series: Series, window: Window, where: str, mistakes: Mistakes) -> Points:
    """Sort the points and drop repeated ones; check minutes, window and distances."""
    number, period_s = len(series.points), series.period_s
    at = np.fromiter((moment.timestamp() for moment, _ in series.points), np.float64, number)
    values = np.fromiter((value for _, value in series.points), np.float64, number)
    order = np.argsort(at, kind="stable")
    apart_s = np.diff(at[order])
    again = apart_s == 0
    unequal = again & (np.diff(values[order]) != 0)
    first_s, end_s = window.start.timestamp(), window.end.timestamp()
    early_s = metrics.carried_s(period_s) if series.metric in metrics.SETTINGS else period_s - 1
    for wrong, message in (
        (at % limits.MINUTE_S != 0, "{at:%FT%TZ} is not a whole minute"),
        ((at < first_s - early_s) | (at >= end_s), "{at:%FT%TZ} is outside the window"),
        (values > MOST, "{value:g} is more than any table has"),
    ):
        for index in np.flatnonzero(wrong).tolist():
            moment, value = series.points[index]
            mistakes.add(message.format(at=moment, value=value), f"{where}.points[{index}]")
    for wrong in np.flatnonzero(unequal | (~again & (apart_s < period_s))).tolist():
        before, index = int(order[wrong]), int(order[wrong + 1])
        message = f"{apart_s[wrong]:g} s after points[{before}], in a series of {period_s} s"
        if unequal[wrong]:
            message = f"{values[index]:g}, where points[{before}] says {values[before]:g} for the same time"
        mistakes.add(message, f"{where}.points[{index}]")
    kept = order[np.concatenate(([True], ~again))].tolist() if number else []
    return series.points if kept == list(range(number)) else tuple(series.points[i] for i in kept)


KEPT: Final = timedelta(days=455)
"""CloudWatch's longest retention:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html"""
CLOCKS: Final = timedelta(minutes=10)  # most difference between clocks of load generators
MOST_INDEXES: Final = 1_000  # of a table; DynamoDB's quota is 20, and can be raised
EARLIEST_YEAR: Final = 2012  # the year in which DynamoDB began
LATEST_YEAR: Final = 2200

Row = TypeVar("Row", ThrottleCount, SecondCount)


def read_evidence(path: Path) -> Evidence:
    """Read evidence from a file. Raises `FileProblem` with every mistake."""
    content = runfiles.parsed_json(path)
    if isinstance(content, dict) and "MetricDataResults" in content:
        raise FileProblem(
            f"{path} is what `aws cloudwatch get-metric-data` printed, and not evidence yet: make it with "
            f"`keyheat collect --table T --start A --end B --metrics {path}`"
        )
    fields = content if isinstance(content, dict) else {}
    runfiles.check_format(path, fields.get("format"), runfiles.EVIDENCE)
    evidence = checked(path, Evidence, fields)
    try:
        return sound(evidence)
    except ValueError as error:
        raise FileProblem(f"{path}: {error}") from error


def sound(evidence: Evidence) -> Evidence:
    """Sort the points and drop repeated ones. Raises `ValueError` with every contradiction."""
    mistakes = Mistakes()
    _check_window(evidence.window, mistakes)
    _check_size(evidence, mistakes)
    _check_table(evidence.table, mistakes)
    if mistakes:  # further checks depend on a valid window
        raise ValueError(str(mistakes))
    indexes = {index.name for index in evidence.table.indexes}
    series = _series(evidence, indexes, mistakes)
    _check_rows("throttles", evidence.throttles, evidence.window, indexes, mistakes)
    _check_rows("seconds", evidence.seconds, evidence.window, indexes, mistakes)
    for number, rule in enumerate(evidence.contributors or ()):
        _check_contributors(rule, indexes, f".contributors[{number}]", mistakes)
    if mistakes:
        raise ValueError(str(mistakes))
    return evidence.model_copy(update={"series": series})


def within(rows: tuple[Row, ...] | None, window: Window) -> tuple[Row, ...] | None:
    """The client's rows in a window, with the tolerance of `sound`."""
    if rows is None:
        return None
    first, end = window.start - CLOCKS, window.end + CLOCKS
    return tuple(row for row in rows if first <= row.second < end)


def _check_index(index: str | None, indexes: set[str], where: str, mistakes: Mistakes) -> None:
    """Check that a named index exists, if the indexes are known."""
    if index is not None and indexes and index not in indexes:
        has = ", ".join(sorted(indexes)[:10])
        mistakes.add(f"the table has no index {index[:255]!r}; it has {has[:500]}", where)


def _check_contributors(rule: Contributors, indexes: set[str], where: str, mistakes: Mistakes) -> None:
    """Check the period and the counts of a Contributor Insights rule."""
    _check_index(rule.index, indexes, f"{where}.index", mistakes)
    for field, message in _wrong_period(rule.period_s):
        mistakes.add(message, f"{where}{field}")
    counted = [max(key.value, sum(value for _at, value in key.points)) for key in rule.keys]
    for count, most, field in (
        (rule.total, MOST, ".total"),
        *((count, MOST_OF_KEY, f".keys[{number}]") for number, count in enumerate(counted)),
    ):
        if count > most:
            mistakes.add(f"{count:g} is more than any table has", f"{where}{field}")


def _check_window(window: Window, mistakes: Mistakes) -> None:
    if not EARLIEST_YEAR <= window.start.year <= window.end.year <= LATEST_YEAR:
        mistakes.add(f"the window lies outside the years {EARLIEST_YEAR} to {LATEST_YEAR}", ".window")
    elif window.end - window.start > KEPT:
        length = span((window.end - window.start).total_seconds())
        mistakes.add(
            f"the window is {length} long; CloudWatch keeps {KEPT.days} days: take a shorter one", ".window"
        )


def _check_size(evidence: Evidence, mistakes: Mistakes) -> None:
    """Check that written evidence can be read again."""
    rows = sum(len(series.points) for series in evidence.series)
    rows += len(evidence.throttles or ()) + len(evidence.seconds or ())
    if rows > MOST_ROWS:
        mistakes.add(f"{rows:,} rows are too many: {SHORTER}", "")
    parts = (evidence.series, evidence.throttles, evidence.seconds, evidence.contributors)
    names = {row.index for rows_of in parts for row in rows_of or () if row.index is not None}
    names |= {index.name for index in evidence.table.indexes}
    if len(names) > MOST_INDEXES:
        mistakes.add(f"{len(names):,} indexes are too many: at most {MOST_INDEXES:,} are read", "")


def _check_table(table: TableFacts, mistakes: Mistakes) -> None:
    seen: set[str] = set()
    for number, index in enumerate(table.indexes):
        if index.name in seen:
            mistakes.add(f"index {index.name[:255]!r} is there twice", f".table.indexes[{number}]")
        seen.add(index.name)
    if table.billing_mode != "PROVISIONED":
        return
    owners = [("", table.provisioned)]
    owners += [(f".indexes[{number}]", index.provisioned) for number, index in enumerate(table.indexes)]
    for owner, pair in owners:
        for side in Direction:
            if (units := pair.of(side) if pair else None) is not None and units < 1:
                message = f"a provisioned table has 1 unit/s or more, got {units:g}; leave out the unknown"
                mistakes.add(message, f".table{owner}.provisioned.{side}")


def _check_rows(
    name: str, rows: Sequence[Row] | None, window: Window, indexes: set[str], mistakes: Mistakes
) -> None:
    """Check the client's rows: window, whole seconds, known index, plausible counts, no second twice."""
    first, last = window.start - CLOCKS, window.end + CLOCKS
    places: dict[Hashable, int] = {}
    for number, row in enumerate(rows or ()):
        where = f".{name}[{number}]"
        if not first <= row.second < last:
            mistakes.add(f"{row.second:%FT%TZ} is outside the window by more than 10 min", f"{where}.second")
        if row.second.microsecond:
            mistakes.add("is not a whole second; aggregate by second", f"{where}.second")
        _check_index(row.index, indexes, f"{where}.index", mistakes)
        if isinstance(row, SecondCount):
            if row.throttled > row.attempts:
                mistakes.add(f"{row.throttled:,} throttled of {row.attempts:,} attempts", where)
            if (earlier := places.setdefault((row.second, row.index, row.direction), number)) != number:
                mistakes.add(f"is the same second as $.{name}[{earlier}]: put them together", where)
        counts = (row.attempts, row.consumed) if isinstance(row, SecondCount) else (row.count,)
        if max(counts) > MOST:
            mistakes.add("is more than a table can do in a second", where)
