"""`keyheat init --from-metrics`: the rates of a table by what CloudWatch counted, and nothing made up."""

import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from botocore.stub import Stubber

from keyheat.evidence.cloudwatch import fetch
from keyheat.intake.measured import measure_traffic
from keyheat.intake.scenario import Demand, scenario_text
from keyheat.intake.sources import source_of
from keyheat.intake.tables import NotTaken
from keyheat.runs.formats import HotKey
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.simulator.masses import masses_of
from tests.endpoint.asking import START, create
from tests.endpoint.clients import ServiceApp, service_app_at, unasked_client


@pytest.fixture
def app() -> ServiceApp:
    """A table `orders`: an hour of 2 writes a second, in one minute of it 20, and reads in the next hour."""
    app = service_app_at()
    create(app, "orders")
    minutes = app.service.catalog.get("orders").model
    for minute in range(120):
        now_s = app.clock()
        puts = 1_200 if minute == 17 else 120 if minute < 60 else 0
        for _ in range(puts):
            minutes.minutes.completed("PutItem", 2.0, now_s)
        for _ in range(60 if minute >= 60 else 0):
            minutes.minutes.completed("Query", 2.0, now_s)
        minutes.resource(None).write.meter.accepted_many(max(puts, 1), 3.0 * puts, now_s)
        app.clock.advance(60)
    return app


def now(app: ServiceApp) -> datetime:
    return datetime.fromtimestamp(app.clock(), UTC)


def measured(cloudwatch: Any, now: datetime) -> Any:
    return measure_traffic(partial(fetch, lambda _service: cloudwatch, "orders"), [], days=14, now=now)


def test_the_busiest_minute_is_the_peak_and_the_scenario_says_where_its_rates_come_from(
    app: ServiceApp,
) -> None:
    found = measured(app.cloudwatch, now(app))
    assert found.peak_at == START + timedelta(minutes=17)
    tasks = {task.operation: (task.per_s, task.mean_per_s) for task in found.tasks}
    assert tasks == {
        "PutItem": (20.0, pytest.approx((59 * 120 + 1_200) / (3 * 3_600))),
        "Query": (0, pytest.approx(3_600 / (3 * 3_600))),  # nobody asked in that minute
    }
    table = source_of(app.ddb.describe_table(TableName="orders")["Table"]).tables[0]
    text = scenario_text(table, Demand(measured=found), "the live table", "schema.json")
    assert "# By CloudWatch, the busiest minute of 3 h was" in text
    assert "per_s = 20  # mean: 0.767/s" in text
    scenario = scenario_from_dict(tomllib.loads(text), "orders.toml")
    assert scenario.load.requests_per_s == pytest.approx(20 + 3_600 / (3 * 3_600), rel=1e-3)
    assert [task.operation for task in scenario.tasks] == ["put", "query"]


def test_the_hour_that_throttled_most_is_repeated_with_the_keys_that_it_names(app: ServiceApp) -> None:
    """The busiest minute of all did not throttle, and its items were small: it is not the one to repeat."""
    model = app.service.catalog.get("orders").model
    for _ in range(60):
        for _ in range(60):
            model.minutes.completed("PutItem", 2.0, app.clock())
            model.minutes.throttled_request("PutItem", app.clock())
        model.resource(None).write.meter.accepted_many(60, 60 * 17.0, app.clock())
        app.clock.advance(60)
    found = measured(app.cloudwatch, now(app))
    assert (found.throttled, found.hour.start) == (True, START + timedelta(hours=2))
    hot = HotKey(key="hot", share=0.98, throttles=3_600, units_per_s=34.0, direction="write")
    table = source_of(app.ddb.describe_table(TableName="orders")["Table"]).tables[0]
    demand = Demand(measured=replace(found, hot_keys=(hot,)))
    text = scenario_text(table, demand, "the live table", "schema.json")
    scenario = scenario_from_dict(tomllib.loads(text), "orders.toml")
    assert max(masses_of(scenario.keys.pattern()).shares) == pytest.approx(0.98, abs=0.001)
    assert scenario.tasks[0].per_s == 2.0, "accepted and throttled"
    assert -(-scenario.load.item_bytes // 1_024) == 17, "units of an item"


def test_a_table_that_nobody_asked_has_no_rates() -> None:
    app = service_app_at()
    create(app, "orders")
    app.clock.advance(7_200)
    assert measured(app.cloudwatch, now(app)) is None


def test_who_may_not_ask_is_told_what_it_takes() -> None:
    cloudwatch = unasked_client("cloudwatch")
    with Stubber(cloudwatch) as stub:
        stub.add_client_error("get_metric_data", "AccessDenied", "no identity-based policy allows it")
        with pytest.raises(NotTaken, match="--from-metrics needs cloudwatch:GetMetricData"):
            measured(cloudwatch, datetime(2026, 11, 23, tzinfo=UTC))
