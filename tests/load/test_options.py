"""The command line is checked before anything starts, and every mistake is said at once."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.load.options import InputError, add_options
from keyheat.load.run.plan import check_options, run_folder, take_numbers
from keyheat.runs.claims import Taken
from keyheat.scenario.scenario import SCENARIOS
from tests.load.conftest import SHORT
from tests.make import a_scenario_file

SORTED = SimpleNamespace(needs_sort_key=True)
NOW = datetime(2026, 11, 21, 6, 0, 0, tzinfo=UTC)
pytestmark = pytest.mark.usefixtures("no_account")


def options(**said: Any) -> Namespace:
    parser = ArgumentParser()
    add_options(parser)
    of_locust = {"host": None, "num_users": None, "spawn_rate": None, "run_time": None, "headless": True}
    return Namespace(**{**vars(parser.parse_args([])), **of_locust, **said})


def errors_of(said: Namespace, *, locustfiles: list[str], users: Sequence[Any] = ()) -> str:
    with pytest.raises(InputError) as caught:
        check_options(said, locustfiles=locustfiles, users=users)
    return str(caught.value)


def test_a_locustfile_has_a_scenario_of_its_name_and_one_of_ones_own_that_beside_it(tmp_path: Path) -> None:
    plan = check_options(options(), locustfiles=["loadtests/datekey.py"], users=[SORTED])
    assert (plan.scenario.name, plan.scenario_path.name) == ("datekey", "datekey.toml")
    assert (plan.target, plan.report, plan.transport) == (None, True, "signed")
    beside = tmp_path / "parcels.toml"
    beside.write_bytes((SCENARIOS / "too-small.toml").read_bytes())
    load = str(beside.with_suffix(".py"))
    assert check_options(options(), locustfiles=[load]).scenario_path == beside
    assert check_options(options(scenario="hotkey"), locustfiles=[load]).scenario.name == "hotkey"


SCALING = {"provisioned": {"read": 5, "write": 5}, "auto_scaling": {"write": {"min": 5, "max": 50}}}
SCALED = {
    "table": {"name": "scaled", **SCALING, "indexes": [{"name": "by-day", "partition_key": "day", **SCALING}]}
}


def test_auto_scaling_is_refused_with_what_leaves_it_out_of_table_and_indexes(tmp_path: Path) -> None:
    path = str(a_scenario_file(tmp_path, SCALED))
    said = errors_of(options(scenario=path), locustfiles=["hotkey.py"])
    assert "--set 'table.auto_scaling=' --set 'table.indexes[0].auto_scaling='" in said
    settings = ["table.auto_scaling=", "table.indexes[0].auto_scaling="]
    plan = check_options(options(scenario=path, settings=settings), locustfiles=["hotkey.py"])
    assert not plan.scenario.table.scaled


AWS = "https://dynamodb.eu-west-1.amazonaws.com"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"host": AWS}, "no AWS credentials found"),
        ({"target": "aws"}, "no AWS region is set"),
        ({"host": AWS, "target": "aws"}, "not both"),
        ({"target": "nowhere"}, "not an endpoint's URL"),
        ({"scenario": "/no/such.toml"}, "/no/such.toml"),
        ({"settings": ["keys.share=2", "x"]}, "'x' is not PATH=VALUE"),
        ({"out": "/dev/null"}, "not a folder"),
        ({"prices": "/no/such.toml"}, "--prices: "),
        ({"max_minutes": -1.0}, "--max-minutes"),
        ({"prometheus_host": "0.0.0.0"}, "add --prometheus-port 9464"),
        ({"prometheus_port": 99_999}, "1 to 65535"),
        ({"settings": ["table.sort_key="]}, "a sort_key @ $.table.sort_key"),
        ({"settings": ["cache={ttl_s=1}"]}, "no user of this load test reads through a cache @ $.cache"),
        ({"settings": [f"table.sort_key='{'s' * 60}'", "load.item_bytes=90"]}, "$.load.item_bytes"),
    ],
)
def test_mistakes(said: dict[str, Any], problem: str) -> None:
    assert problem in errors_of(options(**said), locustfiles=["hotkey.py"], users=[SORTED])


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    path = a_scenario_file(tmp_path, SHORT, keys={"share": 1.5}, load={"users": 0})
    said = options(scenario=str(path), host=AWS, out=str(tmp_path))  # in which that file is
    errors = errors_of(said, locustfiles=["hotkey.py"])
    for problem in ("$.keys.share", "$.load.users", "no AWS credentials", "is not empty"):
        assert problem in errors


def test_several_locustfiles_need_a_word_on_the_scenario() -> None:
    said = errors_of(options(), locustfiles=["hotkey.py", "datekey.py"])
    assert "2 load tests are named" in said
    assert "--scenario SCENARIO" in said


def test_options_go_before_the_scenario(tmp_path: Path) -> None:
    path = str(a_scenario_file(tmp_path, SCALED))
    there = {"table": "orders", "target": "http://127.0.0.1:8000"}  # which scales as it does
    said = options(scenario=path, max_dollars=0.5, run_time=30, settings=["keys.keys=7"], **there)
    plan = check_options(said, locustfiles=["hotkey.py"])
    assert (plan.guards.table, plan.budget.dollars, plan.scenario.keys.keys) == ("orders", 0.5, 7)
    assert plan.duration_s == 30
    said.headless = False
    assert check_options(said, locustfiles=["hotkey.py"]).duration_s is None, (
        "whoever is at a web page ends it"
    )


def test_numbers_that_are_not_said_come_from_the_scenario(scenario_file: Path) -> None:
    said = options(scenario=str(scenario_file), num_users=3)
    plan = check_options(said, locustfiles=["hotkey.py"])
    take_numbers(said, plan.scenario.load)
    assert (said.num_users, said.spawn_rate, said.run_time) == (3, 50.0, 3.0)


def test_no_run_of_a_row_writes_where_another_one_wrote(tmp_path: Path) -> None:
    said = options(out=str(tmp_path / "run"), headless=False)
    plan = check_options(said, locustfiles=["hotkey.py"])
    for expected in ("run", "run-2", "run-3"):
        with run_folder(plan, NOW) as claimed:
            assert claimed.folder.name == expected
        claimed.folder.mkdir()
        with run_folder(plan, NOW) as again:
            assert again.folder == claimed.folder, "an empty folder is free"
            (again.folder / "run.json").touch()


def test_a_single_run_goes_where_it_was_told_to_or_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    untold = check_options(options(), locustfiles=["hotkey.py"])
    for expected in ("hotkey-20261121T060000Z", "hotkey-20261121T060000Z-2"):
        assert run_folder(untold, NOW).folder == tmp_path / "reports" / "out" / expected
    said = options(out=str(tmp_path / "run"))
    plan = check_options(said, locustfiles=["hotkey.py"])
    with run_folder(plan, NOW) as claimed:
        assert claimed.folder == tmp_path / "run"
        with pytest.raises(Taken, match="another run is being made there now"):
            run_folder(plan, NOW)
