"""Read existing metrics: AWS CLI output for any request, and CSV of any monitoring system.

Each file becomes a page of GetMetricData whose labels name the series; `answer_of` checks them all.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Any, Final, TypeVar

from keyheat.evidence.series import (
    FileSeries,
    MetricAnswer,
    NoZone,
    answer_of,
    convert_to_sums,
    infer_periods,
    is_rate,
    parse_time,
)
from keyheat.inputs import unmarked
from keyheat.runfiles import FileProblem, bytes_of, parsed_json
from keyheat.runs import metrics
from keyheat.runs.metrics import SeriesKey, split_label
from keyheat.runs.table_facts import TableFacts
from keyheat.validation import listed

Read = TypeVar("Read")
STATISTICS: Final = ("SampleCount", "Average", "Sum", "Minimum", "Maximum")
MOST_CSV_BYTES: Final = 64 << 20
COLUMNS: Final[Mapping[str, str]] = {
    "time": "time", "timestamp": "time", "date": "time", "datetime": "time", "metric": "metric",
    "metric_name": "metric", "metricname": "metric", "name": "metric", "resource": "resource",
    "index": "resource", "value": "value", "statistic": "statistic", "stat": "statistic", "unit": "unit",
    "period": "period", "period_s": "period",
}  # fmt: skip
UNUSED: Final = (
    "id", "account", "account id", "account label", "region", "namespace", "period", "unit", "color",
)  # fmt: skip
"""Header lines of a CSV that do not name a column's series."""
_ARN: Final = re.compile(r"arn:aws[\w-]*:dynamodb:[^:]*:[^:]*:table/")
_FILLING: Final = re.compile(
    r"(?i)AWS/DynamoDB|TableName|GlobalSecondaryIndexName|Operation(?=[=: ])|\bindex=|\btable\b|"
    r"Count(/Second)?|per[ _-]?second|\b\d[\dTZ]*\b|[\s,;:=|()\[\]{}\"'/.•-]+"
)
"""Text that may surround the names of a metric, a statistic and their owner."""


@dataclass(slots=True)
class MetricReader:
    """Reads metrics of one table. `zone` applies to times without one; `named` maps file names to series
    labels, such as `WriteThrottleEvents/Sum/60/index=by_status`.
    """

    table: TableFacts
    zone: tzinfo | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    _notes: dict[str, None] = field(default_factory=dict)
    _others: Counter[str] = field(default_factory=Counter)  # series of other tables by name

    def read(self, paths: Sequence[Path]) -> MetricAnswer:
        """Read the series in the files. Raises `ValueError` if a file does not match its format."""
        contents = {path: _content_of(path) for path in paths}
        requests = {path: content for path, content in contents.items() if _is_request(content)}
        if contents and requests.keys() == contents.keys():
            files = ", ".join(map(str, requests))
            raise ValueError(f"{files}: a request for metrics without its answer; add the answer's file")
        all_series, pages = list[FileSeries](), dict[Path, object]()
        for path, content in contents.items():
            match content:
                case _ if path in requests:
                    continue
                case [[*_], *_] as rows:
                    all_series += self._of_csv(path, rows)
                case {"Datapoints": [*points], **rest}:
                    request = _request_of(path, requests)
                    all_series += self._of_statistics(path, points, str(rest.get("Label") or ""), request)
                case {"MetricDataResults": list(results)}:
                    request = content if "MetricDataQueries" in content else _request_of(path, requests)
                    of_own = self._of_own_labels(path, results)
                    kept = list(self._of_request(path, results, request) if request else of_own)
                    if kept or request or not results:
                        pages[path] = {**content, "MetricDataResults": kept}
                case {"Table": {"TableName": _}} | {"TableName": _, "KeySchema": _}:
                    raise ValueError(f"{path} describes a table, and has no metrics; use --describe-json")
                case _:
                    raise ValueError(
                        f"{path} has no list of MetricDataResults: it is no output of `aws cloudwatch "
                        "get-metric-data`, and no CSV"
                    )
        return self._merge_files(all_series, pages)

    def _merge_files(self, all_series: Iterable[FileSeries], pages: dict[Path, object]) -> MetricAnswer:
        """Merge all files, with periods and sums. Raises `ValueError` if none is about the table."""
        merged: dict[tuple[SeriesKey, str | None], FileSeries] = {}
        for series in (each for each in all_series if self._is_read(each.key, each.where)):
            same = merged.setdefault((series.key, series.unit), replace(series, points=[]))
            same.points.extend(series.points)
        read = list(merged.values())
        others = ", ".join(f"{name} ({count:,})" for name, count in self._others.most_common(10))
        if not read and not pages:
            of_others = f"the metrics are of {others}, not of {self.table.name}"
            raise ValueError(of_others if others else "; ".join(self._notes))
        self._notes |= dict.fromkeys((*infer_periods(read), *convert_to_sums(read)))
        if others:
            self._notes[f"metrics of other tables, by their number of series: {others}"] = None
        results = []
        for series in read:
            times, values = zip(*series.points, strict=True) if series.points else ((), ())
            results.append({"Label": series.key.label, "Timestamps": [*times], "Values": [*values]})
        of_rows = [{"MetricDataResults": results}] if results else []
        try:
            answer = answer_of([*pages.values(), *of_rows], self.zone)
        except ValueError as error:
            raise ValueError(f"{', '.join(map(str, pages)) or 'metrics'}: {error}") from error
        return replace(answer, problems=(*self._notes, *answer.problems))

    def _is_read(self, key: SeriesKey, where: str) -> bool:
        """Whether a series is used; notes a statistic that is useless."""
        statistics = metrics.READ.get(key.metric, frozenset())
        if statistics and key.statistic not in statistics:
            accepted = " or ".join(sorted(statistics))
            note = f"{where}: {key.metric} is read as {accepted}, not as {key.statistic}"
            if key.statistic == "Average" and statistics == {"Sum"}:
                note += ": CloudWatch averages over requests or events, not over seconds"
            self._notes[note] = None
        return key.statistic in statistics

    def _of_own_labels(self, path: Path, results: Sequence[Any]) -> Iterator[Any]:
        """Keep the series of this table in a GetMetricData response whose labels are ours.

        Raises `ValueError` if no label is: only the request tells what such an answer is about.
        """
        labels = [str(result.get("Label")) for result in results if isinstance(result, Mapping)]
        if labels and not any(SeriesKey.of_label(split_label(label)[1]) for label in labels):
            raise ValueError(
                f"{path}: the label {labels[0][:80]!r} does not say of which table it is; keep the request "
                f"beside this answer as {path.stem}-request.json, or add it with --metrics"
            )
        for result in results:
            label = result.get("Label") if isinstance(result, Mapping) else None
            table, key = split_label(label) if isinstance(label, str) else (None, "")
            if table not in (None, self.table.name):
                self._others[table] += 1
                continue
            if table is None and SeriesKey.of_label(key):
                self._notes[f"metrics whose labels name no table are read as of {self.table.name}"] = None
            yield result

    def _of_request(self, path: Path, results: Sequence[Any], request: Any) -> Iterator[Any]:
        """Label a GetMetricData response to custom queries as if the queries were ours."""
        queries = request.get("MetricDataQueries") if isinstance(request, Mapping) else request
        by_id = {query.get("Id"): query for query in queries or () if isinstance(query, Mapping)}
        for number, result in enumerate(results):
            where = f"{path}, MetricDataResults[{number}]"
            query = by_id.get(result.get("Id")) if isinstance(result, Mapping) else None
            if query is None:
                raise ValueError(f"{where} has an id without a query in the request")
            stat = query.get("MetricStat")
            if not isinstance(stat, Mapping):
                expression = str(query.get("Expression"))[:80]
                self._notes[f"{where}: {expression} is an expression, not a metric"] = None
                continue
            key = self._requested(stat.get("Metric") or {}, stat.get("Stat"), stat.get("Period"))
            if key is not None and self._is_read(key, where):
                yield {**result, "Label": key.label}

    def _of_statistics(self, path: Path, points: list[Any], label: str, request: Any) -> Iterator[FileSeries]:
        """Read a GetMetricStatistics response: its label is the metric, its points name the statistics.

        Without points, the requested statistics count as measured: the series is empty.
        """
        stated = isinstance(request, Mapping) and bool(request)
        key = self._requested(request, "Sum", request.get("Period")) if stated else self._named(path, label)
        if key is None:
            return
        empty = () if points else (request.get("Statistics") if stated else None) or (key.statistic,)
        for statistic in STATISTICS:
            with_it = [point for point in points if isinstance(point, Mapping) and statistic in point]
            if with_it or statistic in empty:
                rate = next((unit for point in with_it if is_rate(unit := str(point.get("Unit")))), None)
                read = [
                    (self._time(point.get("Timestamp"), str(path)), _quantity(point[statistic], str(path)))
                    for point in with_it
                ]
                yield FileSeries(str(path), replace(key, statistic=statistic), read, unit=rate)

    def _of_csv(self, path: Path, rows: list[list[str]]) -> Iterable[FileSeries]:
        first = next((number for number, row in enumerate(rows) if any(map(_is_time, row))), None)
        if first is None:
            raise ValueError(f"{path}: no cell is a time such as 2026-11-20T12:00:00Z")
        by_kind: dict[tuple[str, ...], FileSeries | None] = {}
        mistakes: dict[str, str] = {}  # a missing zone once: it is missing from every time
        for row in _cells_of(rows[:first], rows[first:]):
            where = f"{path}, {row.get('metric') or 'value'} at {row.get('time')}"
            kind = tuple(row.get(name, "") for name in ("metric", "resource", "statistic", "period", "unit"))
            if kind not in by_kind:
                by_kind[kind] = _tried(mistakes, self._of_row, path, row, where)
            series = by_kind[kind]
            if series is None or not row.get("value"):
                continue
            moment = _tried(mistakes, self._time, row.get("time"), where)
            value = _tried(mistakes, _quantity, row["value"], where)
            if moment is not None and value is not None:
                series.points.append((moment, value))
        if mistakes:
            lines = list(mistakes.values())
            raise ValueError(lines[0] if len(lines) == 1 else listed(lines))
        return filter(None, by_kind.values())

    def _of_row(self, path: Path, row: Mapping[str, str], where: str) -> FileSeries | None:
        """The series of a row, without points yet; None for another table's."""
        key = self._named(path, row.get("metric", "") or path.stem)
        owner = self._owner(row.get("resource", ""))
        if owner is None:
            self._others[row["resource"][:255]] += 1
            return None
        statistic = row.get("statistic", "").capitalize().replace("count", "Count")
        units = (statistic, row.get("unit", ""), row.get("metric", ""))
        rate = next(("Count/Second" for unit in units if is_rate(unit)), "")
        key = replace(
            key,
            statistic=key.statistic if is_rate(statistic) or not statistic else statistic,
            period_s=int(float(row.get("period") or key.period_s)),
            **({} if key.index or key.operation else owner),
        )
        return FileSeries(where, key, unit=rate or row.get("unit", ""))

    def _owner(self, resource: str) -> dict[str, Any] | None:
        """Index or operation from the name in a cell; None for another table."""
        name = _ARN.sub("", resource)
        kind, _, rest = name.removeprefix(f"{self.table.name}/").replace("/", "=").partition("=")
        if kind in ("index", "operation") and rest:
            return {kind: rest}
        if name in ("", "table", self.table.name):
            return {}
        owner = self._owner_in(name)
        return owner if name in owner.values() else None

    def _named(self, path: Path, text: str) -> SeriesKey:
        """The series given by --metric, else the one named by a text or the file name."""
        if (label := self.named.get(path.name) or self.named.get(str(path))) is not None:
            key = SeriesKey.of_label(label)
            if key is None or key.metric not in metrics.READ:
                example = "WriteThrottleEvents/Sum/60/index=by_status"
                raise ValueError(f"--metric: {label[:120]!r} is not a label such as {example}")
            return key
        metric = _metric_in(text) or _metric_in(path.stem)
        if metric is None:
            near = get_close_matches(text, metrics.READ, n=1)
            hint = f"did you mean {near[0]}? Otherwise name" if near else "name"
            example = near[0] if near else "ConsumedWriteCapacityUnits"
            raise ValueError(
                f"{path}: no metric of DynamoDB in {text[:80]!r}; {hint} the series, such as "
                f"--metric {path.name}={example}/Sum/60/table"
            )
        words = f"{text} {path.stem}" if _metric_in(path.stem) else text
        owner = self._owner_in(text) or self._owner_in(path.stem)
        statistic = next((name for name in STATISTICS if _word(name).search(words)), None)
        rest = words
        for name in (*metrics.READ, *STATISTICS, self.table.name, *owner.values()):
            rest = _word(name).sub(" ", rest)
        statistic = statistic or min(metrics.READ[metric])
        if not owner and (unknown := _FILLING.sub(" ", rest).strip(" _")):
            raise ValueError(
                f"{path}: unknown name {unknown[:80]!r}; if it is of table {self.table.name}, add --metric "
                f"{path.name}={metric}/{statistic}/60/table, if of an index of it, --index {unknown[:80]}"
            )
        return SeriesKey(metric=metric, statistic=statistic, period_s=0, **owner)

    def _owner_in(self, text: str) -> dict[str, Any]:
        """The index or operation of the table that a text names."""
        indexes = [index.name for index in self.table.indexes]
        for kind, names in (("index", indexes), ("operation", metrics.OPERATIONS)):
            if named := [name for name in names if name in text]:
                return {kind: text if text in named else named[0]}
        return {}

    def _requested(self, metric: Mapping[str, Any], statistic: Any, period: Any) -> SeriesKey | None:
        """The series that a request names; None for another table's."""
        dimensions = (each for each in metric.get("Dimensions") or () if isinstance(each, Mapping))
        owners = {str(dimension.get("Name")): str(dimension.get("Value")) for dimension in dimensions}
        table = owners.pop("TableName", "no table")
        if table != self.table.name:
            self._others[table] += 1
            return None
        index, operation = owners.pop("GlobalSecondaryIndexName", None), owners.pop("Operation", None)
        further = next((f"{name}={value}" for name, value in owners.items()), None)
        return SeriesKey(
            metric=str(metric.get("MetricName")), statistic=str(statistic), period_s=int(period or 0),
            index=index, operation=operation, dimension=further,
        )  # fmt: skip

    def _time(self, time: object, where: str) -> datetime:
        try:
            return parse_time(time, self.zone)
        except NoZone as error:
            zone = f"time {str(time)[:40]} has no zone; give one, such as --zone UTC"
            raise NoZone(f"{where}: {zone}") from error
        except ValueError:
            wrong = f"{str(time)[:40]!r} is not a time such as 2026-11-20T12:00:00Z"
            raise ValueError(f"{where}: {wrong}") from None


def _tried(mistakes: dict[str, str], read: Callable[..., Read | None], *given: object) -> Read | None:
    """Read a cell or row; None if it is wrong, which goes to `mistakes`: a missing zone once."""
    try:
        return read(*given)
    except ValueError as error:
        mistakes.setdefault("zone" if isinstance(error, NoZone) else str(error), str(error))
        return None


def _quantity(value: object, where: str) -> float:
    try:
        number = float(re.sub("[\u00a0 ]", "", str(value)))
    except ValueError:
        raise ValueError(f"{where}: {str(value)[:40]!r} is not a number") from None
    if not 0 <= number < inf:
        raise ValueError(f"{where}: {str(value)[:40]!r} is negative or not finite")
    return number


def _metric_in(text: str) -> str | None:
    return max((name for name in metrics.READ if name.lower() in text.lower()), key=len, default=None)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", re.IGNORECASE)


def _content_of(path: Path) -> Any:
    """Parse JSON, or the rows of CSV."""
    hint = "; the AWS CLI prints JSON with --output json" if path.suffix.lower() == ".json" else ""
    try:
        body = unmarked(bytes_of(path, MOST_CSV_BYTES)) if not hint else b"{"
        if body.lstrip()[:1] in (b"{", b"["):
            return parsed_json(path)
        text = body.decode("utf-8", "replace")
        between = max(",;\t", key=text.count)
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=between) if any(map(str.strip, row))]
    except FileProblem as problem:
        raise ValueError(f"{problem}{hint}") from problem
    except csv.Error as error:
        raise ValueError(f"{path} is not CSV: {error}") from error
    if not rows:
        raise ValueError(f"{path} is empty")
    return rows


def _is_request(content: Any) -> bool:
    """Whether a file is a request for metrics, not a response."""
    if isinstance(content, list):
        return bool(content) and isinstance(content[0], Mapping) and "MetricStat" in content[0]
    if not isinstance(content, Mapping) or "MetricDataResults" in content:
        return False
    return bool({"MetricDataQueries", "MetricName"} & set(content))


def _request_of(path: Path, requests: Mapping[Path, Any]) -> Any:
    """A response file's request: `NAME-request.json`, else the only one given."""
    beside = path.with_name(f"{path.stem}-request.json")
    if beside in requests or not beside.is_file():
        only = next(iter(requests.values())) if len(requests) == 1 else None
        return requests.get(beside, only)
    return _content_of(beside)


def _cells_of(heads: list[list[str]], data: list[list[str]]) -> Iterator[dict[str, str]]:
    """Yield each value of a CSV with attributes from its row or column headers."""
    names = [COLUMNS.get(cell.strip().lower().replace(" ", "_"), "") for cell in heads[-1]] if heads else []
    if {"time", "value"} <= set(names) and ("metric" in names or len(names) == 2):
        for cells in data:
            yield {name: cell.strip() for name, cell in zip(names, cells, strict=False) if name}
        return
    at = next(column for column, cell in enumerate(data[0]) if _is_time(cell))
    for column in (column for column in range(len(data[0])) if column != at):
        above = [
            (row[at].strip().lower(), row[column].strip()) for row in heads if max(at, column) < len(row)
        ]
        stated = {name: cell for name, cell in above if name in ("period", "unit")}
        metric = " ".join(cell for name, cell in above if name not in UNUSED)
        for row in data:
            if max(at, column) < len(row):
                yield {"time": row[at], "metric": metric, "value": row[column].strip(), **stated}


def _is_time(cell: str) -> bool:
    try:
        return bool(parse_time(cell, UTC))
    except ValueError:
        return False
