"""A run's tables: made with tags, waited for, deleted or kept; somebody else's are left alone."""

from datetime import UTC, datetime
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.options import Guards, TableError, TableRefused
from keyheat.load.tables.control import create
from keyheat.load.tables.existing import check_tables
from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.tables.ownership import CLAIM_S, as_text, look_at_tables
from keyheat.load.transport.target import target_at
from tests.load.tables.conftest import ELSEWHERE, HOUR_S, Account, ours, refuses, run_of
from tests.make import a_spec

NO_BACKUPS = {"describe_continuous_backups": refuses("DescribeContinuousBackups")}


def earlier(account: Account, **spec: Any) -> str:
    """A run that is over has kept its table; gives the table's ARN."""
    tables = run_of(account, keep_table=True)
    arn: str = tables.prepare(a_spec(**spec))["TableArn"]
    tables.leave()
    return arn


def at(moment_s: float) -> str:
    return as_text(datetime.fromtimestamp(moment_s, UTC))


def look(account: Account, *names: str, **guards: Any) -> None:
    there = look_at_tables(ELSEWHERE, names, account.connect)
    now = datetime.fromtimestamp(account.now_s(), UTC)
    tables = [(a_spec(name=name), there[name]) for name in names]
    check_tables(tables, Guards(**guards), now, local=False)


@pytest.mark.slow
def test_a_table_says_whose_it_is_and_until_when(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ann")
    began_s = account.now_s()
    description = run_of(account, lasts_s=HOUR_S).prepare(a_spec(expires_h=2))
    assert description["TableStatus"] == "ACTIVE"
    assert account.tags("made") == {
        "keyheat": "run-1",
        "keyheat-owner": "ann",
        "keyheat-expires": at(began_s + 3 * HOUR_S),
        "keyheat-live-run-1": f"{at(began_s)}/{at(began_s + HOUR_S + CLAIM_S)} ann",
    }


def test_a_table_is_deleted_after_the_run_that_made_it(account: Account) -> None:
    tables = run_of(account)
    for name in ("made", "beside"):
        tables.prepare(a_spec(name=name))
    assert sorted(account.names()) == ["beside", "made"]
    tables.leave()
    assert account.names() == []
    assert (tables.phases, tables.last) == (
        ["deleting", "deleting"],
        "table made, which this run made, is deleted",
    )
    tables.leave()
    assert len(tables.phases) == 2, "once"


@pytest.mark.parametrize(("keep", "on_end"), [(True, "delete"), (False, "keep")])
def test_a_table_is_kept_where_somebody_says_so(account: Account, keep: bool, on_end: str) -> None:
    tables = run_of(account, keep_table=keep)
    tables.prepare(a_spec(on_end=on_end, provisioned={"read": 10, "write": 1_000}))
    tables.leave()
    assert account.names() == ["made"]
    assert "$0.6513 an hour, $15.63 a day" in tables.last
    assert "aws dynamodb delete-table --table-name made --region us-east-1" in tables.last
    assert account.tags("made")["keyheat-expires"] in tables.last


def test_a_table_that_was_there_before_is_never_deleted(account: Account) -> None:
    earlier(account)
    later = run_of(account, "run-2")
    later.prepare(a_spec())
    later.leave()
    assert account.names() == ["made"]
    assert account.tags("made")["keyheat"] == "run-1"


@pytest.mark.parametrize("changed", ["protected", "recovered"])
def test_a_table_that_somebody_protects_is_left_alone(account: Account, changed: str) -> None:
    tables = run_of(account)
    tables.prepare(a_spec())
    if changed == "recovered":
        account.recover("made")
    else:
        account.ddb.update_table(TableName="made", DeletionProtectionEnabled=True)
    tables.leave()
    assert account.names() == ["made"]
    assert "is not deleted: " in tables.last
    assert "aws dynamodb delete-table" in tables.last


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("changed", ["replaced", "retagged", "untagged"])
def test_a_table_that_is_another_one_by_now_is_left_alone(account: Account, changed: str, keep: bool) -> None:
    """Nobody is told how to delete what is somebody else's."""
    tables = run_of(account, keep_table=keep)
    arn = tables.prepare(a_spec())["TableArn"]
    if changed == "replaced":
        account.ddb.delete_table(TableName="made")
        account.sleep(60)
        create(account.ddb, a_spec(), [])
        account.sleep(60)
    elif changed == "retagged":
        account.ddb.tag_resource(ResourceArn=arn, Tags=[{"Key": "keyheat", "Value": "run-2"}])
    else:
        account.ddb.untag_resource(ResourceArn=arn, TagKeys=["keyheat"])
    tables.leave()
    assert account.names() == ["made"]
    assert any("table made is another one by now, and left alone" in line for line in tables.lines)
    assert "delete-table" not in "".join(tables.lines)
    assert "which this run made" not in "".join(tables.lines)


def test_a_deletion_that_is_denied_is_said_with_the_command_that_does_it() -> None:
    tables = run_of(ours(), instead={"delete_table": refuses("DeleteTable")})
    tables.prepare(a_spec())
    tables.leave()
    assert "AccessDeniedException" in tables.last
    assert "Delete it with: aws dynamodb delete-table --table-name made" in tables.last
    assert "keyheat clean --orphans" in tables.last


@pytest.mark.parametrize("replicated", [False, True])
def test_where_backups_cannot_be_read_what_else_protects_a_table_decides(replicated: bool) -> None:
    """Somebody may have replicated it meanwhile: the other Regions' copies are not the run's to break."""
    account, replicas = ours(), [{"RegionName": "eu-west-1"}] * replicated

    def describe_table(**request: Any) -> Any:
        return {"Table": account.ddb.describe_table(**request)["Table"] | {"Replicas": replicas}}

    tables = run_of(account, instead={"describe_table": describe_table, **NO_BACKUPS}).begins()
    tables.leave()
    assert account.names() == ["made"] * replicated
    assert ("it is a global table" in tables.last) is replicated


def test_a_run_that_is_interrupted_while_it_waits_deletes_what_it_asked_for() -> None:
    """DynamoDB deletes no table that is still being made, so that it is waited for all the same."""
    account = ours(create_s=60.0, delete_s=10.0)

    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    tables = run_of(account, keep_table=True)
    tables.sleep = interrupted
    with pytest.raises(KeyboardInterrupt):
        tables.prepare(a_spec())
    assert account.describe("made")["TableStatus"] == "CREATING"
    (line,) = tables.left_behind()
    assert "delete-table --table-name made" in line
    tables.sleep = account.sleep
    tables.leave()
    assert (account.names(), tables.left_behind()) == ([], [])
    assert "waiting for table made to be made, at most 597 s more" in tables.lines


def test_a_table_whose_answer_was_lost_is_deleted_too() -> None:
    """CreateTable arrived, and its answer did not; DescribeTable sees the table a moment later."""
    account = ours()
    looks = iter([False, False, True, True])

    def create_table(**request: Any) -> Any:
        account.ddb.create_table(**request)
        raise KeyboardInterrupt

    def describe_table(**request: Any) -> Any:
        return account.ddb.describe_table(**request if next(looks, True) else {"TableName": "not-yet"})

    tables = run_of(account, instead={"create_table": create_table, "describe_table": describe_table})
    with pytest.raises(KeyboardInterrupt):
        tables.prepare(a_spec())
    tables.leave()
    assert account.names() == []


def test_a_table_that_the_sdk_asked_for_twice_is_deleted_too() -> None:
    """The first answer was lost, so the SDK asks again, and is told that there is such a table by now."""
    account = ours(create_s=20.0)

    def create_table(**request: Any) -> Any:
        account.ddb.create_table(**request)
        return account.ddb.create_table(**request)

    tables = run_of(account, instead={"create_table": create_table})
    assert tables.prepare(a_spec())["TableStatus"] == "ACTIVE"
    assert "delete-table --table-name made" in "".join(tables.left_behind())
    tables.leave()
    assert account.names() == []


def test_a_table_that_somebody_made_a_moment_before_is_not_ours() -> None:
    account = ours()

    def create_table(**request: Any) -> Any:
        account.ddb.create_table(**{**request, "Tags": [{"Key": "team", "Value": "shop"}]})
        return account.ddb.create_table(**request)

    tables = run_of(account, instead={"create_table": create_table})
    with pytest.raises(TableRefused, match="--allow-table made"):
        tables.prepare(a_spec())
    tables.leave()
    assert (account.names(), tables.lines) == (["made"], [])


def test_somebody_elses_table_is_refused(account: Account) -> None:
    arn = earlier(account)
    look(account, "made")
    account.ddb.untag_resource(ResourceArn=arn, TagKeys=["keyheat"])
    for refused in (lambda: look(account, "made"), lambda: run_of(account, "run-2").prepare(a_spec())):
        with pytest.raises(TableRefused, match=r"not created by a run of ours.*--allow-table made"):
            refused()
    run_of(account, "run-2", allow_table=("made",)).prepare(a_spec())
    assert "keyheat" not in account.tags("made"), "it does not become ours"


@pytest.mark.slow
def test_everything_that_is_in_the_way_is_said_at_once(account: Account) -> None:
    account.ddb.untag_resource(ResourceArn=earlier(account, name="foreign"), TagKeys=["keyheat"])
    earlier(account, name="protected")
    account.recover("protected")
    earlier(account, name="other", provisioned={"read": 50, "write": 7})
    with pytest.raises(TableRefused) as refused:
        look(account, "foreign", "protected", "other", "new")
    assert len(refused.value.errors) == 3
    assert "--allow-table foreign" in refused.value.errors[0]
    assert "--allow-protected protected" in refused.value.errors[1]
    assert "ProvisionedThroughput.ReadCapacityUnits is 50, not 5" in refused.value.errors[2]
    look(account, "foreign", "protected", allow_table=("foreign",), allow_protected=("protected",))


def test_an_own_table_that_is_another_one_is_loaded_only_as_it_is(account: Account) -> None:
    earlier(account, sort_key="sk")
    with pytest.raises(
        TableError, match=r"KeySchema\.sk is present, not absent\. Load it as it is with --table made"
    ):
        look(account, "made")
    with pytest.raises(TableError, match=r"KeySchema\.sk is present"):
        run_of(account, "run-2").prepare(a_spec())
    look(account, "made", table="made")
    with pytest.raises(TableError, match="table nobody is not there, and --table nobody"):
        look(account, "nobody", table="nobody")


def test_on_this_machine_no_table_is_somebodys(endpoint: EndpointProcess) -> None:
    here = target_at(endpoint.url)
    RunTables(target=here, run_id="run-1", alone=True).prepare(a_spec())
    (made,) = look_at_tables(here, ["made"]).values()
    check_tables([(a_spec(), made)], Guards(), datetime.now(UTC), local=True)
    RunTables(target=here, run_id="run-2", alone=True).prepare(a_spec())


def test_a_creation_that_never_ends_is_given_up() -> None:
    account = ours(create_s=10_000.0)
    tables = run_of(account)
    tables.sleep = lambda seconds: account.sleep(100 * seconds)
    with pytest.raises(TableError, match="not active in 600 s"):
        tables.prepare(a_spec())


@pytest.mark.opens
def test_a_target_that_is_not_there_is_said() -> None:
    with pytest.raises(TableError, match=r"http://127\.0\.0\.1:1"):
        look_at_tables(target_at("http://127.0.0.1:1"), ["made"])
