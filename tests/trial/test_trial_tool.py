"""tools.trial: its files, what it refuses, its exit codes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.run import launch
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target, target_at
from keyheat.runs.manifest import read_manifest
from keyheat.scenario.scenario import load_scenario
from keyheat.simulator.jobs import Job
from tests.conftest import ROOT, Tool
from tests.trial.worlds import observed, trial_of, written_run
from tools.trial import __main__ as verb_of_trial
from tools.trial.record import NAMES, read_trial, write_trial

AWS = "https://dynamodb.eu-west-1.amazonaws.com"
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home"), pytest.mark.xdist_group("trial")]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Loads that an endpoint in this process answers on a virtual clock."""
    made: list[Job] = []

    def make_run(job: Job, _how: object, *, of_series: tuple[int, int]) -> int:
        made.append(job)
        assert of_series[0] == len(made)
        return written_run(job)

    monkeypatch.setattr(verb_of_trial, "make_run", make_run)
    return made


@pytest.mark.nightly
def test_a_rehearsal_from_beginning_to_end(tool: Tool, loads: list[Job], home: Path) -> None:
    said = tool(verb_of_trial.trial)
    assert said.code == 0, said.err
    assert said.says("The local table did what the model says, in 6 scenarios of 6.")
    assert max(map(len, said.out.splitlines())) <= 80
    (folder,) = (home / "reports" / "out").iterdir()
    shared = read_trial(folder / "trial.json")
    assert shared.complete
    assert [one.scenario for one in shared.scenarios] == list(NAMES)
    assert (shared.target, shared.region) == ("local", None)
    text = (folder / "trial.json").read_text() + (folder / "trial.html").read_text()
    for job in loads:
        assert job.scenario.table.name not in text
        assert load_scenario(job.path) == job.scenario
    assert len({job.scenario.table.name for job in loads}) == len(NAMES)


def test_a_file_of_somebody_is_held_against_the_model(tool: Tool, home: Path) -> None:
    """The same answer as where it was made, and another one for another behaviour."""
    write_trial(
        home / "trial.json", trial_of(observed(["maximum-on-demand"], "quota_depth_s=3"), complete=False)
    )
    said = tool(verb_of_trial.trial, "--from", "trial.json", "--json", "--out", "again")
    assert said.code == 1, said.err
    told = json.loads(said.out)
    assert told["differing"] == ["maximum-on-demand"]
    (explanation,) = told["explanations"]
    assert explanation["determined"]
    assert explanation["parameters"]["quota_depth_s"] == pytest.approx(3, rel=0.08)
    assert told["trial"]["region"] == "eu-west-1"
    assert (home / "again" / "trial.html").exists()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"bound": True}, "maximum-on-demand is not compared: the load generator was the limit."),
        ({"status": "stopped"}, "it was stopped before its end"),
    ],
)
def test_a_run_that_says_nothing_is_not_compared(
    tool: Tool, monkeypatch: pytest.MonkeyPatch, state: dict[str, Any], words: str
) -> None:
    monkeypatch.setattr(verb_of_trial, "make_run", lambda job, _how, of_series: written_run(job, **state))
    said = tool(verb_of_trial.trial, "--only", "maximum-on-demand")
    assert said.code == 3
    assert said.says(words)


@pytest.mark.opens
@pytest.mark.nightly
@pytest.mark.usefixtures("some_account")
def test_one_that_costs_money_is_planned_agreed_to_and_leaves_nothing_behind(
    tool: Tool, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is done in an account, with requests that go to loopback: no target is on this machine."""
    monkeypatch.setattr(Target, "local", property(lambda _self: False, lambda _self, _found: None))
    monkeypatch.setattr(launch, "command", as_remote(launch.command))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with EndpointProcess.start(more=("--behaviour", "quota_depth_s=4")) as endpoint:
        asked = ("trial", "--target", endpoint.url, "--only", "maximum-on-demand", "--out", "t")
        refused = tool(verb_of_trial.trial, *asked[1:])
        said = tool(verb_of_trial.trial, *asked[1:], "--yes", "--json")
        left = make_client(target_at(endpoint.url, region="us-east-1")).list_tables()["TableNames"]
    assert refused.code == 4
    assert "--yes" in refused.line
    assert left == []
    run = read_manifest(home / "t" / "maximum-on-demand")
    assert not run.local
    assert 0 < run.scenario["budget"]["dollars"] <= 1
    told = json.loads(said.out)
    assert (told["trial"]["target"], told["trial"]["region"]) == ("endpoint", None)
    if told["trial"]["scenarios"][0]["state"] == "generator":
        assert said.code == 3
        pytest.skip("the machine was too busy to send the load, and the trial says so")
    assert said.code == 1, said.err
    assert list(told["explanations"][0]["parameters"]) == ["quota_depth_s"]


def as_remote(command: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """The command of a load, whose Locust takes no target for one on this machine either."""
    return lambda *asked: ["tests.as_remote" if word == "locust" else word for word in command(*asked)]


@pytest.mark.usefixtures("some_account")
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "--yes"),
        (("--max-dollars", "0.1", "--yes"), r"the trial costs at most 0\.4\d dollars, and 0\.1 may be spent"),
    ],
    ids=["nobody agrees", "it costs more"],
)
def test_it_is_refused(tool: Tool, loads: list[Job], home: Path, flags: tuple[str, ...], words: str) -> None:
    said = tool(verb_of_trial.trial, "--target", AWS, "--out", "t", *flags)
    assert said.code == 4
    assert re.search(words, said.line)
    assert not loads
    assert not list(home.rglob("*.json"))


@pytest.mark.nightly
@pytest.mark.usefixtures("some_account")
def test_all_runs_together_are_stopped_at_the_dollars(tool: Tool, loads: list[Job]) -> None:
    """Each has what its plan says, and an equal part of the rest."""
    said = tool(verb_of_trial.trial, "--target", AWS, "--max-dollars", "0.8", "--yes", "--out", "t")
    assert said.code == 0, said.err
    assert sum(job.scenario.budget.dollars for job in loads) == pytest.approx(0.8)
    shared = read_trial(Path("t/trial.json"))
    assert (shared.target, shared.region) == ("aws", "eu-west-1")
