"""keyheat diagnose --log, beside what CloudWatch has of the same minutes."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.evidence import table as target
from tests.conftest import Verb
from tests.endpoint.asking import START, create
from tests.endpoint.clients import ServiceApp, service_app_at

MakeApp = Callable[..., ServiceApp]


@pytest.fixture
def app_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> MakeApp:
    """Makes a local table `orders`, ten minutes old, which is asked whatever the command says."""

    def make(**more: Any) -> ServiceApp:
        app = service_app_at(**more)
        create(app, "orders")
        app.clock.advance(635)
        monkeypatch.setattr(target, "boto3_clients", lambda **_options: app.client)
        return app

    return make


def log(start: datetime, seconds: int) -> None:
    """A throttled write each second, in `app.log`."""
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
    reason = f"{{'reason': 'TableWriteKeyRangeThroughputExceeded', 'resource': '{arn}'}}"
    lines = [f"{start + timedelta(seconds=second):%FT%TZ} {reason}" for second in range(seconds)]
    Path("app.log").write_text("\n".join(lines))


def test_a_window_ends_now_though_its_last_minute_goes_on(verb: Verb, app_at: MakeApp) -> None:
    app = app_at()
    now = datetime.fromtimestamp(app.clock(), UTC)
    log(now - timedelta(seconds=89), seconds=90)
    said = verb("diagnose", "orders", "--log", "app.log", "--out", "found")
    end = datetime.fromisoformat(json.loads(Path("found/evidence.json").read_text())["window"]["end"])
    assert now < end <= now + timedelta(seconds=2)
    assert said.says(f"to {end:%T} UTC")
    assert "newest minute published" not in said.out


def test_a_scaled_local_table_is_judged_by_what_it_admits(verb: Verb, app_at: MakeApp) -> None:
    """At scale 0.05 a partition takes 50 WCU/s; the advice is on the table as it is at scale 1."""
    app_at(scale=0.05)
    log(START + timedelta(minutes=5), seconds=30)
    said = verb("diagnose", "orders", "--log", "app.log", "--out", "found")
    assert json.loads(Path("found/evidence.json").read_text())["scale"] == 0.05
    assert said.says("One partition of the table sustains 1,000 WCU/s")


def test_a_log_of_another_region_counts_for_no_table_of_the_description(verb: Verb, home: Path) -> None:
    """The log is of us-east-1; table and metrics, with a measured zero, are of eu-central-1."""
    start = datetime(2026, 11, 20, 12, tzinfo=UTC)
    log(start + timedelta(minutes=5), seconds=90)
    at = [f"{start + timedelta(minutes=minute):%FT%TZ}" for minute in range(20)]
    metrics = []
    for name, value in (("ConsumedWriteCapacityUnits", 15_600.0), ("WriteThrottleEvents", 0.0)):
        points = [{"Timestamp": time, "Sum": value, "Unit": "Count"} for time in at]
        Path(f"orders-{name}.json").write_text(json.dumps({"Label": name, "Datapoints": points}))
        metrics += ["--metrics", f"orders-{name}.json"]
    arn = "arn:aws:dynamodb:eu-central-1:000000000000:table/orders"
    table = {
        "TableName": "orders", "TableArn": arn, "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 100, "WriteCapacityUnits": 900},
    }  # fmt: skip
    Path("table.json").write_text(json.dumps({"Table": table}))
    files = ("--log", "app.log", *metrics, "--describe-json", "table.json")
    said = verb("diagnose", "orders", *files, "--out", "found")
    assert said.code == 0, said.err
    assert said.says("90 throttles left out: of us-east-1, not eu-central-1")
