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
from keyheat.runs.parquet import FRAMES, PERCENTILES
from keyheat.words import INDEX_TABLE, TABLE, Direction, label_of


def frame(name: str, content: pd.DataFrame | Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Convert content to the columns and dtypes of a frame; missing columns are NA."""
    rows = content if isinstance(content, pd.DataFrame) else pd.DataFrame.from_records(list(content))
    dtypes = {column.name: column.dtype for column in FRAMES[name]}
    return rows.reindex(columns=list(dtypes)).astype(dtypes)


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
        {**vars(row), "resource": label_of(row.index), "consumed_units": row.consumed} for row in rows
    ))  # fmt: skip


def throttles_of(evidence: Evidence) -> pd.DataFrame:
    """The throttles in `evidence.json`: counts per second, resource and reason."""
    return frame("throttles", (
        {**vars(row), "at": row.second, "resource": label_of(row.index),
         "constraint": metrics.constraint_of(row.reason)}
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
        {
            "operation": tag.partition(".")[0], "outcome": tag.partition(".")[2],
            "count": histogram.get_total_count(), "mean_ms": mean_ms(histogram),
            "max_ms": histogram.get_max_value() / US_PER_MS,
            **{name: histogram.get_value_at_percentile(at) / US_PER_MS for name, at in PERCENTILES.items()},
        }
        for tag, histogram in sorted(histograms.items())
        if histogram.get_total_count()
    ))  # fmt: skip


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
