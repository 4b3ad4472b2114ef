"""Datapoints as CloudWatch has them: names, dimensions, periods, zeros and gaps."""

from collections.abc import Iterable

import pytest

from keyheat.model import limits
from keyheat.model.meter import Tally
from keyheat.model.minutes import Datapoints, MetricSeries
from keyheat.model.resources import IndexCapacity, TableCapacity
from keyheat.model.splits import position
from keyheat.model.table import TableModel
from keyheat.words import Capacity

T0 = 1_800_000_000  # a full hour
TABLE = (("TableName", "orders"),)
INDEX = (*TABLE, ("GlobalSecondaryIndexName", "by_tag"))
KEY = position(b"k")


def model(write: float = 100, *, at_s: float = T0, index_write: float | None = None) -> TableModel:
    index = IndexCapacity(name="by_tag", provisioned=Capacity(7, index_write))
    indexes = () if index_write is None else (index,)
    return TableModel(TableCapacity(provisioned=Capacity(50, write), indexes=indexes), now_s=at_s)


def points(
    series: Iterable[MetricSeries], metric: str, dimensions: tuple[tuple[str, str], ...] = TABLE
) -> Datapoints | None:
    found = [s for s in series if s.metric == metric and s.dimensions == dimensions]
    assert len(found) <= 1
    return found[0].points if found else None


def test_consumed_units_have_a_zero_for_every_idle_minute_since_the_table_exists() -> None:
    table = model(at_s=T0 + 61)
    table.admit_write(KEY, 3.0, T0 + 190)
    table.admit_write(KEY, 1.0, T0 + 191)
    series = table.minutes.series("orders", T0, T0 + 300)
    assert points(series, "ConsumedWriteCapacityUnits") == {
        T0 + 60: Tally(0.0, 1, 0.0, 0.0),
        T0 + 120: Tally(0.0, 1, 0.0, 0.0),
        T0 + 180: Tally(4.0, 2, 1.0, 3.0),
        T0 + 240: Tally(0.0, 1, 0.0, 0.0),
    }
    assert len(points(series, "ConsumedReadCapacityUnits") or ()) == 4


def test_settings_have_one_point_per_five_minutes() -> None:
    table = model(100, at_s=T0 + 30, index_write=20)
    table.change_capacity(TableCapacity(provisioned=Capacity(50, 400)), T0 + 400)
    series = table.minutes.series("orders", T0, T0 + 900)
    assert points(series, "ProvisionedWriteCapacityUnits") == {
        T0: Tally(100.0, 1, 100.0, 100.0),
        T0 + 300: Tally(500.0, 2, 100.0, 400.0),
        T0 + 600: Tally(400.0, 1, 400.0, 400.0),
    }
    assert points(series, "ProvisionedWriteCapacityUnits", INDEX) == {
        T0: Tally(20.0, 1, 20.0, 20.0),
        T0 + 300: Tally(20.0, 1, 20.0, 20.0),
    }, "the index was dropped"
    assert all(s.period_s == limits.SETTING_PERIOD_S for s in series if s.metric.startswith("Provisioned"))


def test_each_billing_mode_has_its_own_settings() -> None:
    capacity = TableCapacity(billing_mode="PAY_PER_REQUEST", max_on_demand=Capacity(None, 80))
    series = TableModel(capacity, now_s=T0).minutes.series("orders", T0, T0 + 300)
    assert points(series, "OnDemandMaxWriteRequestUnits") == {T0: Tally(80.0, 1, 80.0, 80.0)}
    assert points(series, "OnDemandMaxReadRequestUnits") is None
    assert points(series, "ProvisionedWriteCapacityUnits") is None


@pytest.mark.parametrize(
    ("start_s", "end_s", "minutes"),
    [(0, 120, [0, 60]), (59, 120, [0, 60]), (60, 120, [60]), (0, 60, [0]), (0, 61, [0, 60]), (60, 60, [])],
)
def test_the_window_starts_at_a_minute_and_excludes_its_end(
    start_s: int, end_s: int, minutes: list[int]
) -> None:
    series = model().minutes.series("orders", T0 + start_s, T0 + end_s)
    found = points(series, "ConsumedWriteCapacityUnits") or ()
    assert [start_s - T0 for start_s in found] == minutes
