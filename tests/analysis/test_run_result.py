"""One run in numbers, from a record small enough to add up by hand."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from keyheat.analysis.run_result import RunResult, measure
from keyheat.plan.prices import load_prices
from keyheat.runs.frames import of_rows
from keyheat.runs.manifest import Manifest
from keyheat.runs.parquet import SECONDS_SCHEMA

START = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp())
TABLE = {
    "name": "orders",
    "billing_mode": "PROVISIONED",
    "provisioned": {"read": 100, "write": 360},
    "indexes": [{"name": "by_country", "provisioned": {"read": 10, "write": 360}}],
}


def row(
    second: int, direction: str = "write", *, index: str | None = None, throttled: int = 0
) -> dict[str, Any]:
    """A second of 10 attempts; the accepted ones took a unit each."""
    return {
        "second": START + second, "index": index, "direction": direction,
        "operation": None if index else "PutItem",
        "attempts": 10, "accepted": 10 - throttled, "throttled": throttled, "errors": 0,
        "consumed_units": 10.0 - throttled,
    }  # fmt: skip


def measured(*rows: dict[str, Any], ended_s: int | None = 10, **manifest: Any) -> RunResult:
    seconds = of_rows("seconds", pa.Table.from_pylist([*rows], schema=SECONDS_SCHEMA))
    ended = None if ended_s is None else f"2026-11-20T12:00:{ended_s:02d}Z"
    content = {"started_at": "2026-11-20T12:00:00Z", "ended_at": ended, "table": TABLE} | manifest
    return measure(Manifest.model_validate(content), seconds, load_prices())


def test_units_are_those_of_the_table_and_its_indexes_and_attempts_are_the_tables() -> None:
    found = measured(row(0), row(1), row(1, index="by_country"), row(2, "read", throttled=4))
    assert (found.write.attempts, found.write.units, found.write.units_per_s) == (20, 30, 3)
    assert (found.read.attempts, found.read.accepted, found.read.throttled_share) == (10, 6, 0.4)


@pytest.mark.parametrize(
    ("throttled_at", "first_s", "last_s", "ended"),
    [((3, 5), 3, 6, True), ((9,), 9, 10, False), ((0,), 0, 1, True)],
)
def test_when_throttling_began_and_whether_it_ended(
    throttled_at: tuple[int, ...], first_s: float, last_s: float, ended: bool
) -> None:
    rows = [row(second, throttled=1 if second in throttled_at else 0) for second in range(10)]
    found = measured(*rows).throttling
    assert found is not None
    assert (found.first_s, found.last_s, found.ended) == (first_s, last_s, ended)


def test_a_million_writes_cost_their_units_or_the_time_they_take() -> None:
    found = measured(*(row(second) for second in range(10)))
    assert found.on_demand_dollars == pytest.approx(0.625)
    # 720 write units/s are provisioned in all, $0.468 an hour, and 10 of 1,000,000 writes are had each second
    assert found.provisioned_dollars == pytest.approx(0.468 / 3600 * 100_000)


def test_units_that_the_endpoint_counts_in_its_own_way_have_no_price() -> None:
    found = measured(row(0), endpoint="other")
    assert (found.write.units, found.on_demand_dollars) == (10, None)


def test_a_run_that_was_killed_lasts_as_long_as_its_record() -> None:
    assert measured(row(0), row(3), ended_s=None).duration_s == 4


@pytest.mark.parametrize(
    ("counted", "per_read", "per_order"),
    [
        ({"reads.units": 60.0, "reads.checked": 20.0}, 3.0, None),
        ({"orders.units": 9.0, "orders.placed": 2.0}, None, 4.5),
        ({"reads.units": 60.0, "reads.checked": 0.0}, None, None),
        ({}, None, None),
    ],
)
def test_what_one_read_and_one_order_took(
    counted: Mapping[str, float], per_read: float | None, per_order: float | None
) -> None:
    found = measured(row(0), counted=counted, scenario={"keys": {"shards": 8}})
    assert (found.units_per_read, found.units_per_order, found.shards) == (per_read, per_order, 8)
