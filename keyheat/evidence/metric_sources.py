"""Read metric files: JSON of the AWS CLI, requests next to its responses, and CSV."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from keyheat.evidence.log_records import time_of
from keyheat.inputs import unmarked
from keyheat.runfiles import FileProblem, bytes_of, parsed_json

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


def content_of(path: Path) -> Any:
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


def is_request(content: Any) -> bool:
    """Whether a file is a request for metrics, not a response."""
    if isinstance(content, list):
        return bool(content) and isinstance(content[0], Mapping) and "MetricStat" in content[0]
    if not isinstance(content, Mapping) or "MetricDataResults" in content:
        return False
    return bool({"MetricDataQueries", "MetricName"} & set(content))


def request_of(path: Path, requests: Mapping[Path, Any]) -> Any:
    """A response file's request: `NAME-request.json`, else the only one given."""
    beside = path.with_name(f"{path.stem}-request.json")
    if beside in requests or not beside.is_file():
        only = next(iter(requests.values())) if len(requests) == 1 else None
        return requests.get(beside, only)
    return content_of(beside)


def cells_of(heads: list[list[str]], data: list[list[str]]) -> Iterator[dict[str, str]]:
    """Yield each value of a CSV with attributes from its row or column headers."""
    names = [COLUMNS.get(cell.strip().lower().replace(" ", "_"), "") for cell in heads[-1]] if heads else []
    if {"time", "value"} <= set(names) and ("metric" in names or len(names) == 2):
        for cells in data:
            yield {name: cell.strip() for name, cell in zip(names, cells, strict=False) if name}
        return
    at = next(column for column, cell in enumerate(data[0]) if is_time(cell))
    for column in (column for column in range(len(data[0])) if column != at):
        above = [
            (row[at].strip().lower(), row[column].strip()) for row in heads if max(at, column) < len(row)
        ]
        stated = {name: cell for name, cell in above if name in ("period", "unit")}
        metric = " ".join(cell for name, cell in above if name not in UNUSED)
        for row in data:
            if max(at, column) < len(row):
                yield {"time": row[at], "metric": metric, "value": row[column].strip(), **stated}


def is_time(cell: str) -> bool:
    """Whether a cell is a time, with or without a zone."""
    moment, zoned = time_of(cell, None)
    return moment is not None or not zoned
