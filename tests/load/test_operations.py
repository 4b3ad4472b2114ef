"""Every operation of the mix, sent to a real endpoint: the record is what the endpoint decided."""

import json
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from tests.load.conftest import Loaded
from tests.load.forked import LocustServer, clean_environment
from tests.make import a_scenario_file
from tests.outside import PATIENCE_S, get, run_of

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
    "load": {"requests_per_s": 10_000_000, "item_bytes": {"kind": "choice", "sizes": [400, 1_500, 6_000]}},
}  # fmt: skip
TIMES = 8
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}
READS = {"GetItem", "Query", "BatchGetItem", "TransactGetItems"}


def send(
    server: LocustServer,
    folder: Path,
    transport: str,
    *,
    units: int = 18_000,
    sort_key: str | None = "sk",
    times: int = TIMES,
) -> tuple[dict[str, Any], list[Any]]:
    """What one transport recorded, and what the endpoint decided."""
    table = {"provisioned": {"read": units, "write": units}, "sort_key": sort_key}
    path = a_scenario_file(folder, MIX, table=table)
    with EndpointProcess.start(seed=1) as endpoint:
        arguments = [transport, endpoint.url, str(path), str(times)]
        load = server.start(arguments, folder, clean_environment(folder), module="tests.load.send_operations")
        out, err = load.communicate(timeout=PATIENCE_S)
        assert load.returncode == 0, err
        decided = json.loads(get(f"{endpoint.url}/_keyheat/decisions?table=mix-table"))
    recorded = json.loads(out)
    assert recorded["errors"] == {}
    return recorded, decided


def of_table(recorded: dict[str, Any], direction: str) -> list[float]:
    """Accepted, throttled and consumed units of the table itself."""
    names = {f"{operation} {direction}" for operation in READS | WRITES}
    rows = [counts for name, counts in recorded["rows"].items() if name in names]
    return [sum(row[place] for row in rows) for place in (1, 2, 4)]


def truth(decided: list[Any], direction: str) -> list[float]:
    rows = [row for row in decided if row["index"] is None and row["direction"] == direction]
    return [
        sum(row["accepted"] for row in rows),
        sum(sum(row["refused"].values()) for row in rows),
        sum(row["consumed"] for row in rows),
    ]


@pytest.fixture(scope="module")
def of_transport(
    locust_server: LocustServer, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[dict[str, Any], list[Any]]]:
    """The same operations on a table with room for all, by both transports."""
    folder = tmp_path_factory.mktemp("mix")
    return {transport: send(locust_server, folder, transport) for transport in ("signed", "boto3")}


@pytest.mark.xdist_group("operations")  # sent once for the tests below
def test_both_transports_record_the_same(of_transport: dict[str, tuple[dict[str, Any], list[Any]]]) -> None:
    signed, boto3 = (of_transport[transport][0] for transport in ("signed", "boto3"))
    assert signed == boto3
    assert signed["throttles"] == []
    timed = {tag.partition(".")[0] for tag in signed["timed"] if tag.endswith(".accepted")}
    assert timed == READS | WRITES


@pytest.mark.xdist_group("operations")
@pytest.mark.parametrize("transport", ["signed", "boto3"])
def test_units_and_attempts_are_those_that_the_endpoint_decided(
    of_transport: dict[str, tuple[dict[str, Any], list[Any]]], transport: str
) -> None:
    recorded, decided = of_transport[transport]
    for direction in ("read", "write"):
        assert of_table(recorded, direction) == pytest.approx(truth(decided, direction))
    index = sum(row["consumed"] for row in decided if row["index"] == "by-country")
    assert recorded["rows"]["by-country write"][4] == pytest.approx(index)
    counted = recorded["counted"]
    assert (counted["batch.requests"], counted["batch.unprocessed"]) == (2 * TIMES, 0)
    assert counted["transactions.requests"] == 2 * TIMES
    assert 0 < counted["conditions.failed"] < TIMES
    assert recorded["timed"]["BatchWriteItem.accepted"] == TIMES
    assert recorded["rows"]["BatchWriteItem write"][0] == TIMES * 25


def test_a_table_without_a_sort_key_takes_the_same_operations(
    locust_server: LocustServer, tmp_path: Path
) -> None:
    recorded, decided = send(locust_server, tmp_path, "signed", sort_key=None)
    for direction in ("read", "write"):
        assert of_table(recorded, direction)[:2] == truth(decided, direction)[:2]


def test_what_a_full_table_refuses_is_throttled_item_by_item(
    locust_server: LocustServer, tmp_path: Path
) -> None:
    recorded, decided = send(locust_server, tmp_path, "signed", units=1, times=5 * TIMES)
    for direction in ("read", "write"):
        accepted, throttled, consumed = of_table(recorded, direction)
        assert [accepted, throttled, consumed] == pytest.approx(truth(decided, direction)), direction
        assert throttled > 0
    said = {(row["operation"], row["reason"]) for row in recorded["throttles"]}
    assert {operation for operation, reason in said if reason is not None} >= {"PutItem", "GetItem"}
    assert not {("PutItem", None), ("GetItem", None)} & said
    assert ("TransactWriteItems", None) in said
    assert ("BatchWriteItem", None) in said
    assert recorded["counted"]["transactions.cancelled"] > 0
    assert recorded["counted"]["batch.unprocessed"] > 0


def test_the_mix_runs_as_a_load_test(load_run: Loaded, endpoint: EndpointProcess, tmp_path: Path) -> None:
    load = {"requests_per_s": 200, "users": 5, "duration_s": 2}
    path = a_scenario_file(tmp_path, MIX, load=load)
    load_run("operations.py", path, "--host", endpoint.url)
    run = run_of(tmp_path / "run")
    assert run["totals"]["errors"] == 0
    counted, asked = run["counted"], run["generator"]["achieved_per_s"]
    requests = run["totals"]["attempts"] - counted["batch.items"] + counted["batch.requests"]
    assert asked * 2 < requests * 1.5, "the rate is one of requests, and not of a batch's items"
