"""The timeline of a real run: UpdateTable at its moments, waited for, refused, and kept in run.json."""

import time
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.run.timeline import TableTimeline
from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.scenario.scenario import Scenario
from tests.load.conftest import SHORT, Loaded
from tests.make import a_scenario, a_scenario_file
from tests.outside import run_of

pytestmark = pytest.mark.opens

UPDATE_S = 0.3
TABLE = {
    "name": "short-table",
    "sort_key": "sk",
    "provisioned": {"read": 500, "write": 4_000},
    "indexes": [{"name": "by-day", "partition_key": "day", "provisioned": {"read": 5, "write": 100}}],
}


def scenario(*steps: dict[str, Any]) -> Scenario:
    return a_scenario(table=TABLE, timeline=list(steps))


def test_steps_are_asked_at_their_moments_and_wait_for_an_active_table() -> None:
    """On an endpoint where UpdateTable takes a moment."""
    made = scenario(
        {"at_s": 0.2, "provisioned": {"write": 5_000}},
        {"at_s": 0.2, "index": "by-day", "provisioned": {"write": 90}},
        {"at_s": 0.3, "billing_mode": "PAY_PER_REQUEST"},
    )
    with EndpointProcess.start(more=("--update-s", str(UPDATE_S))) as process:
        target = target_at(process.url)
        RunTables(target=target, run_id="run", alone=True).prepare(made.table)
        said: list[str] = []
        timeline = TableTimeline(made, target, time.time(), said.append, time.time)
        timeline.follow()
        client = make_client(target)
        table = client.describe_table(TableName="short-table")["Table"]
        assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
        client.close()
    raised, _lowered, switched = timeline.log
    assert [(event.index, event.what, event.before, event.after) for event in timeline.log] == [
        (None, "provisioned.write", 4_000, 5_000),
        ("by-day", "provisioned.write", 100, 90),
        (None, "billing_mode", "PROVISIONED", "PAY_PER_REQUEST"),
    ]
    assert raised.at_s >= 0.2
    for event in timeline.log:
        assert event.in_force_s is not None
        assert event.in_force_s - event.at_s >= UPDATE_S - 0.05
    assert raised.in_force_s is not None
    assert switched.at_s >= raised.in_force_s
    assert (said, timeline.problems) == ([], [])


def test_a_refusal_is_said_and_kept(endpoint: EndpointProcess) -> None:
    target = target_at(endpoint.url)
    made = scenario({"at_s": 0, "provisioned": {"write": 9}})
    RunTables(target=target, run_id="run", alone=True).prepare(made.table)
    client = make_client(target)
    for units in (3_999, 3_998, 3_997, 3_996):
        client.update_table(
            TableName="short-table",
            ProvisionedThroughput={"ReadCapacityUnits": 500, "WriteCapacityUnits": units},
        )
    client.close()
    said: list[str] = []
    timeline = TableTimeline(made, target, time.time(), said.append, time.time)
    timeline.follow()
    (event,) = timeline.log
    assert event.refused is not None
    assert "LimitExceededException" in event.refused
    assert event.in_force_s is None
    assert len(said) == 1
    assert said[0].startswith("the timeline's step of 0 s was refused: ")


def test_a_run_changes_its_table_and_says_when(load_run: Loaded, tmp_path: Path) -> None:
    step = {"at_s": 0.1, "provisioned": {"write": 5_000}}
    lasting = {"duration_s": 4}  # to see it in force
    path = a_scenario_file(tmp_path, SHORT, load=lasting, timeline=[step], local={"update_s": 0.2})
    folder = tmp_path / "run"
    load_run("hotkey.py", path)
    (event,) = run_of(folder)["timeline"]
    assert (event["by"], event["what"], event["from"], event["to"]) == (
        "timeline",
        "provisioned.write",
        4_000,
        5_000,
    )
    assert 0.1 <= event["at_s"] <= event["in_force_s"] - 0.15
    assert event["refused"] is None
