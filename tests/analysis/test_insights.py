"""Contributor Insights read from AWS, and what the keys that it names say."""

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.analysis.changes import changes
from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.facts import facts_of
from keyheat.analysis.heat import index_heats_of, insight_heats, key_spread
from keyheat.analysis.report import evidence_alone
from keyheat.analysis.timeline import timeline, totals_of, units_per_request
from keyheat.evidence.contributors import read_contributors
from keyheat.runs import metrics
from keyheat.runs.formats import Contributor, Contributors, Evidence, Series, Window
from keyheat.runs.table_facts import IndexFacts, TableFacts
from keyheat.scenario.keys import digest_of
from keyheat.words import READ, WRITE, Capacity, Direction
from tests.endpoint.account import on_demand
from tests.endpoint.asking import START as BEGAN
from tests.endpoint.clients import ServiceApp, service_app_at
from tests.make import START

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
WINDOW = Window(start=START, end=START + 10 * MINUTE)
TABLE = TableFacts(name="orders")


FIRST = Window(start=BEGAN, end=BEGAN + 2 * MINUTE)


def counting() -> ServiceApp:
    """An account with a table `orders` whose rules count from its first minute on."""
    app = service_app_at()
    app.ddb.create_table(**on_demand())
    app.ddb.update_contributor_insights(TableName="orders", ContributorInsightsAction="ENABLE")
    return app


def put(app: ServiceApp, *keys: str, after_s: float) -> None:
    """Writes to these keys, each an access of three, and so many seconds after them."""
    for key in keys:
        app.ddb.put_item(TableName="orders", Item={"pk": {"S": key}})
    app.clock.advance(after_s)


def read(factory: Callable[[str], Any], window: Window = FIRST, **more: Any) -> Any:
    asked = {"sleep": lambda _seconds: None, "required": True} | more
    return read_contributors(factory, TABLE, window, **asked)


def test_a_rules_keys_become_digests_and_are_shown_where_asked() -> None:
    app = counting()
    put(app, "ann", "ann", "ann", "bob", after_s=60)
    put(app, "ann", "ann", after_s=60)
    (accessed, throttled), missing = read(app.client)
    assert missing == ()
    assert (accessed.counts, accessed.total, accessed.period_s) == ("accessed", 18.0, 60)
    assert accessed.keys == (
        Contributor(key=digest_of("ann"), value=15.0, points=((BEGAN, 9.0), (BEGAN + MINUTE, 6.0))),
        Contributor(key=digest_of("bob"), value=3.0, points=((BEGAN, 3.0),)),
    )
    assert (throttled.counts, throttled.keys) == ("throttled", ())
    assert "ann" not in accessed.model_dump_json()
    assert read(app.client, show_keys=True)[0][0].keys[0].shown == "ann"


def test_a_long_window_is_asked_for_day_by_day_and_by_the_hour() -> None:
    app, slept, hour = counting(), list[float](), 60 * MINUTE
    put(app, "ann", after_s=7_200)
    put(app, "bob", "bob", "bob", "ann", after_s=60)
    window = Window(start=BEGAN - DAY + hour, end=BEGAN + DAY + 2 * hour)  # the first day ends in between
    (accessed, _throttled), _missing = read(app.client, window, sleep=slept.append)
    assert len(slept) == 2 * 3, "three days of two rules"
    assert (accessed.total, accessed.period_s) == (15.0, 3_600)
    assert [key.value for key in accessed.keys] == [9.0, 6.0]
    assert [at for at, _ in accessed.keys[1].points] == [BEGAN, BEGAN + 2 * hour]


@pytest.mark.parametrize(
    ("operation", "words"),
    [("DescribeContributorInsights", "not yours"), ("GetInsightRuleReport", "rule DynamoDBContributorIns")],
)
def test_what_is_not_permitted_is_said(operation: str, words: str) -> None:
    app = counting()
    put(app, "ann", after_s=60)
    error = {"Error": {"Code": "AccessDenied", "Message": "not yours"}, "ResponseMetadata": {}}

    def factory(service: str) -> Any:
        client = app.client(service)
        client.meta.events.register(
            f"before-call.*.{operation}", lambda **_: (SimpleNamespace(status_code=400), error)
        )
        return client

    contributors, (problem, *_others) = read(factory)
    assert contributors is None
    assert words in problem
    assert "not yours" in problem


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


def of_minutes(metric: str, *values: float, **more: Any) -> Series:
    points = tuple((START + n * MINUTE, value) for n, value in enumerate(values))
    return Series(**{"metric": metric, "statistic": "Sum", "period_s": 60, "points": points} | more)


def evidence(*rules: Contributors, **sums: float | tuple[float, ...]) -> Evidence:
    """Ten minutes of which the first ones are known; a sum alone is that of the first."""
    values = {metric: (value,) if isinstance(value, float) else value for metric, value in sums.items()}
    series = tuple(of_minutes(metric, *by_minute) for metric, by_minute in values.items())
    return Evidence(table=TABLE, window=WINDOW, series=series, contributors=rules or None)


def with_more(found: Evidence, *series: Series, **changes: Any) -> Evidence:
    return found.model_copy(update={"series": (*found.series, *series), **changes})


EVEN = {f"k{n}": 10.0 for n in range(25)}


@pytest.mark.parametrize(
    ("values", "total", "spread"),
    [
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


def test_a_hot_key_has_what_it_consumed_and_one_unit_for_each_throttle_of_unknown_size() -> None:
    rules = (
        counted("accessed", {"hot": 180_000.0, "cold": 1_800.0}, 200_000.0),
        counted("throttled", {"hot": 30_000.0}),
    )
    (heat,) = insight_heats(evidence(*rules, ConsumedWriteCapacityUnits=66_000.0))
    assert heat.direction == "write"
    hot, cold = heat.hottest
    assert (hot.key, hot.throttles, cold.throttles) == ("hot", 30_000, 0)
    assert hot.units_per_s == pytest.approx((60_000 + 30_000) / 60)
    assert hot.share == pytest.approx(90_000 / (66_000 + 30_000))
    assert cold.units_per_s == pytest.approx(10.0)


def test_the_demand_of_a_key_is_that_of_the_minutes_that_throttled() -> None:
    """Eight quiet minutes, then two in which the key asks for 1,200 WCU/s: 1,000 and what is refused."""
    used = [600 * 60.0] * 8 + [1_000 * 60.0] * 2
    points = tuple((START + n * MINUTE, 3 * units) for n, units in enumerate(used))
    rule = counted("accessed", {"hot": 1.0}, total=3 * sum(used))
    rule = rule.model_copy(update={"keys": (rule.keys[0].model_copy(update={"points": points}),)})
    found = evidence(
        rule, ConsumedWriteCapacityUnits=tuple(used), WriteThrottleEvents=(0.0,) * 8 + (12_000.0,) * 2
    )
    (heat,) = insight_heats(found)
    assert heat.per_s() == pytest.approx(1_200)


def test_a_rule_that_began_within_a_minute_gives_shares_and_cloudwatch_the_throttles() -> None:
    """Turned on for the last 20 s of the second minute, it counted 300 of its 900 throttles."""
    second = START + timedelta(minutes=1)
    begun_ms = round((second + timedelta(seconds=40)).timestamp() * 1000)
    rule = Contributors(
        rule=f"DynamoDBContributorInsights-PKT-orders-{begun_ms}",
        counts="throttled",
        period_s=60,
        total=300.0,
        keys=(Contributor(key="hot", value=270.0, points=((second, 270.0),)),),
    )
    sums = {"ConsumedWriteCapacityUnits": (60_000.0, 60_000.0), "WriteThrottleEvents": (1_200.0, 900.0)}
    (heat,) = insight_heats(evidence(rule, **sums))
    assert heat.hottest[0].units_per_s == pytest.approx(0.9 * (60_000 + 1_200) / 60)
    assert heat.hottest[0].share == pytest.approx(0.9)


def test_an_index_has_hot_keys_of_its_own_with_their_part_of_what_it_refused() -> None:
    """Writes refused for an index are counted for no key: those that took the most asked for the most."""
    rule = counted("accessed", {"open": 3 * 54_000.0, "done": 3 * 6_000.0})
    sums = {"ConsumedWriteCapacityUnits": 60_000.0, "WriteThrottleEvents": 30_000.0}
    of_table = evidence(rule.model_copy(update={"index": "by_status"}), **sums)
    assert index_heats_of(of_table, None) == (), "its own series are not known"
    found = of_table.model_copy(
        update={
            "table": TableFacts(name="orders", indexes=(IndexFacts(name="by_status"),)),
            "series": tuple(one.model_copy(update={"index": "by_status"}) for one in of_table.series),
        }
    )
    (heat,) = index_heats_of(found, None)
    assert (heat.index, heat.direction) == ("by_status", "write")
    assert heat.hottest[0].key == "open"
    assert heat.hottest[0].units_per_s == pytest.approx(0.9 * 90_000 / 60)


@pytest.mark.parametrize(
    ("by_partitions", "hot_per_s", "cold_per_s"),
    [
        (144_000.0, 1_000 + 2_400, 300),  # what a partition refused, it refused the key that has it all
        (0.0, 1_000 + 2_400 / 2, 300 + 2_400 * 0.15),  # refused by another limit: each key has its part
    ],
)
def test_a_partition_refuses_its_hot_key(by_partitions: float, hot_per_s: float, cold_per_s: float) -> None:
    """By the rule of accessed keys alone: 1,000 of 2,000 WCU/s go to `hot`, and 2,400 are throttled."""
    rule = counted("accessed", {"hot": 3 * 60_000.0, "cold": 3 * 18_000.0}, 3 * 120_000.0)
    sums = {"ConsumedWriteCapacityUnits": 120_000.0, "WriteThrottleEvents": 144_000.0}
    causes = {"WriteKeyRangeThroughputThrottleEvents": by_partitions}
    (heat,) = insight_heats(evidence(rule, **sums, **causes))
    assert [key.key for key in heat.hottest] == ["hot", "cold"]
    assert [key.units_per_s for key in heat.hottest] == pytest.approx([hot_per_s, cold_per_s])
    of_table = evidence(rule.model_copy(update={"index": "by_status"}), **sums, **causes)
    series = tuple(item.model_copy(update={"index": "by_status"}) for item in of_table.series)
    (of_index,) = insight_heats(of_table.model_copy(update={"series": series}), "by_status")
    in_parts = [1_000 + 2_400 / 2, 300 + 2_400 * 0.15]  # an index holds back writes of every key
    assert [key.units_per_s for key in of_index.hottest] == pytest.approx(in_parts)


@pytest.mark.parametrize(
    ("provisioned_per_s", "hot_per_s"), [(4_000.0, 1_000 + 2_400), (2_000.0, 1_000 + 1_200)]
)
def test_without_causes_a_table_with_room_refused_its_hot_key(
    provisioned_per_s: float, hot_per_s: float
) -> None:
    rule = counted("accessed", {"hot": 3 * 60_000.0, "cold": 3 * 18_000.0}, 3 * 120_000.0)
    found = evidence(rule, ConsumedWriteCapacityUnits=120_000.0, WriteThrottleEvents=144_000.0)
    table = TableFacts(name="orders", provisioned=Capacity(read=5, write=provisioned_per_s))
    (heat,) = insight_heats(found.model_copy(update={"table": table}))
    assert heat.hottest[0].units_per_s == pytest.approx(hot_per_s)


@pytest.mark.parametrize(
    ("refused", "beside"),
    [
        ({"a": 30_000.0, "b": 30_000.0}, ["b"]),  # 1,000 + 500 WCU/s each
        ({"a": 60_000.0}, []),  # b has the 1,000 WCU/s that a partition admits
    ],
)
def test_keys_that_are_hot_at_the_same_time_are_named(refused: dict[str, float], beside: list[str]) -> None:
    rules = [counted("accessed", {"a": 3 * 60_000.0, "b": 3 * 60_000.0}), counted("throttled", refused)]
    sums = {"ConsumedWriteCapacityUnits": 120_000.0, "WriteThrottleEvents": 60_000.0}
    found = evidence(*rules, **sums, WriteKeyRangeThroughputThrottleEvents=60_000.0)
    facts = facts_of(evidence_alone(found, diagnosed(found, replay_s=0)))
    assert facts.hot_key.key == "a"
    assert [key.key for key in facts.hot_beside] == beside


SINGLE: dict[Direction, tuple[str, ...]] = {
    READ: ("GetItem", "Query", "Scan"),
    WRITE: ("PutItem", "UpdateItem", "DeleteItem"),
}


def accepted(direction: Direction, **counts: float) -> list[Series]:
    """How many requests of each operation were accepted within the first minute."""
    asked = [(operation, None) for operation in SINGLE[direction]]
    asked += [pair for pair in metrics.SINGLE_REQUESTS[direction] if pair[1]]
    asked += [(operation, None) for operation in counts if operation not in SINGLE[direction]]
    return [
        of_minutes(
            metrics.LATENCY, *([counts[operation]] if counts.get(operation) else []),
            statistic="SampleCount", operation=operation, dimension=further,
        )
        for operation, further in asked
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("consumed", "share", "per_s"),
    [
        # The hot key has 98 % of the throttles; 1,200 of 4,000 WCU/s went through, requests of 17 each.
        (72_000.0, (60_000 + 0.98 * 21_420) / (72_000 + 21_420), 1_000 + 0.98 * 357),
        # A table of 15 WCU/s: its keys are throttled in proportion to what they ask for.
        (900.0, 0.98, 0.98 * (15 + 357)),
    ],
)
def test_throttles_alone_share_what_a_partition_gives(consumed: float, share: float, per_s: float) -> None:
    rule = counted("throttled", {"hot": 0.98 * 1_260, "k": 0.02 * 1_260})
    sums = {"ConsumedWriteCapacityUnits": consumed, "WriteThrottleEvents": 1_260.0, "ReadThrottleEvents": 0.0}
    (heat,) = insight_heats(with_more(evidence(rule, **sums), *accepted(WRITE, PutItem=consumed / 17)))
    assert (heat.direction, heat.pinned) == ("write", "hot")
    assert heat.hottest[0].units_per_s == pytest.approx(per_s)
    assert heat.hottest[0].share == pytest.approx(share)


def test_each_of_several_throttled_keys_may_fill_a_partition_of_its_own() -> None:
    refused = {"a": 54_000.0, "b": 30_000.0, "c": 24_000.0, "d": 18_000.0, "e": 12_000.0}
    sums = {
        "ConsumedWriteCapacityUnits": 330_000.0,
        "WriteThrottleEvents": 138_000.0,
        "ReadThrottleEvents": 0.0,
    }
    (heat,) = insight_heats(with_more(evidence(counted("throttled", refused), **sums)))
    rates = [key.units_per_s for key in heat.hottest]
    assert rates == pytest.approx([1_900, 1_500, 956.5 + 400, 717.4 + 300, 478.3 + 200], abs=0.1)


@pytest.mark.parametrize(
    ("counts", "failed", "each"),
    [
        ({"PutItem": 100.0}, 0.0, 6.0),
        ({"PutItem": 50.0, "UpdateItem": 50.0, "BatchWriteItem": 0.0}, 20.0, 5.0),
        ({"PutItem": 100.0, "BatchWriteItem": 4.0}, 0.0, None),  # its parts are not counted
        ({}, 0.0, None),
    ],
)
def test_what_a_request_takes_is_counted(counts: dict[str, float], failed: float, each: float | None) -> None:
    sums = {"ConsumedWriteCapacityUnits": 600.0, "ConditionalCheckFailedRequests": failed}
    series = [*evidence(**sums).series, *accepted(WRITE, **counts)]
    assert units_per_request(totals_of(series), WRITE, None)[0] == each
    unasked = [one for one in series if one.operation != "DeleteItem"]
    assert units_per_request(totals_of(unasked), WRITE, None)[0] is None, "what was not asked for is not zero"


@pytest.mark.parametrize(
    ("accepted_requests", "asked_per_s"),
    [
        # Transactions of 6 units, 30 a minute refused: each of their parts that found no room is an event.
        ({"PutItem": 0.0, "TransactWriteItems": 100.0}, (600 + 30 * 6) / 60),
        ({"PutItem": 100.0, "TransactWriteItems": 100.0}, (600 + 45.0) / 60),  # of 3 units: events say more
        ({"PutItem": 50.0, "BatchWriteItem": 50.0}, (600 + 45.0) / 60),  # nobody counts a batch's parts
    ],
)
def test_a_refused_transaction_asked_for_all(accepted_requests: dict[str, float], asked_per_s: float) -> None:
    count = 30.0 if accepted_requests["PutItem"] == 0 else 10.0
    refused = of_minutes(metrics.THROTTLED_REQUESTS, count, operation="TransactWriteItems")
    seen = evidence(ConsumedWriteCapacityUnits=600.0, WriteThrottleEvents=45.0)
    track = timeline(with_more(seen, *accepted(WRITE, **accepted_requests), refused)).track(None, WRITE)
    assert track.asked_per_s([int(START.timestamp())]) == pytest.approx(asked_per_s)


def test_a_demand_that_filled_a_part_of_a_minute_is_that_of_the_part() -> None:
    """70 writes of 3 units a second for 15 s: 636 were admitted by a maximum of 120, 410 were not."""
    capacity = Capacity(None, 120)
    table = TableFacts(name="orders", billing_mode="PAY_PER_REQUEST", max_on_demand=capacity)
    seen = evidence(
        ConsumedWriteCapacityUnits=(0.0, 1_909.0), WriteThrottleEvents=(0.0, 410.0),
        WriteMaxOnDemandThroughputThrottleEvents=(0.0, 410.0),
    )  # fmt: skip
    seen = with_more(seen, *accepted(WRITE, PutItem=1_909 / 3), table=table)
    diagnosis = diagnosed(seen)
    run = evidence_alone(seen, diagnosis)
    at_least = 120 * (1_909 + 3 * 410) / 1_909
    assert facts_of(run).at_least_per_s == pytest.approx(at_least)
    (raised,) = (advice for advice in diagnosis.recommendations if advice.action == "raise_max_on_demand")
    assert raised.units == 282 > 210
    assert raised.foreseen.throttle_share_before == pytest.approx(410 / (410 + 1_909 / 3), abs=0.05)
    assert raised.foreseen.throttle_share_after == 0


def test_the_demand_is_that_of_the_busiest_throttled_minute_wherever_it_stands() -> None:
    """Ten minutes of a table of 15 WCU/s; most are half idle, as those are in which an incident begins."""
    shares = [1 / (1 + n % 3) for n in range(10)]
    sums = {
        "ConsumedWriteCapacityUnits": 900.0, "WriteThrottleEvents": 50.0,
        "WriteProvisionedThroughputThrottleEvents": 50.0,
        "ConsumedReadCapacityUnits": 0.0, "ReadThrottleEvents": 0.0,
    }  # fmt: skip
    seen = evidence(**{metric: tuple(value * share for share in shares) for metric, value in sums.items()})
    capacity = Capacity(100, 15)
    table = TableFacts(name="orders", billing_mode="PROVISIONED", provisioned=capacity, warm=capacity)
    seen = with_more(seen, *accepted(WRITE, PutItem=10 * 900 / 17), table=table)
    diagnosis = diagnosed(seen)
    run = evidence_alone(seen, diagnosis)
    facts = facts_of(run)
    raised = next(one for one in diagnosis.recommendations if one.action == "raise_capacity")
    changed = changes(seen, diagnosis.labels, facts.resource, ())
    each = units_per_request(totals_of(seen.series), WRITE, None)[0]
    assert each is not None
    assert facts.asked_per_s == changed.now.demand_per_s == pytest.approx((900 + 50 * each) / 60)
    assert "demand was 24.2 WCU/s" in raised.why
