"""Contributor Insights name the hot key of a table that others load."""

import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import boto3
import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.heat import key_spread
from keyheat.cli.main import main
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.server import build_router
from keyheat.endpoint.service import Service
from keyheat.runs.plausibility import read_evidence
from keyheat.scenario.keys import digest_of
from keyheat.show.charts.heat import throttled_key_table
from tests.endpoint.account import attributes, schema, table, units
from tests.endpoint.clients import FakeClock, ServiceApp
from tests.made_runs import load_evidence

pytestmark = pytest.mark.slow


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ServiceApp:
    """A service an hour ago, which boto3 in this process talks to."""
    clock = FakeClock(time.time() // 3600 * 3600 - 3600)
    service = Service(clock=clock, seed=1)
    made = ServiceApp(clock, service, build_router(Regions(service)))
    clients = {"dynamodb": made.ddb, "cloudwatch": made.cloudwatch}
    session = SimpleNamespace(client=lambda service, **_options: clients[service], region_name="us-east-1")
    monkeypatch.setattr(boto3, "Session", lambda **_options: session)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    monkeypatch.chdir(tmp_path)
    return made


def load(app: ServiceApp, mode: str | None) -> tuple[datetime, datetime]:
    """A minute of writes, nearly all of them to one key, which a partition cannot take; gives the window."""
    keyed = {"KeySchema": schema("customer"), "AttributeDefinitions": attributes("customer")}
    app.ddb.create_table(**table(**keyed, ProvisionedThroughput=units(10, 10_000)))
    start_s = app.clock()
    if mode is not None:
        app.ddb.update_contributor_insights(
            TableName="orders", ContributorInsightsAction="ENABLE", ContributorInsightsMode=mode
        )
    for second in range(1, 60):
        app.clock.advance(1)
        for number in range(8):
            write(app, "whale" if number else f"minnow-{second}")
    app.clock.advance(61)
    return datetime.fromtimestamp(start_s, UTC), datetime.fromtimestamp(start_s + 60, UTC)


def write(app: ServiceApp, customer: str) -> None:
    """390 units."""
    item = {"customer": {"S": customer}, "basket": {"S": "x" * 399_000}}
    with suppress(app.ddb.exceptions.ProvisionedThroughputExceededException):
        app.ddb.put_item(TableName="orders", Item=item)


def test_a_window_is_checked_by_the_clock_of_the_endpoint(app: ServiceApp) -> None:
    app.clock.advance(2 * 86_400)
    start, end = (f"{at:%FT%TZ}" for at in load(app, None))
    there = ["--table", "orders", "--endpoint-url", "http://127.0.0.1:8000"]
    assert main(["collect", *there, "--start", start, "--end", end, "--out", "moved.json"]) == 0
    assert read_evidence(Path("moved.json")).series


def collect_and_analyze(window: tuple[datetime, datetime], *, keys: bool = True) -> None:
    start, end = (f"{at:%FT%TZ}" for at in window)
    shown = ["--show-keys"] if keys else []
    assert main(["collect", "--table", "orders", "--start", start, "--end", end, *shown]) == 0
    assert main(["analyze", "--evidence", "evidence.json"]) == 0


def test_the_hot_key_of_a_table_that_we_never_loaded_is_named(app: ServiceApp) -> None:
    collect_and_analyze(load(app, "ACCESSED_AND_THROTTLED_KEYS"))
    found = read_evidence(Path("evidence.json"))
    assert not [line for line in found.missing if "Contributor" in line]
    hot = diagnosed(found).hot_keys[0]
    assert (hot.key, hot.shown, hot.direction) == (digest_of("whale"), "whale", "write")
    assert hot.units_per_s > 500
    assert hot.throttles > 100
    spread = key_spread(found)
    assert (spread.spread, spread.top) == ("one_key", digest_of("whale"))


def test_throttled_keys_alone_stay_digests_and_are_in_the_report(app: ServiceApp) -> None:
    collect_and_analyze(load(app, "THROTTLED_KEYS"), keys=False)
    assert "whale" not in Path("evidence.json").read_text()
    table = throttled_key_table(load_evidence(Path("evidence.json")))
    assert table.rows[0]["key"].startswith("sha256:")
    assert table.rows[0]["resource"] == "the table"
