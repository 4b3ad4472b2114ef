"""Evidence as it is asked for: live tables over any window, and files of the AWS CLI without any access."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest

from keyheat.cli.options import TimeWindow, a_time, in_utc
from keyheat.evidence import request as evidence_request
from keyheat.evidence.cloudwatch import MetricSource, silent
from keyheat.evidence.collection import collect_table
from keyheat.evidence.request import EvidenceRequest, evidence_for, window_of
from keyheat.evidence.table import facts_during
from keyheat.flags import TimeSpan
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, Window
from keyheat.runs.plausibility import sound
from keyheat.runs.table_facts import IndexFacts, TableFacts
from keyheat.words import Capacity
from tests.endpoint.asking import START, with_orders
from tests.endpoint.clients import FakeClock, service_app_at
from tests.evidence.conftest import ORDERS, FakeAws

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
PROVISIONED_ON = {"TableName": "orders", "ProvisionedThroughput": {"WriteCapacityUnits": 50}}
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def kept(stat: Any, start: datetime, end: datetime) -> list[tuple[datetime, float]]:
    """A point for each period of what is always published: 1 unit a second, 50 provisioned.

    Minutes are kept 15 days, five minutes 63 days, hours 455 days. A query with a Period that is no multiple
    of what is kept for its StartTime is answered without a point.
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
    """
    period_s, name = stat["Period"], stat["Metric"]["MetricName"]
    finest = next((p for days, p in ((15, 60), (63, 300), (455, 3_600)) if NOW - start < days * DAY), None)
    if finest is None or period_s % finest or "Write" not in name or "Throttle" in name:
        return []
    step_s = 300 if name.startswith("Provisioned") else 60
    value = 50.0 if step_s == 300 else float(period_s)
    first_s = -(-int(start.timestamp()) // finest) * finest // period_s * period_s
    return [
        (datetime.fromtimestamp(at, UTC), value)
        for at in range(first_s, int(end.timestamp()), max(period_s, step_s))
    ]


def consumption(found: Evidence) -> Any:
    (series,) = [one for one in found.series if one.metric == metrics.consumed("write") and not one.index]
    return series


AGES = [
    # age of the window's start, its length, the period that is left of it
    (timedelta(hours=3), timedelta(hours=1), 60),
    (15 * DAY - 5 * MINUTE, timedelta(hours=1), 300),  # what is asked for begins before the border
    (15 * DAY + MINUTE, 3 * DAY, 300),  # crosses it: the start decides
    (63 * DAY - 30 * MINUTE, timedelta(hours=6), 3_600),
    (454 * DAY, timedelta(hours=6), 3_600),
]


@pytest.mark.parametrize(("age", "length", "period_s"), AGES)
def test_a_window_is_answered_in_the_kept_period(age: timedelta, length: timedelta, period_s: int) -> None:
    start = NOW - age
    aws = FakeAws(points=kept, table=PROVISIONED_ON, clock=FakeClock(NOW.timestamp()), page_points=997)
    found = aws.collected(Window(start=start, end=start + length))
    assert aws.waited == []
    series = consumption(found)
    assert series.period_s == period_s
    overlapping = -(-(start + length).timestamp() // period_s) - start.timestamp() // period_s
    assert len(series.points) == overlapping
    (provisioned,) = [
        one for one in found.series
        if one.metric == metrics.provisioned("write") and one.statistic == "Average"
    ]  # fmt: skip
    assert provisioned.points[0][0] <= start  # carried into the window
    assert all(line.startswith("Contributor Insights") for line in found.missing)
    assert sound(found) == found


def test_a_table_that_was_deleted_meanwhile() -> None:
    app = with_orders(service_app_at())
    app.ddb.delete_table(TableName="orders")
    app.clock.advance(3_600)

    source = MetricSource(client_factory=app.client, clock=app.clock, sleep=app.clock.advance)
    collect = partial(collect_table, source, window=Window(start=START, end=START + 3 * MINUTE))
    found = collect(ORDERS)
    assert [value for _, value in consumption(found).points] == [10.0, 10.0, 10.0]
    assert found.table == ORDERS
    assert any("ResourceNotFoundException" in line for line in found.missing)
    assert any("none was named with --index" in line for line in found.missing)
    named = collect(TableFacts(name="orders", indexes=(IndexFacts(name="by_day"),)))
    assert {one.index for one in named.series} == {None, "by_day"}
    assert not any("--index" in line for line in named.missing)


WINDOWS: list[tuple[datetime, datetime, str]] = [
    (NOW, NOW, "is not after --start"),
    (NOW - DAY, NOW + DAY, "is in the future; the latest accepted is 2026-11-20T12:30:00Z"),
    (NOW - 456 * DAY, NOW - 455 * DAY, "CloudWatch keeps 455 days, back to 2025-08-22T12:30:00Z"),
    (NOW - 500 * DAY, NOW, "455 days at most"),
]


@pytest.mark.parametrize(("start", "end", "message"), WINDOWS)
def test_an_impossible_window_is_refused(start: datetime, end: datetime, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        window_of(start, end, NOW)


def test_an_open_window_ends_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes are published two minutes late, and nothing is waited for."""
    aws = FakeAws(points=kept, table=PROVISIONED_ON, clock=FakeClock(NOW.timestamp()), delay_s=120)
    monkeypatch.setattr(evidence_request, "boto3_clients", lambda **_of: aws.factory)
    request, now = EvidenceRequest(table="orders", last=30 * MINUTE), NOW + timedelta(seconds=20)
    found = evidence_for(request, clock=now.timestamp, progress=pytest.fail)
    assert (found.window.start, found.window.end) == (NOW - 30 * MINUTE, NOW - 2 * MINUTE)
    assert sound(found) == found


TOGETHER = [
    ({"table": "t", "metrics": (Path("a"),), "last": DAY}, "give both --start and --end"),
    ({"table": "t", "last": DAY, "start": NOW}, "leave out --start and --end"),
    ({"folder": Path("run"), "table": "t", "region": "x"}, "leave out --table, --region"),
    ({"table": "t", "metrics": (Path("a"),), "profile": "p"}, "makes no calls: leave out --profile"),
    ({"table": "t", "described": Path("d")}, "goes with --metrics"),
    ({"table": "t"}, "give the time"),
    ({}, "name a run or table"),
]


@pytest.mark.parametrize(("options", "message"), TOGETHER)
def test_options_that_do_not_go_together(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evidence_for(EvidenceRequest(**options), clock=NOW.timestamp, progress=silent)


def at(moment: datetime) -> str:
    """As AWS CLI v2 prints it."""
    return moment.isoformat()


def on_demand_since(moment: datetime) -> dict[str, Any]:
    return {"BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": at(moment)}


THEN = Window(start=NOW - DAY, end=NOW - DAY + MINUTE)
BEFORE, AFTER = NOW - 30 * DAY, NOW - MINUTE


INCREASED = {"ProvisionedThroughput": {"WriteCapacityUnits": 50, "LastIncreaseDateTime": at(AFTER)}}
SWITCHED = {"BillingModeSummary": on_demand_since(AFTER)}


@pytest.mark.parametrize(
    ("change", "field", "value", "said"),
    [
        ({}, "billing_mode", "PROVISIONED", ""),
        ({"CreationDateTime": at(AFTER)}, "provisioned", None, "this one was created at"),
        ({"CreationDateTime": AFTER.timestamp()}, "billing_mode", None, "this one was created at"),
        (SWITCHED, "billing_mode", None, "the billing mode: it was changed"),
        (SWITCHED, "on_demand_since", AFTER, "the billing mode: it was changed"),
        ({"BillingModeSummary": on_demand_since(BEFORE)}, "billing_mode", "PAY_PER_REQUEST", ""),
        (INCREASED, "provisioned", None, "provisioned capacity"),
        (INCREASED, "provisioned_now", Capacity(write=50), "provisioned capacity"),
    ],
)
def test_a_description_counts_as_far_as_it_held_then(change: Any, field: str, value: Any, said: str) -> None:
    facts, lines = facts_during({**PROVISIONED_ON, **change}, THEN, ORDERS)
    assert getattr(facts, field) == value
    assert said in "".join(lines)
    assert bool(said) == bool(lines)


@pytest.mark.parametrize(
    ("typed", "after", "meant"),
    [
        ("07:36", None, datetime(2026, 11, 20, 7, 36, tzinfo=UTC)),
        ("08:20", datetime(2026, 11, 19, 7, 50, tzinfo=UTC), datetime(2026, 11, 19, 8, 20, tzinfo=UTC)),
        ("2026-11-18 07:36", None, datetime(2026, 11, 18, 7, 36, tzinfo=UTC)),
        ("2026-11-18T07:36Z", None, datetime(2026, 11, 18, 7, 36, tzinfo=UTC)),
    ],
)
def test_a_time_is_taken_as_people_type_it(typed: str, after: datetime | None, meant: datetime) -> None:
    assert in_utc(a_time.convert(typed, None, None), NOW, after=after) == meant


def test_a_time_later_than_now_is_not_taken_for_yesterday_nor_an_end_before_its_start() -> None:
    with pytest.raises(click.UsageError, match=r'12:40 is later than now, 12:30 UTC; .* "2026-11-19 12:40"'):
        in_utc(a_time.convert("12:40", None, None), NOW)
    start, end = (a_time.convert(typed, None, None) for typed in ("12:20", "12:10"))
    with pytest.raises(click.UsageError, match=r"--end 12:10 is not after --start 12:20; write"):
        TimeWindow(start=start, end=end).at(NOW)


@pytest.mark.parametrize(("typed", "meant"), [("90m", 90 * MINUTE), ("3h", 180 * MINUTE), ("2d", 2 * DAY)])
def test_a_length_of_time_is_taken_as_people_type_it(typed: str, meant: timedelta) -> None:
    assert TimeSpan().convert(typed, None, None) == meant
    with pytest.raises(click.UsageError, match="such as 90m, 3h or 2d"):
        TimeSpan().convert(typed[:-1], None, None)
