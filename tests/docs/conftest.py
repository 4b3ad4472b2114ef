"""Where the reader of a page stands, and what is there before the first command: a fixture for each world."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import NoCredentialsError
from moto import mock_aws

from keyheat.evidence import request
from keyheat.evidence import table as target
from keyheat.testing.local import LocalDynamoDB
from tests.docs.page import ROOT, code_of
from tests.docs.reader import Reader
from tests.docs.table import NEEDS, Needs
from tests.endpoint.clients import ServiceApp, service_app_at
from tests.make import a_suite
from tests.outside import free_port
from tests.regression.outcomes import twelve_sessions

LINKED = ("loadtests", "configs", "docs", "examples", "deploy", "analyzers", "tests/analysis/examples")
ORDERS: dict[str, Any] = {
    "TableName": "orders",
    "KeySchema": [{"AttributeName": "customer", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "customer", "AttributeType": "S"}],
}
SMALL_SUITE = a_suite("smoke", "load.duration_s=3", "table.provisioned.write=2", more='expects = "table"')
FAILING = """
import boto3
import keyheat
import pytest


def test_hot():
    keyheat.assert_no_hot_partition("scenarios/orders.toml")


@pytest.mark.parametrize("time", [1, 2])
def test_tables_of_the_session_stay(dynamodb_local_session, time):
    if time == 1:
        boto3.client("dynamodb").create_table(
            TableName="kept",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    assert len(dynamodb_local_session.tables()) == 1
"""


@pytest.fixture
def repository(
    page: str, tmp_path: Path, verb: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Reader:
    """A folder that looks like the repository, with the files that the page tells to write."""
    for name in LINKED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    needs = NEEDS.get(page, Needs())
    for name, (language, number) in needs.files.items():
        (tmp_path / name).write_text(code_of(page, language)[number], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("KEYHEAT_HISTORY", "KEYHEAT_SUITE"):
        monkeypatch.delenv(name, raising=False)
    moved = {"--prometheus-port 9464": f"--prometheus-port {free_port()}"}
    return Reader(folder=tmp_path, run_verb=verb, patch=monkeypatch, needs=needs, moved=moved)


@pytest.fixture
def hot_run(repository: Reader) -> Reader:
    """A run of `hotkey`, simulated."""
    repository.run("keyheat simulate hotkey --out reports/out/hotkey")
    return repository


@pytest.fixture
def local(repository: Reader, dynamodb_local: LocalDynamoDB) -> Reader:
    """The session's local table, empty; SDKs find it."""
    repository.url = dynamodb_local.url
    return repository


@pytest.fixture
def account(local: Reader) -> Iterator[Reader]:
    """An account without tables, beside the local table."""
    for name in ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_REGION", "AWS_DEFAULT_REGION"):
        local.patch.delenv(name, raising=False)
    with mock_aws():
        yield local


@pytest.fixture
def orphans(account: Reader) -> Reader:
    """Two tables that runs left behind, one of them protected, and one of somebody else's."""
    ddb = boto3.client("dynamodb", region_name="eu-west-1")
    on_demand, protected = {"BillingMode": "PAY_PER_REQUEST"}, {"DeletionProtectionEnabled": True}
    capacity = {"ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 4_000}}
    for name, run, expires, more in (
        ("keyheat-hotkey", "3f2a1c9d04be", "2026-11-20T10:15:00Z", capacity),
        ("keyheat-orders", "77e0aa51c3d2", "2026-11-20T11:00:00Z", on_demand | protected),
    ):
        tags = {"keyheat": run, "keyheat-owner": "ann", "keyheat-expires": expires}
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        ddb.create_table(**{**ORDERS, "TableName": name}, Tags=listed, **more)
    ddb.create_table(**ORDERS, **on_demand)
    return account


def a_table_with_insights() -> ServiceApp:
    """A table of others, with Contributor Insights, one key of which was hot for a minute, an hour ago."""
    app = service_app_at()
    app.clock.now_s = time.time() // 3600 * 3600 - 3600
    app.ddb.create_table(
        **ORDERS, ProvisionedThroughput={"ReadCapacityUnits": 10, "WriteCapacityUnits": 10_000}
    )
    app.ddb.update_contributor_insights(
        TableName="orders",
        ContributorInsightsAction="ENABLE",
        ContributorInsightsMode="ACCESSED_AND_THROTTLED_KEYS",
    )
    item = {"customer": {"S": "whale"}, "basket": {"S": "x" * 300_000}}  # 300 units
    for _second in range(59):
        app.clock.advance(1)
        for _ in range(6):
            try:
                app.ddb.put_item(TableName="orders", Item=item)
            except app.ddb.exceptions.ProvisionedThroughputExceededException:
                continue
    return app


@pytest.fixture
def incident(repository: Reader) -> Reader:
    """The files that somebody has after an incident, and Contributor Insights on a table."""

    def refused(_service: str) -> Any:
        raise NoCredentialsError

    app = a_table_with_insights()
    end = datetime.fromtimestamp(app.clock() // 60 * 60 + 60, UTC)
    app.clock.advance(120)
    repository.patch.setattr(request, "boto3_clients", lambda **_options: app.client)
    repository.patch.setattr("time.sleep", lambda _seconds: None)
    repository.moved = {
        "2026-11-20T12:00:00Z": f"{end - timedelta(minutes=1):%FT%TZ}",
        "2026-11-20T12:30:00Z": f"{end:%FT%TZ}",
    }
    repository.patch.setattr(target, "boto3_clients", lambda **_options: refused)
    shutil.copy(ROOT / "tests" / "evidence" / "logs" / "s3-export.log", "app.log")
    minutes = [f"2026-11-20T12:{minute:02}:00Z" for minute in range(10)]
    rows = [
        f"{at},ConsumedWriteCapacityUnits,orders,180\n{at},WriteThrottleEvents,orders,720" for at in minutes
    ]  # the capacity is small and the demand far above it: a replay spends its burst capacity in a minute
    Path("export.csv").write_text("\n".join(["time,metric,resource,value", *rows]))
    described = {**ORDERS, "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 3}}
    Path("table.json").write_text(json.dumps({"Table": described}))
    points = [{"Timestamp": at, "Sum": 3.0, "Unit": "Count"} for at in minutes]
    Path("w.json").write_text(json.dumps({"Label": "WriteThrottleEvents", "Datapoints": points}))
    return repository


@pytest.fixture
def suites(repository: Reader) -> Reader:
    """A suite of the same name as ours, which takes a moment, and sessions of another one."""
    twelve_sessions(Path("reports/history.sqlite").absolute())
    Path("suites").mkdir()
    Path("suites/smoke.toml").write_text(SMALL_SUITE)
    repository.patch.setattr("keyheat.regression.suite.SUITES", Path("suites").absolute())
    repository.patch.setenv("GITHUB_STEP_SUMMARY", "step.md")
    return repository


@pytest.fixture
def newcomer(repository: Reader) -> Reader:
    """The repository, whose first suite takes a moment; that ours is right is tested in tests/regression."""
    Path("configs").unlink()
    shutil.copytree(ROOT / "configs", "configs")
    Path("configs/suites/smoke.toml").write_text(SMALL_SUITE)
    return repository


@pytest.fixture
def team(repository: Reader) -> Reader:
    """The root of a team's repository, with what DescribeTable said of its table."""
    Path(".git").mkdir()
    described = {**ORDERS, "ProvisionedThroughput": {"ReadCapacityUnits": 1_000, "WriteCapacityUnits": 1_000}}
    Path("orders.json").write_text(json.dumps({"Table": described}))
    return repository


@pytest.fixture
def your_table(repository: Reader) -> Reader:
    """The examples of the page in the reader's folder."""
    for file in (ROOT / "examples" / "your-table").iterdir():
        shutil.copy(file, ".")
    return repository


@pytest.fixture
def project(local: Reader) -> Reader:
    """The example project, with a test that fails."""
    example = ROOT / "examples" / "pytest-project"
    shutil.copytree(example, ".", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    Path("tests/test_hot.py").write_text(FAILING)
    return local
