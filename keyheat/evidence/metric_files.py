"""Metrics that people have already: answers of the AWS CLI to their own questions, and CSV of any system.

Each file becomes an answer of GetMetricData whose labels name the series, which one reader then checks.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final

from keyheat.evidence.log_records import time_of
from keyheat.evidence.metric_sources import cells_of, content_of, is_request, is_time, request_of
from keyheat.evidence.metric_units import FileSeries, in_sums, is_rate, with_periods
from keyheat.runs import metrics
from keyheat.runs.formats import TableFacts, Window
from keyheat.runs.metrics import SeriesKey

STATISTICS: Final = ("SampleCount", "Average", "Sum", "Minimum", "Maximum")
_ARN: Final = re.compile(r"arn:aws[\w-]*:dynamodb:[^:]*:[^:]*:table/")
_FILLING: Final = re.compile(
    r"(?i)AWS/DynamoDB|TableName|GlobalSecondaryIndexName|Operation(?=[=: ])|\bindex=|\btable\b|"
    r"Count(/Second)?|per[ _-]?second|\b\d[\dTZ]*\b|[\s,;:=|()\[\]{}\"'/.•-]+"
)


@dataclass(frozen=True, slots=True)
class MetricFiles:
    """What the files hold: the table's series, and what of them is not read, or read by inference."""

    series: tuple[FileSeries, ...]
    notes: tuple[str, ...]
    pages: tuple[object, ...] = ()  # answers to our own queries, as they are

    @property
    def window(self) -> Window | None:
        """From the first point to the end of the last period; None without a point."""
        of_files = [(series.key, [at for at, _value in series.points]) for series in self.series]
        every = [*of_files, *(found for page in self.pages for found in _times_in(page))]
        happened = [found for found in every if found[0].metric not in metrics.SETTINGS] or every
        starts = [(at, key.period_s) for key, times in happened for at in times]
        if not starts:
            return None
        end = max(at + timedelta(seconds=period_s) for at, period_s in starts)
        return Window(start=min(at for at, _period_s in starts), end=end)

    def answers(self) -> list[object]:
        """The files as pages of GetMetricData."""
        results = [
            {
                "Label": series.key.label,
                "Timestamps": [at for at, _value in series.points],
                "Values": [value for _at, value in series.points],
            }
            for series in self.series
        ]
        return [*self.pages, {"MetricDataResults": results}] if results else list(self.pages)


@dataclass(slots=True)
class MetricReader:
    """Reads metrics of one table. `zone` is that of times without one; `named` says which series files hold,
    by their names, as labels: `WriteThrottleEvents/Sum/60/index=by_status`.
    """

    table: TableFacts
    zone: tzinfo | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    _others: dict[str, int] = field(default_factory=dict)  # series of other tables by name

    def read(self, paths: Sequence[Path]) -> MetricFiles:
        """The series in the files. Raises `ValueError` where a file cannot be what it is given as."""
        contents = {path: content_of(path) for path in paths}
        requests = {path: content for path, content in contents.items() if is_request(content)}
        found: list[FileSeries] = []
        pages: list[object] = []
        for path, content in contents.items():
            if path in requests:
                continue
            if isinstance(content, list) and content and isinstance(content[0], list):
                found += self._of_csv(path, content)
            elif isinstance(content, Mapping) and "Datapoints" in content:
                found += self._of_statistics(path, content, request_of(path, requests))
            elif (request := request_of(path, requests)) is not None and isinstance(content, Mapping):
                pages.append(self._of_data(path, content, request))
            else:
                pages.append(content)
        return self._together(found, pages)

    def _together(self, found: list[FileSeries], pages: list[object]) -> MetricFiles:
        read = _merged(series for series in found if self._is_read(series))
        if found and not read and not pages:
            raise ValueError("; ".join(self.notes))
        self.notes |= dict.fromkeys((*with_periods(read), *in_sums(read)))
        others = ", ".join(f"{name} ({count:,})" for name, count in list(self._others.items())[:10])
        if others and not read and not pages:
            raise ValueError(f"the metrics are of {others}, and none of {self.table.name}")
        if others:
            self.notes[f"metrics of other tables, by their number of series: {others}"] = None
        return MetricFiles(tuple(read), tuple(self.notes), tuple(pages))

    def _is_read(self, series: FileSeries) -> bool:
        wanted = metrics.READ.get(series.key.metric)
        if wanted is None or series.key.statistic in wanted:
            return wanted is not None
        statistics = " or ".join(sorted(wanted))
        why = f"{series.where}: {series.key.metric} is read as {statistics}, not as {series.key.statistic}"
        if series.key.statistic == "Average" and wanted == {"Sum"}:
            why += ": CloudWatch's average is one of each request or event, and not of a second"
        self.notes[why] = None
        return False

    def _of_data(self, path: Path, page: Mapping[str, Any], request: Any) -> object:
        """An answer of GetMetricData to somebody's own queries, as if ours had been sent."""
        queries = request.get("MetricDataQueries") if isinstance(request, Mapping) else request
        asked = {query.get("Id"): query for query in queries or () if isinstance(query, Mapping)}
        results = page.get("MetricDataResults")
        if not isinstance(results, list):
            return page  # which its reader refuses
        labelled = []
        for number, result in enumerate(results):
            where = f"{path}, MetricDataResults[{number}]"
            query = asked.get(result.get("Id")) if isinstance(result, Mapping) else None
            if query is None:
                raise ValueError(f"{where} has an id that no query of the request has")
            key = self._queried(query, where)
            if key is not None and self._is_read(FileSeries(where, key)):
                labelled.append({**result, "Label": key.label})
        return {**page, "MetricDataResults": labelled}

    def _queried(self, query: Mapping[str, Any], where: str) -> SeriesKey | None:
        """The series of a query; None for an expression, or another table's."""
        stat = query.get("MetricStat")
        if not isinstance(stat, Mapping):
            self.notes[f"{where}: {str(query.get('Expression'))[:80]} is an expression, not a metric"] = None
            return None
        metric = stat.get("Metric") or {}
        return self._key(
            metric.get("MetricName"), stat.get("Stat"), stat.get("Period"), metric.get("Dimensions")
        )

    def _of_statistics(self, path: Path, page: Mapping[str, Any], request: Any) -> Iterator[FileSeries]:
        """An answer of GetMetricStatistics: its label is the metric, and its points name statistics."""
        points = [point for point in page["Datapoints"] if isinstance(point, Mapping)]
        label = str(page.get("Label") or "")
        if isinstance(request, Mapping):
            key = self._key(
                request.get("MetricName"), "Sum", request.get("Period"), request.get("Dimensions")
            )
        else:
            key = self._named(path, label)
        if key is None:
            return
        for statistic in STATISTICS:
            with_it = [point for point in points if statistic in point]
            if not with_it and not (statistic in self._statistics(request, key) and not points):
                continue
            series = FileSeries(str(path), replace(key, statistic=statistic), unit=None)
            series.points = [
                (self._time(one.get("Timestamp"), str(path)), _number(one[statistic], str(path)))
                for one in with_it
            ]
            if any(is_rate(str(one.get("Unit", ""))) for one in with_it):
                series.unit = str(with_it[0]["Unit"])
            yield series

    def _statistics(self, request: Any, key: SeriesKey) -> Sequence[str]:
        """The statistics that were asked for, where no point names one: an empty series was measured, too."""
        asked = request.get("Statistics") if isinstance(request, Mapping) else None
        return asked if isinstance(asked, list) else (key.statistic,)

    def _of_csv(self, path: Path, rows: list[list[str]]) -> Iterator[FileSeries]:
        first = next((number for number, row in enumerate(rows) if any(is_time(cell) for cell in row)), None)
        if first is None:
            raise ValueError(f"{path}: no cell is a time such as 2026-11-20T12:00:00Z")
        found: dict[tuple[str, ...], FileSeries | None] = {}
        for row in cells_of(rows[:first], rows[first:]):
            where = f"{path}, {row.get('metric') or 'value'} at {row.get('time')}"
            kind = tuple(row.get(name, "") for name in ("metric", "resource", "statistic", "period", "unit"))
            if kind not in found:
                found[kind] = self._of_row(path, row, where)
            series = found[kind]
            if series is not None and row.get("value"):
                series.points.append((self._time(row.get("time"), where), _number(row["value"], where)))
        yield from (series for series in found.values() if series is not None)

    def _of_row(self, path: Path, row: Mapping[str, str], where: str) -> FileSeries | None:
        base = self._named(path, row.get("metric", "") or path.stem)
        owner = self._owner(row.get("resource", ""))
        if owner is None:
            name = row["resource"][:255]
            self._others[name] = self._others.get(name, 0) + 1
            return None
        statistic = row.get("statistic", "").capitalize().replace("count", "Count")
        rate = statistic if is_rate(statistic) else ""
        key = replace(
            base,
            statistic=base.statistic if rate or not statistic else statistic,
            period_s=int(float(row.get("period") or base.period_s)),
            **({} if base.index or base.operation else owner),
        )
        return FileSeries(where, key, unit=rate or row.get("unit", "") or _rate_in(row.get("metric", "")))

    def _owner(self, resource: str) -> dict[str, Any] | None:
        """Index or operation by what a cell calls it; None for another table."""
        name = _ARN.sub("", resource).removeprefix(f"{self.table.name}/index/")
        kind, _, rest = name.partition("=")
        if kind == "index" or name != _ARN.sub("", resource) or name in self._indexes:
            return {"index": rest or name}
        if kind == "operation" or name in metrics.OPERATIONS:
            return {"operation": rest or name}
        return {} if name in ("", "table", self.table.name) else None

    def _named(self, path: Path, text: str, where: str = "") -> SeriesKey:
        """The series that --metric says, or that a text and the file's name are the names of."""
        where = where or str(path)
        if (label := self.named.get(path.name) or self.named.get(str(path))) is not None:
            return _labelled(label)
        key = self._in_text(text, where) or self._in_text(path.stem, where)
        if key is None:
            raise ValueError(
                f"{where}: no metric of DynamoDB is named in {text[:80]!r}; say which it is, such as "
                f"--metric {path.name}=ConsumedWriteCapacityUnits/Sum/60/table"
            )
        if key.index or key.operation:
            return key
        other = self._in_text(path.stem, where)  # which refuses what it does not know
        return replace(key, **(_whose(other) if other else self._owner_in(path.stem)))

    def _in_text(self, text: str, where: str) -> SeriesKey | None:
        metric = max((name for name in metrics.READ if name.lower() in text.lower()), key=len, default=None)
        if metric is None:
            return None
        rest = re.sub(re.escape(metric), " ", text, flags=re.IGNORECASE)
        statistic = next(
            (one for one in STATISTICS if re.search(rf"(?<![A-Za-z]){one}(?![A-Za-z])", rest, re.IGNORECASE)),
            None,
        )
        for name in (*STATISTICS, self.table.name):
            rest = re.sub(
                rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", " ", rest, flags=re.IGNORECASE
            )
        owner = self._owner_in(rest)
        for name in owner.values():
            rest = rest.replace(name, " ")
        if (left := _FILLING.sub("", rest).strip("_")) and not owner:
            raise ValueError(
                f"{where}: whether {left[:80]!r} is an index of {self.table.name} is not known; say --index "
                f"{left[:80]} if it is, else which series it is with --metric"
            )
        wanted = sorted(metrics.READ[metric])
        return SeriesKey(metric=metric, statistic=statistic or wanted[0], period_s=0, **owner)

    def _owner_in(self, text: str) -> dict[str, str]:
        """The index or the operation that a text names, of those that are there."""
        for kind, names in (("index", self._indexes), ("operation", metrics.OPERATIONS)):
            if (name := next((name for name in names if name in text), None)) is not None:
                return {kind: name}
        return {}

    @property
    def _indexes(self) -> tuple[str, ...]:
        return tuple(index.name for index in self.table.indexes)

    def _key(self, metric: Any, statistic: Any, period: Any, dimensions: Any) -> SeriesKey | None:
        """The series of a request; None for one of another table."""
        named = {
            str(one.get("Name")): str(one.get("Value"))
            for one in dimensions or ()
            if isinstance(one, Mapping)
        }
        table = named.pop("TableName", None)
        if table != self.table.name:
            self._others[table or "no table"] = self._others.get(table or "no table", 0) + 1
            return None
        index, operation = named.pop("GlobalSecondaryIndexName", None), named.pop("Operation", None)
        further = next((f"{name}={value}" for name, value in named.items()), None)
        return SeriesKey(
            metric=str(metric), statistic=str(statistic), period_s=int(period or 0), index=index,
            operation=operation, dimension=further,
        )  # fmt: skip

    def _time(self, value: object, where: str) -> datetime:
        moment, zoned = time_of(value, self.zone)
        if moment is None and not zoned:
            raise ValueError(f"{where}: time {str(value)[:40]} has no zone; say it, such as --zone UTC")
        if moment is None:
            raise ValueError(f"{where}: {str(value)[:40]!r} is no time such as 2026-11-20T12:00:00Z")
        return moment


def _times_in(page: object) -> Iterator[tuple[SeriesKey, list[datetime]]]:
    """The series of an answer of GetMetricData, with their times; its reader refuses what is none."""
    results = page.get("MetricDataResults") if isinstance(page, Mapping) else None
    for result in results if isinstance(results, list) else ():
        key = SeriesKey.of_label(str(result.get("Label"))) if isinstance(result, Mapping) else None
        times = result.get("Timestamps") if key else None
        if key and isinstance(times, list):
            yield key, [at for value in times if (at := time_of(value, UTC)[0]) is not None]


def _merged(found: Iterable[FileSeries]) -> list[FileSeries]:
    """Series of several files put together: one for each key and unit."""
    by_key: dict[tuple[SeriesKey, str | None], FileSeries] = {}
    for series in found:
        of_key = by_key.setdefault((series.key, series.unit), replace(series, points=[]))
        of_key.points.extend(series.points)
    return list(by_key.values())


def _whose(key: SeriesKey) -> dict[str, str | None]:
    return {"index": key.index, "operation": key.operation}


def _labelled(label: str) -> SeriesKey:
    """A series by its label, of which all but the metric may be left out."""
    metric, *rest = label.split("/")
    wanted = metrics.READ.get(metric)
    if wanted is None:
        raise ValueError(f"--metric: {metric[:80]!r} is no metric of DynamoDB that is read")
    whose = rest.pop() if rest and (rest[-1] == "table" or "=" in rest[-1]) else "table"
    statistic = rest[0] if rest else sorted(wanted)[0]
    key = SeriesKey.of_label(f"{metric}/{statistic}/{rest[1] if len(rest) > 1 else 60}/{whose}")
    if key is None:
        raise ValueError(
            f"--metric: {label[:120]!r} is not such as WriteThrottleEvents/Sum/60/index=by_status"
        )
    return key if len(rest) > 1 else replace(key, period_s=0)


def _number(value: object, where: str) -> float:
    try:
        return float(value.replace("\u00a0", "").replace(" ", "") if isinstance(value, str) else str(value))
    except ValueError:
        raise ValueError(f"{where}: {str(value)[:40]!r} is no number") from None


def _rate_in(text: str) -> str:
    """The unit that a name states, where it is a rate."""
    return "Count/Second" if is_rate(text) else ""
