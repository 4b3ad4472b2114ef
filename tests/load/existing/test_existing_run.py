"""docs/aws.md: its commands, on a table of other keys than the scenario's, with items in it."""

import json
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from tests.conftest import Verb
from tests.docs.page import commands_of
from tests.endpoint.account import attributes, schema, table, units
from tests.make import a_scenario_file

pytestmark = pytest.mark.opens

WEIGHTS = {
    "put": 4, "put_if_absent": 2, "update": 4, "delete": 1, "batch_write": 1, "transact_write": 1, "query": 1,
}  # fmt: skip
SHORT = {
    "loadtest": "operations",
    "tasks": [{"operation": name, "weight": weight} for name, weight in WEIGHTS.items()],
    "table": {"name": "keyheat-short", "sort_key": "sk", "provisioned": {"read": 500, "write": 500}},
    "keys": {"kind": "uniform", "keys": 20},
    "load": {"users": 5, "requests_per_s": 100, "duration_s": 2, "item_bytes": 400},
}
ORDERS = table(
    ProvisionedThroughput=units(5_000, 5_000),
    AttributeDefinitions=[*attributes("customer", "at", kind="N"), *attributes("status", kind="B")],
    KeySchema=schema("customer", "at"),
    LocalSecondaryIndexes=[
        {
            "IndexName": "by-status", "KeySchema": schema("customer", "status"),
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
)  # fmt: skip
THEIRS = [
    {"customer": {"N": str(number)}, "at": {"N": "1"}, "name": {"S": "keyheat_run"}} for number in range(20)
]


def items_of(client: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.scan(TableName="orders", ConsistentRead=True)["Items"]
    return sorted(items, key=lambda item: int(item["customer"]["N"]))


def test_a_table_is_loaded_as_it_is_and_left_as_it_was(
    endpoint: EndpointProcess, home: Path, verb: Verb
) -> None:
    """As the page says, but for the port, a shorter scenario, and cleaning up at once."""
    a_scenario_file(home, SHORT)
    client = make_client(target_at(endpoint.url))
    client.create_table(**ORDERS)
    for item in THEIRS:
        client.put_item(TableName="orders", Item=item)
    load, clean = (command for command in commands_of("aws.md") if "reports/out/mine" in command)
    words = (
        load.replace("http://127.0.0.1:8000", endpoint.url)
        .replace("run hotkey", "run scenario.json")
        .split()[1:]
    )
    said = verb(*words, "--clean-up")
    assert said.code in (0, 3), said.err  # 3: this machine could not send all of it, and the run says so
    run = json.loads(Path("reports/out/mine/run.json").read_bytes())
    assert (run["existing"], run["items_marked"]) == (True, True)
    assert run["scenario"]["table"]["partition_key_type"] == "N"
    assert run["scenario"]["table"]["indexes"][0]["local"] is True
    assert run["totals"]["accepted"] > 50
    assert run["totals"]["errors"] == 0
    assert items_of(client) == THEIRS

    for number, run_id in ((-1, run["run_id"]), (-2, "another run")):
        late = {"customer": {"N": str(number)}, "at": {"N": "1"}, "keyheat_run": {"S": run_id}}
        client.put_item(TableName="orders", Item=late)
    said = verb(*clean.split()[1:])
    assert said.code == 0
    assert said.says(f"1 items of run {run['run_id']} deleted from table orders")
    assert [item.get("keyheat_run") for item in items_of(client)] == [{"S": "another run"}, *[None] * 20]
