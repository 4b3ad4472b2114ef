"""`keyheat run` at an endpoint that two people use: refused while another run is there, or both say so."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.tables.control import creation
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.scenario.scenario import load_scenario
from tests.conftest import Verb
from tests.make import a_scenario_file

pytestmark = pytest.mark.opens

SHORT = {
    "table": {"name": "keyheat-short", "sort_key": "sk", "provisioned": {"read": 100, "write": 100}},
    "keys": {"kind": "uniform", "keys": 20},
    "load": {"users": 2, "requests_per_s": 20, "duration_s": 1, "item_bytes": 400},
}
OURS = [{"Key": "keyheat", "Value": "run-1"}, {"Key": "keyheat-owner", "Value": "ann"}]
ANN = {"Key": "keyheat-live-run-1", "Value": "2026-01-01T00:00:00Z/2099-01-01T00:00:00Z ann"}


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Any, str]]:
    """An endpoint with the scenario's table, which a run of ann's is loading; and where it is."""
    path = a_scenario_file(tmp_path, SHORT)
    monkeypatch.chdir(tmp_path)
    with EndpointProcess.start() as process:
        client = make_client(target_at(process.url))
        client.create_table(**creation(load_scenario(path).table), Tags=[*OURS, ANN])
        yield client, process.url
        client.close()


def tags(client: Any) -> dict[str, str]:
    arn = client.describe_table(TableName="keyheat-short")["Table"]["TableArn"]
    listed = client.list_tags_of_resource(ResourceArn=arn)["Tags"]
    return {tag["Key"]: tag["Value"] for tag in listed}


def test_a_table_that_somebody_is_loading_is_refused(shared: tuple[Any, str], verb: Verb) -> None:
    client, url = shared
    said = verb("run", "scenario.json", "--target", url, "--out", "mine", "--no-collect")
    assert said.code == 4
    assert "run run-1 of ann is loading it, until 2099-01-01T00:00:00Z at the latest" in said.err
    assert "--share" in said.err
    assert not Path("mine").exists()
    assert tags(client)[ANN["Key"]] == ANN["Value"]
    assert len(tags(client)) == 3


@pytest.mark.nightly
def test_who_shares_a_table_has_a_verdict_that_says_so(shared: tuple[Any, str], verb: Verb) -> None:
    client, url = shared
    said = verb("run", "scenario.json", "--target", url, "--out", "mine", "--no-collect", "--share")
    assert said.code in (0, 3), said.err  # 3: this machine could not send all of it, and the run says so
    assert "this run was not alone: run run-1 of ann loaded the same table" in " ".join(said.err.split())
    run = json.loads(Path("mine/run.json").read_bytes())
    (other,) = run["shared_with"]
    assert (other["table"], other["run"], other["owner"]) == ("keyheat-short", "run-1", "ann")
    verdict = json.loads(Path("mine/diagnosis.json").read_bytes())["verdict"]
    assert verdict["because"][0].startswith("This run was not alone: run run-1 of ann loaded table")
    assert "This run was not alone" in Path("mine/report.html").read_text()
    trace = tags(client)[f"keyheat-live-{run['run_id']}"]
    assert "/2099" not in trace, "it says that it has ended, since the other one is still there"
