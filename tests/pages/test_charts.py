"""Charts and the frames they are made from: nothing unknown is zero, and every count is kept."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa
import pytest

from keyheat.analysis.facts import verdict_resource
from keyheat.analysis.report import ReportRun, read_run
from keyheat.runs.frames import of_partitions
from keyheat.runs.manifest import CapacityChange
from keyheat.runs.parquet import PARTITIONS_SCHEMA
from keyheat.show.charts import compact
from keyheat.show.heat import (
    partition_figure,
    partition_rates,
    partition_resources,
    throttled_key_table,
)
from keyheat.show.rates import Rates, capacity_figure, client_rates, published_rates
from keyheat.show.report import change_table, changes_of
from keyheat.words import Resource
from tests.make import START, a_diagnosis, a_series, an_evidence, consumed, throttle_events
from tests.pages.conftest import page_of

TABLE, READS, INDEX = Resource(None, "write"), Resource(None, "read"), Resource("by-day", "write")
LABEL = {
    "start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:01:00Z", "resource": "table", "direction": "write",
    "constraint": "partition", "throttles": 7, "grade": "inferred", "confidence": 0.8, "because": [],
}  # fmt: skip


def evidence_run(*series: dict[str, Any], table: dict[str, Any] | None = None, **more: Any) -> ReportRun:
    """Three minutes of evidence of a table with 500 WCU."""
    table = table or {"provisioned": {"read": 10, "write": 500}}
    evidence = an_evidence(*series, minutes=3, table=table, **more)
    return ReportRun(diagnosis=a_diagnosis(labels=[LABEL]), evidence=evidence)


CONSUMED = consumed(10.0)
KEY_RANGE_EVENTS = "WriteKeyRangeThroughputThrottleEvents"


def published(run: ReportRun) -> Rates:
    return published_rates(run, TABLE)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (1_234.4, 1_234), (0.123449, 0.1234), (0.0, 0), (2e-300, 2e-300), (1_234_567_890, 1_235_000_000),
        (float("nan"), None), (float("inf"), None),
    ],
)  # fmt: skip
def test_a_number_has_four_digits_however_small_it_is(number: float, shown: float | None) -> None:
    assert compact([number, 1.0]) == [shown, 1]


def test_longer_steps_keep_every_count(samples: dict[str, Path]) -> None:
    finest = client_rates(read_run(samples["hotkey"]), TABLE)
    drawn = finest.within(7)
    assert len(drawn.frame) <= 7
    for name in ("consumed", "partition"):
        assert drawn.counts(name).sum() == pytest.approx(finest.frame[name].sum())


def test_throttles_without_a_reason_take_the_label_of_their_second() -> None:
    rows = [
        {"second": f"2026-11-20T12:0{minute}:05Z", "direction": "write", "reason": None, "count": 7}
        for minute in (0, 2)
    ]
    rates = client_rates(evidence_run(throttles=rows), TABLE)
    counts = {name: rates.frame[name].sum() for name in rates.constraints}
    assert counts == {"partition": 7, "undetermined": 7}
    assert not rates.has("consumed")


def test_a_gap_in_cloudwatch_is_unknown_and_not_zero() -> None:
    rates = published(evidence_run(consumed(10, None, 20), throttle_events(60)))
    assert compact(rates.frame["consumed"]) == [10, None, 20]
    assert compact(rates.frame["undetermined"]) == [1, None, 0]


ON_DEMAND = {"billing_mode": "PAY_PER_REQUEST", "max_on_demand": {"read": None, "write": 120}}


@pytest.mark.parametrize(
    ("events", "table", "counts"),
    [
        ([throttle_events(100), a_series(KEY_RANGE_EVENTS, 60)], None, {"partition": 60, "undetermined": 40}),
        ([a_series(KEY_RANGE_EVENTS, 60)], ON_DEMAND, {"partition": 60}),
        ([a_series("WriteMaxOnDemandThroughputThrottleEvents", 60)], ON_DEMAND, {"max_on_demand": 60}),
    ],
)
def test_events_are_those_of_the_cause_that_their_metric_names(
    events: list[dict[str, Any]], table: dict[str, Any] | None, counts: dict[str, float]
) -> None:
    """And an on-demand maximum is drawn, and is no throttle by it."""
    rates = published(evidence_run(CONSUMED, *events, table=table))
    assert {name: rates.counts(name).sum() for name in rates.constraints} == pytest.approx(counts)
    assert table is None or set(rates.frame["maximum"]) == {120}


CHANGED = a_series("ProvisionedWriteCapacityUnits", 100, None, 300, statistic="Maximum") | {"period_s": 300}


@pytest.mark.parametrize(
    ("run", "provisioned"),
    [
        (evidence_run(CONSUMED, CHANGED), [100, 100, 100]),  # until the period of the change has ended
        (evidence_run(CONSUMED, scale=0.1), [50, 50, 50]),
        (evidence_run(CONSUMED, table={"billing_mode": "PAY_PER_REQUEST"}), None),
    ],
)
def test_provisioned_capacity_is_what_held_at_each_moment(
    run: ReportRun, provisioned: list[int] | None
) -> None:
    frame = published(run).frame
    assert (list(frame["provisioned"]) if "provisioned" in frame else None) == provisioned


def test_a_resource_without_any_record_has_no_rates() -> None:
    assert client_rates(evidence_run(), TABLE) is None
    assert published_rates(evidence_run(), TABLE) is None


def test_evidence_without_throttles_is_about_the_side_that_consumed_most() -> None:
    run = evidence_run(a_series("ConsumedReadCapacityUnits", 600), consumed(0))
    assert verdict_resource(replace(run, diagnosis=a_diagnosis("none", None, None))) == READS


def change(**fields: Any) -> CapacityChange:
    made = {"at_s": 5.0, "by": "timeline", "what": "provisioned.write", "from": 400, "to": 1_286, **fields}
    return CapacityChange.model_validate(made)


@pytest.fixture
def changed(samples: dict[str, Path]) -> Callable[..., ReportRun]:
    """The made-up run of a hot key, with changes of capacity that were made to it."""
    run = read_run(samples["hotkey"])
    manifest = run.manifest
    return lambda *changes: replace(run, manifest=manifest.model_copy(update={"timeline": changes}))


def test_a_change_is_a_line_from_when_it_held(changed: Callable[..., ReportRun]) -> None:
    mode = change(what="billing_mode", to="PAY_PER_REQUEST", in_force_s=9.5, **{"from": "PROVISIONED"})
    run = changed(
        change(in_force_s=8.5), change(in_force_s=None), change(index="by-day", in_force_s=9.0), mode
    )
    start_s = START.timestamp()
    assert changes_of(run, TABLE) == [start_s + 8.5, start_s + 9.5]
    assert changes_of(run, INDEX) == [start_s + 9.0, start_s + 9.5]
    assert changes_of(run, READS) == [start_s + 9.5]
    rates = client_rates(run, TABLE)
    made = capacity_figure(rates, "x", consumed=None, changes_s=changes_of(run, TABLE))
    shapes = made.figure.layout.shapes
    assert [shape.x0 for shape in shapes] == ["2026-11-20T12:00:08.500", "2026-11-20T12:00:09.500"]
    assert [shape.showlegend for shape in shapes] == [True, False]


def test_every_change_is_a_row_with_what_came_of_it(changed: Callable[..., ReportRun]) -> None:
    made = (
        change(by="auto scaling", because="81 % and 90 %", in_force_s=8.0),
        change(index="by-day", what="warm.read", to=9_000, **{"from": None}),
        change(refused="4 decreases today"),
        change(what="billing_mode", to="PAY_PER_REQUEST", in_force_s=9.0, **{"from": "PROVISIONED"}),
    )
    table = change_table(changed(*made))
    assert [row[1:] for row in table.cells] == [
        ["auto scaling", "the table", "provisioned, write", "400", "1,286", "81 % and 90 %", "12:00:08"],
        ["timeline", "index by-day", "warm, read", "–", "9,000", "–", "–"],
        ["timeline", "the table", "provisioned, write", "400", "1,286", "–", "refused: 4 decreases today"],
        ["timeline", "the table", "billing mode", "PROVISIONED", "PAY_PER_REQUEST", "–", "12:00:09"],
    ]
    assert {row[0] for row in table.cells} == {"12:00:05"}
    assert change_table(changed()) is None


def partitions(*cells: tuple[Any, ...]) -> Any:
    """Rows of (second, index, partition, parent, since, from share, units written, throttled writes)."""
    start_s = int(START.timestamp())
    full = [
        (start_s + at, 1, index, number, parent, start_s + since, share, 0.0, float(units), 0, lost)
        for at, index, number, parent, since, share, units, lost in cells
    ]
    arrays = [
        pa.array(column, pa.int64() if pa.types.is_timestamp(field.type) else field.type).cast(field.type)
        for field, column in zip(PARTITIONS_SCHEMA, zip(*full, strict=True), strict=True)
    ]
    return of_partitions(pa.Table.from_arrays(arrays, schema=PARTITIONS_SCHEMA))


SPLIT = partitions(
    (0, None, 0, None, 0, 0.0, 900, 50), (1, None, 0, None, 0, 0.0, 900, 60),
    (0, None, 1, None, 0, 0.5, 10, 0), (3, None, 1, None, 0, 0.5, 10, 0),
    (2, None, 2, 0, 2, 0.0, 500, 0), (3, None, 2, 0, 2, 0.0, 510, 0),
    (2, None, 3, 0, 2, 0.25, 400, 0), (3, "by-day", 0, None, 0, 0.0, 7, 0),
)  # fmt: skip


def test_partitions_are_rows_of_keys_in_their_order_for_as_long_as_they_live() -> None:
    assert partition_resources(SPLIT) == [TABLE, INDEX]
    units, _refused, _born = partition_rates(SPLIT, TABLE, 1.0)
    assert {number: compact(units[number]) for number in units} == {
        0: [900, 900, 0, None], 2: [None, None, 500, 510], 3: [None, None, 400, 0], 1: [10, 0, 0, 10],
    }  # fmt: skip
    assert list(units) == [0, 2, 3, 1]


def test_what_partitions_refused_and_their_splits_are_shown() -> None:
    made = partition_figure(SPLIT, TABLE, 1_000)
    _units, refused = made.figure.data
    assert list(refused.z[0]) == [50, 60, None, None]
    assert "3 partitions; 1 s to a step." in made.summary
    assert "110 throttles, 100 % of them on partition 0." in made.summary
    assert "1 split (at 12:00:02)." in made.summary
    calm = partition_figure(SPLIT, INDEX, 1_000)
    assert len(calm.figure.data) == 1
    assert "No partition throttled." in calm.summary


@pytest.mark.slow
def test_of_a_run_on_aws_one_line_says_that_partitions_are_not_known(sample: Any) -> None:
    run_dir = sample(without=("partitions.parquet",))
    manifest = orjson.loads((run_dir / "run.json").read_bytes())
    (run_dir / "run.json").write_bytes(orjson.dumps({**manifest, "target": "aws"}))
    text = page_of(read_run(run_dir))
    assert "DynamoDB does not show which partition served which request." in text
    assert "<code>partitions.parquet</code>" not in text


def use(key: str, throttles: int, **more: Any) -> dict[str, Any]:
    return {"key": key, "shown": None, "units": 50.0, "throttles": throttles, "share": 0.5, **more}


def test_the_most_throttled_keys_come_first(sample: Callable[[], Path]) -> None:
    folder = sample()
    keys = orjson.loads((folder / "keys.json").read_bytes())
    (folder / "keys.json").write_bytes(orjson.dumps(keys | {"by_throttles": {}}))
    assert throttled_key_table(read_run(folder)) is None, "the record does not say"
    keys["by_throttles"] = {
        "write": [use("sha256:00000000000000aa", 7, consumed_units=43.0), use("sha256:00000000000000bb", 0)],
        "read": [use("sha256:00000000000000cc", 900, shown="sensor-1")],
    }
    (folder / "keys.json").write_bytes(orjson.dumps(keys))
    table = throttled_key_table(read_run(folder))
    assert table.cells == [
        ["sensor-1", "read", "900", "50", "–"],
        ["sha256:000000000000", "write", "7", "50", "43"],
    ]


@pytest.mark.parametrize(
    ("amounts", "used"),
    [
        ({"consumed": [0.0, 0.0]}, False),
        ({"consumed": [0.0, 2.0]}, True),
        ({"consumed": [float("nan")] * 2}, True),  # not known
        ({}, True),
    ],
)
def test_what_consumed_and_throttled_nothing_is_not_used(amounts: dict[str, list[float]], used: bool) -> None:
    assert Rates(resource=READS, frame=pd.DataFrame(amounts, index=[0, 1]), step_s=1, end_s=2).used is used
