"""`keyheat init --from-metrics`: a scenario of a table's worst hour, by what CloudWatch counted."""

import tomllib
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber

from keyheat.evidence import table as target
from keyheat.evidence.cloudwatch import fetch
from keyheat.intake.measured import worst_hour
from keyheat.intake.tables import NotTaken
from keyheat.model.resources import Cause
from tests.conftest import Verb
from tests.endpoint.asking import START, create
from tests.endpoint.clients import ServiceApp, service_app_at, unasked_client


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ServiceApp:
    """A table `orders`: an hour of 2 writes a second, in one minute of it 20, and fewer reads after it."""
    app = service_app_at()
    create(app, "orders")
    for minute in range(120):
        minute_of(app, puts=1_200 if minute == 17 else 120 if minute < 60 else 0, reads=minute >= 60, units=3)
    monkeypatch.setattr(target, "boto3_clients", lambda **_options: app.client)
    monkeypatch.chdir(tmp_path)
    return app


def minute_of(app: ServiceApp, *, puts: int, units: float, reads: bool = False, throttled: int = 0) -> None:
    """A minute of requests, of writes with so many units each, with the throttled ones of a partition."""
    model, now_s = app.service.catalog.get("orders").model, app.clock()
    for _ in range(puts):
        model.minutes.completed("PutItem", 2.0, now_s)
    for _ in range(60 * reads):
        model.minutes.completed("Query", 2.0, now_s)
    for _ in range(throttled):
        model.minutes.throttled_request("PutItem", now_s)
    meter = model.resource(None).write.meter
    meter.accepted_many(puts, units * puts, now_s)
    meter.refused(Cause.KEY_RANGE, now_s, throttled)
    app.clock.advance(60)


def measured(verb: Verb) -> tuple[dict[str, Any], str]:
    said = verb("init", "--table", "orders", "--from-metrics", "--endpoint-url", "http://127.0.0.1:8000")
    assert said.code == 0, said.err
    text = Path("orders.toml").read_text()
    return tomllib.loads(text), text


def test_the_busiest_minute_of_the_busiest_hour_is_the_peak(app: ServiceApp, verb: Verb) -> None:
    raw, text = measured(verb)
    peak = START + timedelta(minutes=17)
    assert f"# By CloudWatch, the busiest minute of the busiest hour of 14 d was {peak:%FT%RZ}:" in text
    assert raw["tasks"] == [{"operation": "put", "per_s": 20}], "nobody read in that minute"
    assert f"per_s = 20  # mean: {(59 * 120 + 1_200) / 3_600:.3g}/s" in text
    assert raw["load"]["item_bytes"] == (3 - 0.5) * 1_024


def test_the_hour_that_throttled_most_is_repeated_with_its_key(app: ServiceApp, verb: Verb) -> None:
    """The busiest minute of all did not throttle, and its items were small: it is not the one to repeat."""
    for _ in range(60):
        minute_of(app, puts=60, units=17, throttled=60)
    raw, text = measured(verb)
    assert "the busiest throttled minute of the hour that throttled most was" in text
    assert raw["tasks"] == [{"operation": "put", "per_s": 2}], "accepted and throttled"
    assert -(-raw["load"]["item_bytes"] // 1_024) == 17, "units of an item"
    assert raw["keys"] == {"kind": "hot_key", "share": 1, "keys": 1_000}
    assert "ASSUMED: no key is named; one key with this share throttles as much" in text


def test_a_table_that_nobody_asked_has_no_rates(
    verb: Verb, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    app = service_app_at()
    create(app, "orders")
    app.clock.advance(7_200)
    monkeypatch.setattr(target, "boto3_clients", lambda **_options: app.client)
    monkeypatch.chdir(tmp_path)
    _raw, text = measured(verb)
    assert "By CloudWatch" not in text


def test_who_may_not_ask_is_told_what_it_takes() -> None:
    cloudwatch = unasked_client("cloudwatch")
    with Stubber(cloudwatch) as stub:
        stub.add_client_error("get_metric_data", "AccessDenied", "no identity-based policy allows it")
        fetch_orders = partial(fetch, lambda _service: cloudwatch, "orders")
        with pytest.raises(NotTaken, match="--from-metrics needs cloudwatch:GetMetricData"):
            worst_hour(fetch_orders, days=14, now=datetime(2026, 11, 23, tzinfo=UTC))
