"""The frames of a run: which columns each has, of which dtype, in which unit, and how the files become them.

    seconds.parquet     seconds     a row for each second, resource, direction and operation
    throttles.parquet   throttles   a row for each throttled attempt (or several that are alike)
    evidence.json       minutes     a row for each minute, resource and direction, as CloudWatch published it
    latency.hdr         latency     a row for each operation and outcome
    keys.json           keys        a row for each hot key, of the whole run and of each window
    diagnosis.json      labels      a row for each span in which something was limited

What is not known is NA, never zero; of a file that is not there the frame has no row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from hdrh.histogram import HdrHistogram

from keyheat.model.resources import Cause
from keyheat.runfiles import US_PER_MS
from keyheat.runs import metrics
from keyheat.runs.formats import Diagnosis, Evidence, SecondCount, Series
from keyheat.runs.latencies import mean_ms
from keyheat.runs.manifest import Keys, KeyUse, KeyWindow
from keyheat.words import INDEX_TABLE, TABLE, Direction, label_of

SECOND, MOMENT, TEXT, COUNT, NUMBER = (
    "datetime64[s, UTC]", "datetime64[us, UTC]", "string", "Int64", "Float64",
)  # fmt: skip
PERCENTILES: Final = {"p50_ms": 50.0, "p90_ms": 90.0, "p95_ms": 95.0, "p99_ms": 99.0, "p999_ms": 99.9}


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    dtype: str
    unit: str
    says: str


_RESOURCE = Column("resource", TEXT, "", "`table`, or the name of an index")
_DIRECTION = Column("direction", TEXT, "", "`read` or `write`")
_OPERATION = Column("operation", TEXT, "", "`PutItem`, `Query` ...; NA on the rows of an index")

FRAMES: Final[Mapping[str, tuple[Column, ...]]] = {
    "seconds": (
        Column("second", SECOND, "UTC", "the second in which the requests were sent"),
        _RESOURCE,
        _DIRECTION,
        _OPERATION,
        Column("attempts", COUNT, "requests", "attempts, retries among them"),
        Column("accepted", COUNT, "requests", "those that succeeded"),
        Column("throttled", COUNT, "requests", "those that were throttled"),
        Column("errors", COUNT, "requests", "those that failed for another reason"),
        Column("consumed_units", NUMBER, "capacity units", "what the accepted ones consumed, RCU or WCU"),
        Column("unmet", COUNT, "requests", "of the errors, those that never met the table's limits"),
    ),
    "throttles": (
        Column("at", MOMENT, "UTC", "when the attempt was sent"),
        _RESOURCE,
        _DIRECTION,
        _OPERATION,
        Column("reason", TEXT, "", "DynamoDB's own word; NA where it gave none"),
        Column("constraint", TEXT, "", "the limit that the reason names: `partition`, `table` ..."),
        Column("key", TEXT, "", "the digest of the partition key; NA where many keys are meant"),
        Column("units", NUMBER, "capacity units", "what one such attempt would have consumed"),
        Column("late_us", COUNT, "µs", "how much later than intended it was sent"),
        Column("service_us", COUNT, "µs", "how long the refusal took"),
        Column("count", COUNT, "requests", "attempts that the row stands for"),
    ),
    "minutes": (
        Column("minute", SECOND, "UTC", "when the period begins"),
        Column("period_s", COUNT, "s", "how long it is: 60, or more for an old window"),
        _RESOURCE,
        _DIRECTION,
        Column("consumed_units", NUMBER, "capacity units", "consumed in the period"),
        Column("throttle_events", NUMBER, "events", "throttled in the period, whatever the cause"),
        Column("throttled_partition", NUMBER, "events", "those that a partition's limit caused"),
        Column("throttled_table", NUMBER, "events", "those that the provisioned throughput caused"),
        Column("throttled_max_on_demand", NUMBER, "events", "those that the on-demand maximum caused"),
        Column("throttled_account", NUMBER, "events", "those that the account's quota caused"),
        Column("provisioned_units_per_s", NUMBER, "capacity units/s", "as last published by then"),
        Column("max_on_demand_units_per_s", NUMBER, "capacity units/s", "as last published by then"),
    ),
    "latency": (
        Column("operation", TEXT, "", "`PutItem`, `Query` ..."),
        Column("outcome", TEXT, "", "service time: `accepted`, `throttled`, `error`; `response`: response "
               "time; `logical`: several requests; `backoff`: between attempts"),
        Column("count", COUNT, "requests", "how many were timed"),
        Column("mean_ms", NUMBER, "ms", "their mean"),
        *(Column(name, NUMBER, "ms", f"percentile {at:g}") for name, at in PERCENTILES.items()),
        Column("max_ms", NUMBER, "ms", "the slowest"),
    ),
    "keys": (
        Column("window", SECOND, "UTC", "when the window begins; NA: the whole run"),
        Column("window_s", NUMBER, "s", "how long it is; NA: the whole run"),
        _DIRECTION,
        Column("key", TEXT, "", "the digest of the partition key"),
        Column("shown", TEXT, "", "its value, where the run was made with `--show-keys`"),
        Column("units", NUMBER, "capacity units", "demand: throttled attempts as what they would cost"),
        Column("consumed_units", NUMBER, "capacity units", "consumed; of the whole run only"),
        Column("throttles", COUNT, "requests", "throttled attempts"),
        Column("share", NUMBER, "", "of all demand, 0 to 1; of the whole run only"),
    ),
    "labels": (
        Column("start", MOMENT, "UTC", "when the span begins"),
        Column("end", MOMENT, "UTC", "when it ends"),
        _RESOURCE,
        _DIRECTION,
        Column("constraint", TEXT, "", "what limited it: `partition`, `table`, `max_on_demand`, `account`, "
               "`undetermined`"),
        Column("throttles", COUNT, "requests", "throttled in the span"),
        Column("grade", TEXT, "", "how it is known: `reason`, `cause_metric`, `inferred`"),
        Column("confidence", NUMBER, "", "0 to 1"),
        Column("rule", TEXT, "", "the rule that decided, see labels.md"),
        Column("because", TEXT, "", "the evidence in words, a line each"),
    ),
}  # fmt: skip
"""Every frame and its columns, in order."""


def frame(name: str, content: pd.DataFrame | Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Convert content to the columns and dtypes of a frame; missing columns are NA."""
    rows = content if isinstance(content, pd.DataFrame) else pd.DataFrame.from_records(list(content))
    return pd.DataFrame(
        {
            column.name: _cast(rows[column.name], column.dtype)
            if column.name in rows
            else pd.Series(
                pd.NA if column.dtype in (TEXT, COUNT, NUMBER) else pd.NaT, rows.index, column.dtype
            )
            for column in FRAMES[name]
        }
    )


def _cast(column: Any, dtype: str) -> Any:
    if dtype in (SECOND, MOMENT):
        return pd.to_datetime(column, utc=True).astype(dtype)
    return column.astype(dtype)


def of_rows(name: str, rows: pa.Table) -> pd.DataFrame:
    """Convert the rows of `seconds.parquet` or `throttles.parquet` to their frame."""
    table = _nullable(rows)
    if "reason" in table:
        reasons = table["reason"].dropna().unique()
        table["constraint"] = table["reason"].map(
            {reason: metrics.constraint_of(reason) for reason in reasons}
        )
    return frame(name, table)


def of_partitions(rows: pa.Table) -> pd.DataFrame:
    """The rows of `partitions.parquet` by resource, with the file's columns."""
    return _nullable(rows).drop(columns="index")


def _nullable(rows: pa.Table) -> pd.DataFrame:
    """Convert rows to a frame by resource, with NA for nulls."""
    nullable = {pa.int64(): pd.Int64Dtype(), pa.float64(): pd.Float64Dtype(), pa.string(): pd.StringDtype()}
    table: pd.DataFrame = rows.to_pandas(types_mapper=nullable.get)
    table["resource"] = table["index"].replace(TABLE, INDEX_TABLE).fillna(TABLE)
    return table


def seconds_of(rows: Iterable[SecondCount]) -> pd.DataFrame:
    """The seconds in `evidence.json`, without operation, accepted and failed requests."""
    return frame("seconds", (
        {"second": row.second, "resource": label_of(row.index), "direction": row.direction,
         "attempts": row.attempts, "throttled": row.throttled, "consumed_units": row.consumed,
         "unmet": row.unmet}
        for row in rows
    ))  # fmt: skip


def throttles_of(evidence: Evidence) -> pd.DataFrame:
    """The throttles in `evidence.json`: counts per second, resource and reason."""
    return frame("throttles", (
        {"at": row.second, "resource": label_of(row.index), "direction": row.direction, "reason": row.reason,
         "constraint": metrics.constraint_of(row.reason), "count": row.count}
        for row in evidence.throttles or ()
    ))  # fmt: skip


_COLUMN_OF: Final[Mapping[tuple[str, str], tuple[str, Direction]]] = {
    key: column
    for side in Direction
    for key, column in {
        (metrics.consumed(side), "Sum"): ("consumed_units", side),
        (metrics.throttle_events(side), "Sum"): ("throttle_events", side),
        (metrics.provisioned(side), "Average"): ("provisioned_units_per_s", side),
        (metrics.on_demand_maximum(side), "Average"): ("max_on_demand_units_per_s", side),
        **{
            (metrics.cause_events(side, cause), "Sum"): (f"throttled_{cause.constraint}", side)
            for cause in Cause
        },
    }.items()
}
"""Column and direction of a series by its metric and statistic."""
_SETTINGS: Final = ["provisioned_units_per_s", "max_on_demand_units_per_s"]


def minutes_of(evidence: Evidence) -> pd.DataFrame:
    """CloudWatch's series side by side; a setting holds until its next point."""
    points = pd.DataFrame(
        [point for series in evidence.series for point in _points(series)],
        columns=["minute", "resource", "direction", "column", "value", "period_s"],
    )
    if points.empty:
        return frame("minutes", points)
    by = ["minute", "resource", "direction"]
    wide = points.pivot_table(index=by, columns="column", values="value", aggfunc="sum").reset_index()
    counted = points[~points["column"].isin(_SETTINGS)].groupby(by, as_index=False)["period_s"].max()
    wide = wide.merge(counted, on=by, how="left").sort_values(["resource", "direction", "minute"])
    settings = [name for name in _SETTINGS if name in wide]
    wide[settings] = wide.groupby(["resource", "direction"])[settings].ffill()
    return frame("minutes", wide.dropna(subset="period_s").sort_values(by, ignore_index=True))


def _points(series: Series) -> Iterable[tuple[Any, ...]]:
    column, side = _COLUMN_OF.get((series.metric, series.statistic), (None, None))
    if column is not None and series.whole:
        resource = label_of(series.index)
        for at, value in series.points:
            yield at, resource, side, column, value, series.period_s


def latency_of(histograms: Mapping[str, HdrHistogram]) -> pd.DataFrame:
    """The histograms of `latency.hdr`, one row each."""
    return frame("latency", (
        {"operation": tag.partition(".")[0], "outcome": tag.partition(".")[2], **_durations(histogram)}
        for tag, histogram in sorted(histograms.items())
        if histogram.get_total_count()
    ))  # fmt: skip


def _durations(histogram: HdrHistogram) -> dict[str, float]:
    at = {
        name: histogram.get_value_at_percentile(percentile) / US_PER_MS
        for name, percentile in PERCENTILES.items()
    }
    return {
        "count": histogram.get_total_count(),
        "mean_ms": mean_ms(histogram),
        **at,
        "max_ms": histogram.get_max_value() / US_PER_MS,
    }


def keys_of(keys: Keys) -> pd.DataFrame:
    """The hottest keys: of the run by units and by throttles, each once, then of each window."""
    whole = {
        (side, use.key): {"direction": side, **use.model_dump()}
        for sides in (keys.overall, keys.by_throttles)
        for side, uses in sides.items()
        for use in uses
    }
    return frame(
        "keys", [*whole.values(), *(_in(window, top) for window in keys.windows for top in window.top)]
    )


def _in(window: KeyWindow, top: KeyUse) -> dict[str, Any]:
    window_columns = {"window": window.start, "window_s": window.seconds, "direction": window.direction}
    return {**window_columns, **top.model_dump(exclude_unset=True)}


def labels_of(diagnosis: Diagnosis) -> pd.DataFrame:
    return frame(
        "labels", ({**label.model_dump(), "because": "\n".join(label.because)} for label in diagnosis.labels)
    )
