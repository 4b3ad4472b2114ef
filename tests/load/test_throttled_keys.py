"""Contributor Insights for the time of a run: turned on, waited for, and put back however the run ends."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.tables.insights import InsightsState, ThrottledKeys
from keyheat.load.tables.lifecycle import TableError, prepare_table
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target, target_at
from keyheat.scenario.spec.tables import TableSpec
from tests.load.forked import Load, LocustServer, clean_environment
from tests.outside import PATIENCE_S, run_of

Locust = Callable[..., "tuple[int, str, str]"]
Start = Callable[..., Load]
SPEC = TableSpec.model_validate(
    {
        "name": "short-table",
        "sort_key": "sk",
        "provisioned": {"read": 500, "write": 4_000},
        "indexes": [{"name": "by-day", "partition_key": "day", "provisioned": {"read": 5, "write": 100}}],
    }
)


@pytest.fixture
def target(endpoint: EndpointProcess) -> Target:
    return target_at(endpoint.url)


@pytest.fixture
def client(target: Target) -> Iterator[Any]:
    made = make_client(target)
    yield made
    made.close()


def states(client: Any) -> list[tuple[str, str | None]]:
    """Status and mode of the table, then of its index."""
    found = [
        client.describe_contributor_insights(TableName="short-table", **named)
        for named in ({}, {"IndexName": "by-day"})
    ]
    return [(one["ContributorInsightsStatus"], one.get("ContributorInsightsMode")) for one in found]


def test_what_is_off_is_turned_on_waited_for_and_put_back(target: Target, client: Any) -> None:
    insights = ThrottledKeys.look(target, prepare_table(target, SPEC, "run"))
    assert insights.noted() == [
        {"table": "short-table", "index": None, "status": "DISABLED", "mode": None},
        {"table": "short-table", "index": "by-day", "status": "DISABLED", "mode": None},
    ]
    insights.turn_on()
    assert states(client) == [("ENABLED", "THROTTLED_KEYS")] * 2
    said: list[str] = []
    insights.put_back(said.append)
    assert {status for status, _mode in states(client)} <= {"DISABLING", "DISABLED"}
    assert said == []


def test_what_is_on_stays_as_it_is(target: Target, client: Any) -> None:
    """In its default mode it names throttled keys as well, and what it has counted would be lost."""
    description = prepare_table(target, SPEC, "run")
    client.update_contributor_insights(TableName="short-table", ContributorInsightsAction="ENABLE")
    rules = client.describe_contributor_insights(TableName="short-table")["ContributorInsightsRuleList"]
    insights = ThrottledKeys.look(target, description)
    insights.turn_on()
    insights.put_back(print)
    table, index = states(client)
    assert table == ("ENABLED", "ACCESSED_AND_THROTTLED_KEYS")
    assert index[0] in ("DISABLING", "DISABLED")
    after = client.describe_contributor_insights(TableName="short-table")["ContributorInsightsRuleList"]
    assert after == rules


def test_without_turning_on_nothing_is_put_back(target: Target, client: Any) -> None:
    insights = ThrottledKeys.look(target, prepare_table(target, SPEC, "run"))
    client.update_contributor_insights(TableName="short-table", ContributorInsightsAction="ENABLE")
    insights.put_back(print)
    assert states(client)[0][1] == "ACCESSED_AND_THROTTLED_KEYS"


def test_a_failure_in_between_is_an_error_and_the_rest_is_put_back(target: Target, client: Any) -> None:
    prepare_table(target, SPEC, "run")
    off = InsightsState("short-table", None, "DISABLED", None)
    insights = ThrottledKeys(target, (off, InsightsState("short-table", "gone", "DISABLED", None)))
    with pytest.raises(TableError, match=r"--throttled-keys.*gone"):
        insights.turn_on()
    assert states(client)[0][1] == "THROTTLED_KEYS"
    said: list[str] = []
    insights.put_back(said.append)
    assert states(client)[0][0] in ("DISABLING", "DISABLED")
    assert said == []  # what is not there any more needs no putting back


@pytest.mark.opens
def test_what_cannot_be_put_back_is_said_with_the_command() -> None:
    with EndpointProcess.start() as mortal:
        target = target_at(mortal.url)
        insights = ThrottledKeys.look(target, prepare_table(target, SPEC, "run"))
        insights.turn_on()
    said: list[str] = []
    insights.put_back(said.append)
    assert len(said) == 2
    assert said[1].endswith(
        "aws dynamodb update-contributor-insights --table-name short-table --index-name by-day "
        "--contributor-insights-action DISABLE"
    )


def test_a_hiccup_does_not_leave_it_on(target: Target, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS bills what stays on, and answers with 500 now and then."""
    insights = ThrottledKeys.look(target, prepare_table(target, SPEC, "run"))
    insights.turn_on()
    hiccups = [AWSResponse("", 500, {}, SimpleNamespace(stream=lambda: [b""]))]

    def hiccuping(*arguments: Any, **named: Any) -> Any:
        made = make_client(*arguments, **named)
        made.meta.events.register("before-send", lambda **_more: hiccups.pop() if hiccups else None)
        return made

    monkeypatch.setattr("keyheat.load.tables.insights.make_client", hiccuping)
    said: list[str] = []
    insights.put_back(said.append)
    assert (said, hiccups) == ([], [])
    assert {status for status, _mode in states(client)} <= {"DISABLING", "DISABLED"}


def test_a_run_that_is_left_at_once_says_how_to_put_back_what_was_there(
    start_locust: Start, scenario_file: Path, endpoint: EndpointProcess, client: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    child = start_locust(
        "hotkey.py", "--scenario", str(scenario_file), "--out", str(folder), "--progress", "--headless",
        "--only-summary", "--run-time", "300s", "--host", endpoint.url, "--throttled-keys",
    )  # fmt: skip
    told = phases(child)
    assert next(phase for phase in told if phase == "loading")
    assert state(client) == ("ENABLED", "THROTTLED_KEYS")
    before = [{"table": "short-table", "index": None, "status": "DISABLED", "mode": None}]
    assert run_of(folder)["contributor_insights"] == before
    child.send_signal(signal.SIGINT)
    assert next(told) == "collecting"
    child.send_signal(signal.SIGINT)
    _out, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 130, err
    assert "aws dynamodb update-contributor-insights --table-name short-table" in err  # it left at once
    manifest = run_of(folder)
    assert (manifest["status"], manifest["contributor_insights"]) == ("interrupted", before)


def state(client: Any) -> tuple[str, str | None]:
    found = client.describe_contributor_insights(TableName="short-table")
    return found["ContributorInsightsStatus"], found.get("ContributorInsightsMode")


def phases(child: Load) -> Iterator[str]:
    """The phases that the run enters, as its progress says."""
    for line in child.stdout:
        phase = json.loads(line).get("phase")
        if phase is not None:
            yield phase
    raise AssertionError(child.communicate()[1])


BREAKS = """
import sys
from pathlib import Path
from types import SimpleNamespace
from keyheat.load.guard.budget import Caps
from keyheat.load.guard.budget import Spending
from keyheat.load.run.plan import LoadPlan
from keyheat.load.run.progress import RunProgress
from keyheat.load.run.run import LoadRun
from keyheat.load.transport.target import target_at
from keyheat.scenario.scenario import load_scenario

path, url, out = sys.argv[1:]
plan = LoadPlan(
    scenario=load_scenario(Path(path)), scenario_path=Path(path), target=target_at(url), out=Path(out),
    transport="signed", retries="off", show_keys=False, progress=False, report=True, throttled_keys=True,
)

def broken(*_anything):
    raise RuntimeError("no load today")

LoadRun._begin_load = broken
run = LoadRun(plan=plan, progress=RunProgress(False), users=1, duration_s=1.0, spending=Spending(Caps()))
run.begin(SimpleNamespace(runner=None, user_classes=[]), distributed=False)
"""


def test_a_run_that_cannot_begin_puts_back_what_was_there(
    locust_server: LocustServer, scenario_file: Path, endpoint: EndpointProcess, client: Any, tmp_path: Path
) -> None:
    """In a process of its own, since a run imports locust, which replaces sockets."""
    breaks = tmp_path / "breaks.py"
    breaks.write_text(BREAKS)
    arguments = [str(scenario_file), endpoint.url, str(tmp_path / "run")]
    load = locust_server.start(arguments, tmp_path, clean_environment(tmp_path), module=str(breaks))
    assert "no load today" in load.communicate(timeout=PATIENCE_S)[1]
    assert not (tmp_path / "run").exists()  # it never began, and owes nothing
    rules = client.describe_contributor_insights(TableName="short-table")
    assert rules["ContributorInsightsStatus"] in ("DISABLING", "DISABLED")
    assert "LastUpdateDateTime" in rules  # it was on


def test_the_keys_are_read_before_it_is_turned_off_so_a_report_is_needed(
    run_locust: Locust, scenario_file: Path
) -> None:
    options = ("--scenario", str(scenario_file), "--throttled-keys", "--no-report")
    code, _out, err = run_locust("hotkey.py", *options)
    assert code == 2
    assert "say either --throttled-keys or --no-report" in err
