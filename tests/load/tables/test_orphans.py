"""Tables that runs left behind are found by their tags, and only those whose time is over are deleted."""

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.tables.control import create
from keyheat.load.tables.ownership import tags_for
from keyheat.load.tables.removal import NOT_OVER, Orphan, OrphanSearch
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.plan.prices import load_prices
from tests.load.conftest import SHORT
from tests.load.forked import Load
from tests.load.tables.conftest import Account, ours, refuses, replacing
from tests.make import a_scenario_file, a_spec
from tests.outside import PATIENCE_S, eventually

PRICES = load_prices()


def search_in(account: Account, hours_later: float = 0.0, client: Any = None) -> OrphanSearch:
    now = datetime.fromtimestamp(account.now_s(), UTC) + timedelta(hours=hours_later)
    return OrphanSearch(client=client or account.ddb, now=now, prices=PRICES, sleep=account.sleep)


def leave_behind(account: Account, name: str = "left", hours: float = 1.0, **spec: Any) -> None:
    expires = datetime.fromtimestamp(account.now_s(), UTC) + timedelta(hours=hours)
    create(account.ddb, a_spec(name=name, **spec), tags_for("run-1", owner="ann", expires=expires))
    account.sleep(60)


def found_in(search: OrphanSearch) -> list[Orphan]:
    return search.find(search.names())


def kept_for(account: Account, client: Any = None) -> dict[str, str]:
    """Why tables are kept whose time is over."""
    return {orphan.name: orphan.kept or "" for orphan in found_in(search_in(account, 2, client))}


def test_a_table_is_found_once_its_time_is_over(account: Account) -> None:
    leave_behind(account, provisioned={"read": 10, "write": 1_000})
    (early,) = found_in(search_in(account, 0.9))
    assert (early.name, early.kept) == ("left", NOT_OVER)
    (orphan,) = found_in(search_in(account, 1.1))
    assert (orphan.name, orphan.run, orphan.owner) == ("left", "run-1", "ann")
    assert orphan.dollars_per_day == pytest.approx(24 * (1_000 * 0.00065 + 10 * 0.00013))
    assert orphan.kept is None


def tag(key: str, value: str) -> Callable[[Account], object]:
    return lambda account: account.ddb.tag_resource(
        ResourceArn=account.describe("left")["TableArn"], Tags=[{"Key": key, "Value": value}]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (tag("keyheat-expires", "0001-01-01T00:00:00+23:59"), "its tag keyheat-expires cannot be read"),
        (tag("keyheat-expires", "2026-11-22T03:04:05"), "its tag keyheat-expires cannot be read"),
        (tag("keyheat-live-run-2", "soon"), "its tag keyheat-live-run-2 cannot be read"),
        (
            tag("keyheat-live-run-2", "2026-01-01T00:00:00Z/2099-01-01T00:00:00Z bob"),
            "run run-2 of bob is loading it, until 2099-01-01T00:00:00Z",
        ),
        (
            lambda account: account.ddb.update_table(TableName="left", DeletionProtectionEnabled=True),
            "deletion protection is on",
        ),
        (lambda account: account.recover("left"), "point-in-time recovery is on"),
    ],
)
def test_what_may_not_be_deleted_is_listed_with_the_reason(
    account: Account, change: Callable[[Account], object], words: str
) -> None:
    """`test_clean_orphans` has tables without a time, or one that is none."""
    leave_behind(account)
    change(account)
    assert words in kept_for(account)["left"]


def test_what_is_being_changed_or_may_have_backups_is_kept() -> None:
    account = ours(update_s=500.0)
    leave_behind(account)
    client = replacing(account.ddb, describe_continuous_backups=refuses("DescribeContinuousBackups"))
    assert "dynamodb:DescribeContinuousBackups is missing" in kept_for(account, client)["left"]
    change = {"ReadCapacityUnits": 9, "WriteCapacityUnits": 9}
    account.ddb.update_table(TableName="left", ProvisionedThroughput=change)
    assert kept_for(account)["left"] == "its status is UPDATING"


@pytest.mark.slow
def test_a_table_is_looked_at_again_before_it_is_deleted(account: Account) -> None:
    """Between the search and somebody's yes another run may have begun to use it."""
    leave_behind(account)
    search = search_in(account, 2)
    (orphan,) = found_in(search)
    tag("keyheat-expires", "2099-01-01T00:00:00Z")(account)
    assert search.delete(orphan) == "its time is not over"
    tag("keyheat", "run-2")(account)
    assert search.delete(orphan) == "another table has its name by now"
    account.ddb.delete_table(TableName="left")
    account.sleep(60)
    assert search.delete(orphan) == "it was deleted meanwhile"


@pytest.mark.slow
def test_many_tables_are_looked_at_slowly_and_what_is_denied_does_not_end_the_search() -> None:
    account = ours()
    for number in range(105):  # more than one page of ListTables
        leave_behind(account, f"left-{number:03}", hours=-24)

    def describe_table(TableName: str) -> Any:
        denied = TableName == "left-007"
        return (refuses("DescribeTable") if denied else account.ddb.describe_table)(TableName=TableName)

    began_s = account.now_s()
    client = replacing(account.ddb, describe_table=describe_table)
    search = search_in(account, client=client)
    found = found_in(search)
    assert account.now_s() - began_s == pytest.approx(104 * 0.2)
    assert [orphan.kept for orphan in found] == [None] * 104
    assert search.problems == {"the permission dynamodb:DescribeTable is missing": ["left-007"]}


ACCOUNT = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "LOGNAME": "ann"}


@pytest.mark.opens
def test_a_run_whose_endpoint_hangs_is_interrupted_once_and_names_its_table(
    start_locust: Callable[..., Load], tmp_path: Path
) -> None:
    """While its table is being made, at a target that is not on this machine."""
    with EndpointProcess.start(more=("--create-s", "4")) as endpoint:
        child = start_locust(
            "hotkey.py", "--scenario", str(a_scenario_file(tmp_path, SHORT)), "--out", str(tmp_path / "run"),
            "--host", endpoint.url, "--headless", "--no-report", "--yes", "--no-align",
            module="tests.as_remote", new_session=True, env=ACCOUNT,
        )  # fmt: skip
        client = make_client(target_at(endpoint.url))
        eventually(lambda: client.list_tables()["TableNames"] or child.poll() is not None)
        os.kill(endpoint.pid, signal.SIGSTOP)
        os.kill(child.pid, signal.SIGINT)
        _out, err = child.communicate(timeout=PATIENCE_S)
        os.kill(endpoint.pid, signal.SIGCONT)
    assert child.returncode == 130
    host = endpoint.url.removeprefix("http://")
    why = f"{host} did not answer, and the run is being ended"
    assert f"table short-table, which this run made, is not deleted: {why}" in err
    assert "aws dynamodb delete-table --table-name short-table" in err
