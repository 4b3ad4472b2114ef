"""`keyheat clean`: what it says before and after, and what it does not do without being told."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.tables.cleaning import cost_in_words, usual_pace
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.plan.prices import load_prices
from keyheat.runs.manifest import Manifest
from tests.conftest import Verb
from tests.endpoint.account import attributes, on_demand, schema
from tests.make import START, a_run
from tests.outside import elsewhere

RUN_ID = "0123456789ab"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """An endpoint with a table that holds two items of a run, and one of its owner's."""
    with EndpointProcess.start() as process:
        yield process.url


@pytest.fixture
def client(url: str, some_account: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Of a new table each time; the reader stands where the run's folder is."""
    monkeypatch.chdir(tmp_path)
    client = make_client(target_at(url))
    client.create_table(**on_demand(AttributeDefinitions=attributes("id"), KeySchema=schema("id")))
    for name, mark in (("a", RUN_ID), ("b", RUN_ID), ("c", "nobody")):
        client.put_item(TableName="orders", Item={"id": {"S": name}, "keyheat_run": {"S": mark}})
    yield client
    if "orders" in client.list_tables()["TableNames"]:
        client.delete_table(TableName="orders")
    client.close()


def run_at(url: str, **more: Any) -> Path:
    """A run's folder, with as much in it as cleaning needs."""
    known = {
        "run_id": RUN_ID, "table": {"name": "orders"}, "endpoint_url": url, "target": url,
        "region": "us-east-1", "status": "finished", "items_marked": True,
        "totals": {"consumed_units": {"write": 2.0, "read": 0.0}},
    }  # fmt: skip
    return a_run(Path("mine"), **known | more)


def left_in(client: Any) -> list[str]:
    return sorted(item["id"]["S"] for item in client.scan(TableName="orders")["Items"])


@pytest.mark.opens
def test_elsewhere_nothing_is_deleted_without_yes(client: Any, url: str, verb: Verb) -> None:
    folder, where = run_at(elsewhere(url)), ("--endpoint-url", elsewhere(url))
    said = verb("clean", folder, *where)
    assert (said.code, left_in(client)) == (4, ["a", "b", "c"])
    assert "add --yes" in said.err
    assert "deletes what the run wrote for at most 2 write units" in said.err
    said = verb("clean", folder, "--yes", "--max-units-per-s", "1000", *where)
    assert (said.code, left_in(client)) == (0, ["c"])
    assert said.says(f"2 items of run {RUN_ID} deleted from table orders")
    assert "At 1,000 units per second" in said.err


@pytest.mark.opens
def test_items_without_marks_are_not_looked_for(client: Any, url: str, verb: Verb) -> None:
    said = verb("clean", run_at(url, items_marked=False))
    assert (said.code, left_in(client)) == (0, ["a", "b", "c"])
    assert said.says("carry no mark. The table itself can be deleted: aws dynamodb delete-table")


@pytest.mark.opens
def test_a_table_that_is_gone_needs_no_cleaning(client: Any, url: str, verb: Verb) -> None:
    client.delete_table(TableName="orders")
    said = verb("clean", run_at(url))
    assert said.code == 0
    assert said.says("table orders no longer exists")


@pytest.mark.opens
def test_what_cannot_be_cleaned_is_said(client: Any, verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyheat.cli.clean.ATTEMPTS", 1)  # the SDK would wait between them
    folder = run_at("http://127.0.0.1:1")
    said = verb("clean", folder)
    assert said.code == 3
    assert "To go on: keyheat clean mine" in said.err
    manifest = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_text(json.dumps(manifest | {"target": "simulated"}))
    said = verb("clean", folder)
    assert (said.code, "simulated run" in said.err) == (2, True)


@pytest.mark.opens
def test_an_interrupt_says_how_to_go_on(
    client: Any, url: str, verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_cleaned: Any) -> Iterator[None]:
        yield
        raise KeyboardInterrupt

    folder = run_at(url, status="running")
    with monkeypatch.context() as patch:
        patch.setattr("keyheat.load.tables.cleaning.clean_table", interrupted)
        said = verb("clean", folder)
    assert said.code == 130
    assert "The run is marked as running" in said.err
    assert said.says("The table is not looked through yet. To go on: keyheat clean mine")
    assert verb("clean", folder).code == 0
    assert left_in(client) == ["c"]


GSI = {"IndexName": "by-day", "ProvisionedThroughput": {"ReadCapacityUnits": 8, "WriteCapacityUnits": 2}}
PROVISIONED = {
    "TableName": "orders",
    "ProvisionedThroughput": {"ReadCapacityUnits": 400, "WriteCapacityUnits": 800},
    "TableSizeBytes": 8_192_000_000,
    "ItemCount": 4_000_000,
}
ON_DEMAND = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}


def test_others_keep_most_of_a_table() -> None:
    assert usual_pace(PROVISIONED, local=False) == 100.0
    assert usual_pace(PROVISIONED | {"GlobalSecondaryIndexes": [GSI]}, local=False) == 1.0
    assert usual_pace(PROVISIONED | ON_DEMAND, local=False) == 500.0
    assert usual_pace(PROVISIONED, local=True) is None


def test_the_price_is_said_before() -> None:
    totals = {"consumed_units": {"write": 500_000.0}}
    run = Manifest.model_validate({"started_at": START, "table": {"name": "orders"}, "totals": totals})
    target, prices = target_at("http://127.0.0.1:8000"), load_prices()
    said = cost_in_words(run, target, PROVISIONED | ON_DEMAND, prices, 500.0)
    for words in (
        "(8,192.0 MB and 4,000,000 items", "some 1,000,000 read units", "at most 500,000 write units",
        "Together about $0.44", "At 500 units per second that is 50 min.",
    ):  # fmt: skip
        assert words in said
    assert "Together" not in cost_in_words(run, target, PROVISIONED, prices, None)
