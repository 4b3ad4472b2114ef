"""How measures are taken: from rows of seconds that add up by hand, and from scenarios."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

import pyarrow as pa
import pytest
from hdrh.histogram import HdrHistogram

from keyheat.analysis.measurement import TAKEN, Measured, RunMeasured
from keyheat.analysis.measures import ABSENCES, MEASURES, Absence
from keyheat.analysis.run_result import traffic_of
from keyheat.runs.frames import of_rows
from keyheat.runs.manifest import Manifest
from keyheat.runs.parquet import SECONDS_SCHEMA
from keyheat.runs.table_facts import AutoScaling, IndexFacts, ScalingRange, TableFacts
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.words import READ, WRITE, Capacity
from tests.make import a_manifest, a_shipped

START_S = 1_800_000_000
UNITS = 100.0  # accepted in each second below


def row(second: int, *, index: str | None = None, direction: str = "write", **more: Any) -> dict[str, Any]:
    return {
        "second": START_S + second, "index": index, "direction": direction, "operation": "PutItem",
        "attempts": 100, "accepted": 100, "throttled": 0, "errors": 0, "consumed_units": UNITS, **more,
    }  # fmt: skip


def seconds_of(rows: Sequence[dict[str, Any]]) -> Any:
    return of_rows("seconds", pa.Table.from_pylist(list(rows), schema=SECONDS_SCHEMA))


def manifest_of(rows: Sequence[dict[str, Any]], **changes: Any) -> Manifest:
    """A load that began and ended within its first and its last second: these are not whole."""
    last = max((one["second"] for one in rows), default=START_S)
    known = {"started_at": moment(START_S + 0.3), "ended_at": moment(last + 0.7)}
    return a_manifest(**known | changes)


def moment(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)


def run_of(*rows: dict[str, Any], scenario: Scenario | Absence = "no_file", **manifest: Any) -> RunMeasured:
    made = manifest_of(rows, **manifest)
    traffic = traffic_of(made, seconds_of(rows)) if rows else "not_sent"
    return RunMeasured(manifest=made, scenario=scenario, traffic=traffic, accepted="not_simulated")


def drawn(picture: str) -> RunMeasured:
    """A second for each sign: `.` nothing throttles, `x` something does, `_` nothing is attempted."""
    rows = [row(second, throttled=20 * (sign == "x")) for second, sign in enumerate(picture) if sign != "_"]
    return run_of(*rows)


def test_every_measure_of_the_catalogue_is_taken_and_every_absence_has_words() -> None:
    assert TAKEN.keys() == MEASURES.keys()
    assert ABSENCES.keys() == set(get_args(Absence))
    assert all(name == measure.name for name, measure in MEASURES.items())


def test_units_are_those_of_the_table_and_its_indexes_and_attempts_are_the_tables() -> None:
    refused = {"accepted": 60, "throttled": 40, "consumed_units": 60.0}
    rows = row(0), row(1), row(1, index="by-day"), row(2, direction="read", **refused)
    ten_seconds = {"started_at": moment(START_S), "ended_at": moment(START_S + 10)}
    found = traffic_of(manifest_of(rows, **ten_seconds), seconds_of(rows))
    assert (found[WRITE].attempts, found[WRITE].units, found[WRITE].units_per_s) == (200, 300, 30)
    assert (found[READ].attempts, found[READ].accepted, found[READ].throttled) == (100, 60, 40)


@pytest.mark.parametrize("ended_s", [10, None])
def test_a_run_that_sent_nothing_has_no_second_before_it_began(ended_s: int | None) -> None:
    ended_at = None if ended_s is None else moment(START_S + ended_s)
    found = traffic_of(manifest_of([], started_at=moment(START_S), ended_at=ended_at), seconds_of([]))
    assert found[WRITE].attempts == 0
    assert len(found[WRITE].seconds) == (ended_s or 1)


@pytest.mark.parametrize(
    ("picture", "first", "recovery"),
    [
        ("............", "no_throttles", "no_throttles"),
        ("..x..........", 2, 1),  # ten quiet seconds follow
        ("..........x", 10, "not_recovered"),
        ("x..x..........", 0, 4),
        ("x.........x..........", 0, 11),  # nine quiet seconds are no recovery
        ("x__________..", 0, "not_recovered"),  # a second without attempts proves nothing
        ("x.....____.....", 0, 1),
    ],
)
def test_first_throttle_and_recovery(picture: str, first: Measured, recovery: Measured) -> None:
    run = drawn(picture)
    assert TAKEN["first_throttle_s"](run) == first
    assert TAKEN["recovery_s"](run) == recovery


def test_a_rate_is_that_of_the_whole_seconds_and_a_gap_is_time_in_which_nothing_was_accepted() -> None:
    partial = [row(0, consumed_units=3.0), row(5, consumed_units=7.0)]
    run = run_of(
        *partial, row(1), row(2), row(4), row(2, index="by-day", operation=None, consumed_units=20.0)
    )
    own = (100 + 100 + 0 + 100) / 4  # what its index took is no write more
    assert TAKEN["accepted_units_per_s.write"](run) == pytest.approx(own)
    assert TAKEN["accepted_units_per_s.read"](run) == "not_sent"


def test_what_was_all_refused_is_a_real_zero() -> None:
    refused = [row(second, accepted=0, throttled=100, consumed_units=0.0) for second in range(6)]
    run = run_of(*refused)
    assert TAKEN["accepted_units_per_s.write"](run) == 0
    assert TAKEN["throttle_share"](run) == 1
    assert TAKEN["units_per_operation.write"](run) == "none_accepted"


def test_the_knee_is_the_best_ten_seconds_before_the_first_throttle() -> None:
    rising = [row(second, consumed_units=10.0 * second) for second in range(20)]
    entries = [
        row(second, index="by-day", operation=None) for second in range(20)
    ]  # are no writes of its own
    run = run_of(*rising, *entries, row(20, throttled=1, consumed_units=9_000.0), row(21))
    assert TAKEN["knee_units_per_s"](run) == pytest.approx(10 * (10 + 19) / 2)
    assert TAKEN["knee_units_per_s"](drawn("..........x.")) == "throttled_at_once"  # nine whole ones before
    assert TAKEN["knee_units_per_s"](drawn("...........x")) == UNITS
    assert TAKEN["knee_units_per_s"](drawn("............")) == "no_throttles"


def test_units_per_operation_are_exact_where_each_second_has_the_same() -> None:
    same = run_of(row(0), row(1, accepted=10, consumed_units=10.0))
    assert TAKEN["units_per_operation.write"](same) == 1
    differs = run_of(row(0), row(1, accepted=10, consumed_units=30.0))
    assert TAKEN["units_per_operation.write"](differs) == "varies"
    assert TAKEN["mean_units_per_operation.write"](differs) == pytest.approx(130 / 110)
    simulated = replace(differs, manifest=differs.manifest.model_copy(update={"target": "simulated"}))
    assert TAKEN["units_per_operation.write"](simulated) == pytest.approx(130 / 110)


def test_each_capacity_is_measured_by_itself() -> None:
    own = Capacity(read=None, write=400.0)
    table = TableFacts(
        name="orders", provisioned=own, indexes=(IndexFacts(name="by-day", provisioned=Capacity(write=50.0)),)
    )
    rows = [row(second, index=index) for second in range(10) for index in (None, "by-day")]
    of_table, of_index = TAKEN["capacity_used.write"], TAKEN["index_capacity_used.write"]
    assert of_table(run_of(*rows, table=table)) == 0.25
    assert of_index(run_of(*rows, table=table)) == 2.0  # 100 of the index's 50
    assert of_index(run_of(*rows, table=table, scale=0.5)) == 4.0
    assert of_index(run_of(*rows)) == "no_maximum"  # on demand
    assert of_index(run_of(*rows[:4], table=table)) == "too_short"
    assert TAKEN["capacity_used.read"](run_of(*rows, table=table)) == "no_maximum"


def test_a_peak_that_burst_carries_is_measured_by_its_busiest_minute() -> None:
    table = TableFacts(name="orders", provisioned=Capacity(read=None, write=400.0))
    rows = [row(second, consumed_units=700.0 if 200 <= second < 290 else 100.0) for second in range(400)]
    assert TAKEN["capacity_used.write"](run_of(*rows, table=table)) == 1.75
    shorter = [row(second, consumed_units=700.0 if 200 <= second < 230 else 100.0) for second in range(400)]
    assert TAKEN["capacity_used.write"](run_of(*shorter, table=table)) == 1.0


@pytest.mark.parametrize(("most", "used"), [(6_000, 100 / 6_000), (80, 1.25)])
def test_what_scales_is_measured_against_the_maximum_of_its_policy(most: int, used: float) -> None:
    table = TableFacts(name="orders", provisioned=Capacity(read=None, write=80.0))
    rows = [row(second) for second in range(10)]
    raw = a_shipped("too-small").model_dump(mode="json")
    raw["table"]["auto_scaling"] = {"write": {"min": 40, "max": most}}
    simulated = run_of(*rows, table=table, scenario=scenario_from_dict(raw, "scaled"))
    noted = AutoScaling(scaled=(ScalingRange(side=WRITE, min=40, max=most),))
    existing = run_of(*rows, table=table, auto_scaling=noted)
    used_of = TAKEN["capacity_used.write"]
    assert used_of(simulated) == used_of(existing) == pytest.approx(used)


def test_what_is_on_demand_is_measured_against_its_maximum() -> None:
    rows = [row(second) for second in range(10)]
    limited = TableFacts(name="orders", billing_mode="PAY_PER_REQUEST", max_on_demand=Capacity(write=80.0))
    assert TAKEN["capacity_used.write"](run_of(*rows, table=limited)) == pytest.approx(1.25)
    assert TAKEN["capacity_used.read"](run_of(*rows, table=limited)) == "no_maximum"


def test_percentiles_are_in_milliseconds() -> None:
    histogram = HdrHistogram(1, 60_000_000, 3)
    for value_us in [1_000] * 98 + [9_000] * 2:
        histogram.record_value(value_us)
    run = replace(drawn("..."), accepted=histogram)
    assert TAKEN["p50_ms"](run) == pytest.approx(1, rel=0.01)
    assert TAKEN["p99_ms"](run) == pytest.approx(9, rel=0.01)
