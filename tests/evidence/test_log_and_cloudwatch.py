"""keyheat diagnose --log, beside what CloudWatch has of the same minutes."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.evidence import target
from tests.endpoint.asking import START, create
from tests.endpoint.clients import ServiceApp, service_app_at

Verb = Callable[..., Any]
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
