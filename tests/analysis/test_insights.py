"""Contributor Insights read from AWS, and what the keys that it names say."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from keyheat.analysis.heat import insight_heats, key_spread
from keyheat.evidence.contributors import ContributorsFound, ContributorsReader
from keyheat.runs.formats import Contributor, Contributors, Evidence, IndexFacts, Series, TableFacts, Window
from keyheat.scenario.keys import digest_of

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
WINDOW = Window(start=START, end=START + 10 * MINUTE)
TABLE = TableFacts(name="orders")
MADE_MS = int(START.timestamp()) * 1000


@pytest.fixture
def aws() -> Iterator[SimpleNamespace]:
    """boto3's clients with botocore's Stubber in place of AWS, which checks every request and answer."""
    clients = {
        name: boto3.client(name, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        for name in ("dynamodb", "cloudwatch")
    }
    stubs = {name: Stubber(client) for name, client in clients.items()}
    slept: list[float] = []
    with stubs["dynamodb"], stubs["cloudwatch"]:
        yield SimpleNamespace(
            factory=clients.__getitem__,
            ddb=stubs["dynamodb"],
            cloudwatch=stubs["cloudwatch"],
            slept=slept,
        )
        for stub in stubs.values():
            stub.assert_no_pending_responses()


def read(
    aws: SimpleNamespace,
    table: TableFacts = TABLE,
    window: Window = WINDOW,
    *,
    wanted: bool = True,
    show_keys: bool = False,
) -> ContributorsFound:
    reader = ContributorsReader(
        client_factory=aws.factory, sleep=aws.slept.append, wanted=wanted, show_keys=show_keys
    )
    return reader.read(table, window)


def name(kind: str, resource: str = "orders", made_ms: int = MADE_MS) -> str:
    return f"DynamoDBContributorInsights-{kind}-{resource}-{made_ms}"


def describes(aws: SimpleNamespace, *kinds: str, made_ms: int = MADE_MS) -> None:
    answer: dict[str, Any] = {"ContributorInsightsStatus": "ENABLED" if kinds else "DISABLED"}
    if kinds:
        answer["ContributorInsightsRuleList"] = [name(kind, made_ms=made_ms) for kind in kinds]
    aws.ddb.add_response("describe_contributor_insights", answer, {"TableName": "orders"})


def reports(aws: SimpleNamespace, values: dict[str, dict[datetime, float]], **asked: Any) -> None:
    contributors = [
        {
            "Keys": [key],
            "ApproximateAggregateValue": sum(points.values()),
            "Datapoints": [{"Timestamp": at, "ApproximateValue": value} for at, value in points.items()],
        }
        for key, points in values.items()
    ]
    answer = {
        "KeyLabels": ["customer"],
        "AggregateValue": sum(sum(points.values()) for points in values.values()),
        "Contributors": contributors,
    }
    expected = {
        "RuleName": ANY, "StartTime": ANY, "EndTime": ANY, "Period": 60, "MaxContributorCount": 25,
        "OrderBy": "Sum",
    }  # fmt: skip
    aws.cloudwatch.add_response("get_insight_rule_report", answer, expected | asked)


def test_where_it_is_off_that_is_said_and_no_error(aws: SimpleNamespace) -> None:
    describes(aws)
    assert read(aws) == ContributorsFound(
        None, ("Contributor Insights: it is off for the table and its indexes, so no key is named",)
    )


def test_where_the_client_names_the_keys_nothing_is_said(aws: SimpleNamespace) -> None:
    describes(aws)
    assert read(aws, wanted=False) == ContributorsFound(None)


def test_a_rules_keys_become_digests(aws: SimpleNamespace) -> None:
    describes(aws, "PKC", "SKC", "PKT", "SKT")
    reports(aws, {"ann": {START: 9.0, START + MINUTE: 6.0}, "bob": {START: 3.0}}, RuleName=name("PKC"))
    reports(aws, {}, RuleName=name("PKT"), StartTime=WINDOW.start, EndTime=WINDOW.end)
    found = read(aws)
    assert found.missing == ()
    assert found.contributors is not None
    accessed, throttled = found.contributors
    assert (accessed.counts, accessed.total, accessed.period_s) == ("accessed", 18.0, 60)
    assert accessed.keys == (
        Contributor(key=digest_of("ann"), value=15.0, points=((START, 9.0), (START + MINUTE, 6.0))),
        Contributor(key=digest_of("bob"), value=3.0, points=((START, 3.0),)),
    )
    assert (throttled.counts, throttled.keys) == ("throttled", ())
    assert "ann" not in found.contributors[0].model_dump_json()


def test_keys_are_shown_where_asked(aws: SimpleNamespace) -> None:
    describes(aws, "PKT")
    reports(aws, {"ann": {START: 9.0}})
    found = read(aws, show_keys=True)
    assert found.contributors is not None
    assert found.contributors[0].keys[0].shown == "ann"


def test_no_more_than_twenty_reports_a_second(aws: SimpleNamespace) -> None:
    describes(aws, "PKC", "PKT")
    reports(aws, {"ann": {START: 1.0}})
    reports(aws, {})
    read(aws)
    assert aws.slept == [0.05, 0.05]


def test_every_index_is_asked_for_its_own(aws: SimpleNamespace) -> None:
    table = TableFacts(name="orders", indexes=(IndexFacts(name="by-shop"),))
    describes(aws)
    aws.ddb.add_response(
        "describe_contributor_insights",
        {"ContributorInsightsRuleList": [name("PKT", "orders-by-shop")]},
        {"TableName": "orders", "IndexName": "by-shop"},
    )
    reports(aws, {"north": {START: 30.0}}, RuleName=name("PKT", "orders-by-shop"))
    found = read(aws, table)
    assert found.contributors is not None
    assert [rule.index for rule in found.contributors] == ["by-shop"]


def test_a_long_window_is_asked_for_day_by_day_and_by_the_hour(aws: SimpleNamespace) -> None:
    describes(aws, "PKC")
    window = Window(start=START, end=START + 2 * DAY + MINUTE)
    reports(aws, {"ann": {START: 3.0}}, Period=3600, StartTime=START, EndTime=START + DAY)
    reports(aws, {"bob": {START + DAY: 6.0}, "ann": {START + DAY: 1.0}}, Period=3600)
    reports(aws, {}, Period=3600, StartTime=START + 2 * DAY, EndTime=window.end)
    found = read(aws, window=window)
    assert found.contributors is not None
    (rule,) = found.contributors
    assert (rule.total, [key.value for key in rule.keys]) == (10.0, [6.0, 4.0])
    assert [at for at, _ in rule.keys[1].points] == [START, START + DAY]


def test_what_is_not_permitted_is_said(aws: SimpleNamespace) -> None:
    aws.ddb.add_client_error("describe_contributor_insights", "AccessDeniedException", "not yours")
    found = read(aws)
    assert found.contributors is None
    assert "not yours" in found.missing[0]
    describes(aws, "PKC")
    aws.cloudwatch.add_client_error("get_insight_rule_report", "AccessDenied", "nor that")
    found = read(aws, wanted=False)
    assert found.contributors is None
    assert name("PKC") in found.missing[0]
    assert "nor that" in found.missing[0]


@pytest.mark.parametrize(
    ("made_after", "said"),
    [
        (timedelta(0), "counted nothing in the window"),
        (5 * MINUTE, "counts since 2026-11-20T12:05:00Z only"),
        (20 * MINUTE, "is newer than the window"),
    ],
)
def test_a_rule_without_data_says_why(aws: SimpleNamespace, made_after: timedelta, said: str) -> None:
    describes(aws, "PKC", made_ms=MADE_MS + round(made_after.total_seconds() * 1000))
    if made_after < 10 * MINUTE:
        reports(aws, {})
    assert any(said in line for line in read(aws).missing)


def counted(counts: Any, values: dict[str, float], total: float | None = None) -> Contributors:
    """A report of one minute."""
    return Contributors(
        rule="DynamoDBContributorInsights-PKT-orders-1",
        counts=counts,
        period_s=60,
        total=sum(values.values()) if total is None else total,
        keys=tuple(
            Contributor(key=key, value=value, points=((START, value),)) for key, value in values.items()
        ),
    )


def evidence(*rules: Contributors, **sums: float) -> Evidence:
    series = tuple(
        Series(metric=metric, statistic="Sum", period_s=60, points=((START, value),))
        for metric, value in sums.items()
    )
    return Evidence(table=TABLE, window=WINDOW, series=series, contributors=rules or None)


EVEN = {f"k{n}": 10.0 for n in range(25)}


@pytest.mark.parametrize(
    ("values", "total", "spread"),
    [
        ({"hot": 90.0, "k": 5.0}, 100.0, "one_key"),
        ({"hot": 50.0}, 100.0, "one_key"),
        ({"a": 25.0, "b": 25.0, "c": 25.0, "d": 25.0}, 100.0, "few_keys"),
        (EVEN, 1000.0, "even"),
        (EVEN, 250.0, "few_keys"),
        ({"hot": 19.0}, 19.0, None),
        ({}, 0.0, None),
    ],
)
def test_throttles_on_one_key_or_on_many(values: dict[str, float], total: float, spread: str | None) -> None:
    found = key_spread(evidence(counted("throttled", values, total)))
    assert (found.spread if found else None) == spread


def test_without_the_rule_the_spread_is_not_known() -> None:
    assert key_spread(evidence()) is None
    assert key_spread(evidence(counted("accessed", {"hot": 100.0}))) is None
    assert key_spread(evidence(counted("throttled", {"hot": 100.0})), "by-shop") is None


def test_a_hot_key_has_what_it_consumed_and_one_unit_for_each_throttle() -> None:
    rules = (
        counted("accessed", {"hot": 180_000.0, "cold": 1_800.0}, 200_000.0),
        counted("throttled", {"hot": 30_000.0}),
    )
    (heat,) = insight_heats(evidence(*rules, ConsumedWriteCapacityUnits=66_000.0))
    assert heat.direction == "write"
    hot, cold = heat.hottest
    assert (hot.key, hot.throttles, cold.throttles) == ("hot", 30_000, 0)
    assert hot.units_per_s == pytest.approx((60_000 + 30_000) / 60)
    assert hot.share == pytest.approx(90_000 / (200_000 / 3 + 30_000))
    assert cold.units_per_s == pytest.approx(10.0)


def test_throttles_alone_are_a_lower_bound_of_the_demand() -> None:
    rule = counted("throttled", {"hot": 6_000.0})
    sums = {"ConsumedReadCapacityUnits": 54_000.0, "ReadThrottleEvents": 6_000.0, "WriteThrottleEvents": 0.0}
    (heat,) = insight_heats(evidence(rule, **sums))
    assert heat.direction == "read"
    assert heat.hottest[0].units_per_s == 100.0
    assert heat.hottest[0].share == pytest.approx(0.1)


def test_keys_of_mixed_traffic_have_no_direction_and_so_no_heat() -> None:
    rule = counted("accessed", {"hot": 180_000.0})
    mixed = evidence(rule, ConsumedWriteCapacityUnits=1_000.0, ConsumedReadCapacityUnits=1_000.0)
    assert insight_heats(mixed) == ()
    assert insight_heats(evidence(rule)) == ()
