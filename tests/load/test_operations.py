"""Every operation of the mix, sent to a real endpoint: the record is what the endpoint decided."""

import json
from pathlib import Path
from typing import Any

import pytest

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.runs import parquet
from keyheat.runs.latencies import read_latencies
from tests.load.conftest import Loaded
from tests.make import a_scenario_file
from tests.outside import check_whole, get, run_of

pytestmark = pytest.mark.opens

MIX: dict[str, Any] = {
    "name": "mix",
    "loadtest": "operations",
    "tasks": [
        {"operation": name, "weight": 1}
        for name in (
            "put", "put_if_absent", "update", "delete", "get", "query", "batch_write", "batch_get",
            "transact_write", "transact_get",
        )
    ],
    "table": {
        "name": "mix-table",
        "sort_key": "sk",
        "provisioned": {"read": 18_000, "write": 18_000},
        "indexes": [
            {
                "name": "by-country", "partition_key": "country",
                "provisioned": {"read": 18_000, "write": 18_000},
            }
        ],
    },
    "keys": {"kind": "uniform", "keys": 400},
    "load": {"requests_per_s": 200, "users": 5, "duration_s": 3, "item_bytes": 1_500},
}  # fmt: skip
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}
READS = {"GetItem", "Query", "BatchGetItem", "TransactGetItems"}
COUNTS = ("accepted", "throttled", "consumed_units")


def recorded(rows: list[Any], direction: str, index: str | None = None) -> list[float]:
    """What the run's seconds hold of a table, or of one of its indexes."""
    mine = [row for row in rows if (row["direction"], row["index"]) == (direction, index)]
    return [sum(row[count] for row in mine) for count in COUNTS]


def decided(rows: list[Any], direction: str, index: str | None = None) -> list[float]:
    """The same as the endpoint decided it."""
    mine = [row for row in rows if (row["direction"], row["index"]) == (direction, index)]
    return [
        sum(row["accepted"] for row in mine),
        sum(sum(row["refused"].values()) for row in mine),
        sum(row["consumed"] for row in mine),
    ]


@pytest.mark.parametrize(
    ("transport", "sort_key", "units"),
    [
        pytest.param("signed", "sk", 18_000, id="signed"),
        pytest.param("boto3", "sk", 18_000, id="boto3"),
        pytest.param("signed", None, 18_000, id="without a sort key"),
        pytest.param("signed", "sk", 1, id="a full table"),
    ],
)
def test_units_and_attempts_are_those_that_the_endpoint_decided(
    load_run: Loaded, endpoint: EndpointProcess, tmp_path: Path,
    transport: str, sort_key: str | None, units: int,
) -> None:  # fmt: skip
    table = {"provisioned": {"read": units, "write": units}, "sort_key": sort_key}
    path = a_scenario_file(tmp_path, MIX, table=table)
    load_run("operations.py", path, "--host", endpoint.url, "--transport", transport)
    check_whole(tmp_path / "run")
    run = run_of(tmp_path / "run")
    assert run["totals"]["errors"] == 0
    seconds = parquet.read_table(tmp_path / "run" / "seconds.parquet", runfiles.SECONDS).to_pylist()
    truth = json.loads(get(f"{endpoint.url}/_keyheat/decisions?table=mix-table"))
    for direction in ("read", "write"):
        assert recorded(seconds, direction) == pytest.approx(decided(truth, direction)), direction
    of_index = recorded(seconds, "write", "by-country")[2], decided(truth, "write", "by-country")[2]
    assert of_index[0] == pytest.approx(of_index[1])
    counted = run["counted"]
    if units == 1:
        throttles = parquet.read_table(tmp_path / "run" / "throttles.parquet", runfiles.THROTTLES).to_pylist()
        said = {(row["operation"], row["reason"] is not None) for row in throttles}
        assert said >= {("PutItem", True), ("GetItem", True), ("TransactWriteItems", False)}
        assert not {("PutItem", False), ("GetItem", False)} & said
        assert counted["transactions.cancelled"] > 0
        assert counted["batch.unprocessed"] > 0
        return
    latencies = read_latencies(tmp_path / "run" / "latency.hdr")
    timed = {tag.partition(".")[0]: of for tag, of in latencies.items() if tag.endswith(".accepted")}
    assert set(timed) == READS | WRITES
    assert (run["totals"]["throttled"], counted["batch.unprocessed"]) == (0, 0)
    batches = timed["BatchWriteItem"].get_total_count() + timed["BatchGetItem"].get_total_count()
    assert counted["batch.requests"] == batches
    assert counted["transactions.requests"] > 0
    assert counted["conditions.failed"] > 0
    requests = run["totals"]["attempts"] - counted["batch.items"] + counted["batch.requests"]
    asked = run["generator"]["achieved_per_s"] * 3
    assert asked < requests * 1.5, "the rate is one of requests, and not of a batch's items"
