"""One run in numbers, from a record small enough to add up by hand."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from keyheat.analysis.run_result import RunResult, measure
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
    return measure(Manifest.model_validate(content), seconds)


def test_units_are_those_of_the_table_and_its_indexes_and_attempts_are_the_tables() -> None:
    found = measured(row(0), row(1), row(1, index="by_country"), row(2, "read", throttled=4))
    assert (found.write.attempts, found.write.units, found.write.units_per_s) == (20, 30, 3)
    assert (found.read.attempts, found.read.accepted, found.read.throttled_share) == (10, 6, 0.4)


@pytest.mark.parametrize(
    ("counted", "per_read"),
    [
        ({"reads.units": 60.0, "reads.checked": 20.0}, 3.0),
        ({"simulated.read_units": 60.0, "simulated.reads": 20.0}, 3.0),
        ({"reads.units": 60.0, "reads.checked": 0.0}, None),
        ({}, None),
    ],
)
def test_what_one_read_took(counted: Mapping[str, float], per_read: float | None) -> None:
    assert measured(row(0), counted=counted).units_per_read == per_read


@pytest.mark.parametrize("ended_s", [10, None])
def test_a_run_that_sent_nothing_has_no_second_before_it_began(ended_s: int | None) -> None:
    found = measured(ended_s=ended_s)
    assert found.write.attempts == 0
    assert len(found.write.seconds) == (ended_s or 1)
