"""Contributor Insights of the local endpoint: on and off, what is counted, and how it is reported."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.endpoint.keycounts import MOST_KEYS, KeyCounts
from keyheat.model.transactions import IndexWrite
from tests.endpoint import ordering
from tests.endpoint.account import N, S, attributes, index, on_demand, schema, table, units
from tests.endpoint.clients import START_S, ServiceApp

START = datetime.fromtimestamp(START_S, UTC)


@pytest.fixture
def app(service_app: ServiceApp) -> ServiceApp:
    """A table `orders` of customer and number, with an index by shop."""
    request = table(
        KeySchema=schema("customer", "number"),
        AttributeDefinitions=[*attributes("customer", "shop"), *attributes("number", kind="N")],
        ProvisionedThroughput=units(100, 100),
        GlobalSecondaryIndexes=[index("by-shop", "shop", ProvisionedThroughput=units(100, 100))],
    )
    service_app.ddb.create_table(**request)
    return service_app


def turn(app: ServiceApp, action: str = "ENABLE", **more: str) -> Any:
    return app.ddb.update_contributor_insights(TableName="orders", ContributorInsightsAction=action, **more)


def described(app: ServiceApp, **more: str) -> Any:
    return app.ddb.describe_contributor_insights(TableName="orders", **more)


def rule(app: ServiceApp, kind: str, **more: str) -> str:
    names: list[str] = described(app, **more)["ContributorInsightsRuleList"]
    return next(name for name in names if name.startswith(f"DynamoDBContributorInsights-{kind}-"))


def report(app: ServiceApp, kind: str, index: str | None = None, **more: Any) -> Any:
    """A rule's report of the table's first ten minutes, once the minute is over."""
    app.clock.advance(60)
    name = rule(app, kind, **({"IndexName": index} if index else {}))
    asked = {"StartTime": START, "EndTime": START + timedelta(minutes=10), "Period": 60}
    return app.cloudwatch.get_insight_rule_report(RuleName=name, **(asked | more))


def values(answer: Any) -> dict[tuple[str, ...], float]:
    return {tuple(one["Keys"]): one["ApproximateAggregateValue"] for one in answer["Contributors"]}


def item(customer: str, number: int, **more: str) -> dict[str, Any]:
    return {"customer": S(customer), "number": N(number)} | {name: S(value) for name, value in more.items()}


def of(attribute: str, value: str) -> dict[str, Any]:
    """The key condition of a query."""
    return {"KeyConditionExpression": f"{attribute} = :v", "ExpressionAttributeValues": {":v": S(value)}}


def put(app: ServiceApp, customer: str, number: int, **more: str) -> None:
    app.ddb.put_item(TableName="orders", Item=item(customer, number, **more))


def refused(app: ServiceApp, operation: str, **request: Any) -> bool:
    try:
        getattr(app.ddb, operation)(TableName="orders", **request)
    except app.ddb.exceptions.ProvisionedThroughputExceededException:
        return True
    return False


def test_enabling_makes_the_rules_which_go_when_it_is_disabled(app: ServiceApp) -> None:
    assert described(app)["ContributorInsightsStatus"] == "DISABLED"
    answer = turn(app)
    assert answer["ContributorInsightsStatus"] == "ENABLING"
    assert answer["ContributorInsightsMode"] == "ACCESSED_AND_THROTTLED_KEYS"
    found = described(app)
    assert (found["ContributorInsightsStatus"], found["LastUpdateDateTime"]) == ("ENABLED", START)
    made = f"orders-{int(START_S)}000"
    assert found["ContributorInsightsRuleList"] == [
        f"DynamoDBContributorInsights-{kind}-{made}" for kind in ("PKC", "PKT")
    ]
    assert turn(app, "DISABLE")["ContributorInsightsStatus"] == "DISABLING"
    gone = described(app)
    assert (gone["ContributorInsightsStatus"], gone["ContributorInsightsRuleList"]) == ("DISABLED", [])
    window = {"StartTime": START, "EndTime": START + timedelta(minutes=1), "Period": 60}
    with pytest.raises(app.cloudwatch.exceptions.ResourceNotFoundException):
        app.cloudwatch.get_insight_rule_report(RuleName=found["ContributorInsightsRuleList"][0], **window)
    assert app.service.catalog.get("orders").counting is None


def test_every_operation_is_counted_under_its_key(app: ServiceApp) -> None:
    turn(app)
    put(app, "ann", 1)
    app.ddb.update_item(TableName="orders", Key=item("ann", 1))
    app.ddb.batch_write_item(
        RequestItems={"orders": [{"PutRequest": {"Item": item("bob", n)}} for n in (1, 2)]}
    )
    app.ddb.batch_get_item(RequestItems={"orders": {"Keys": [item("bob", 1)], "ConsistentRead": True}})
    app.ddb.transact_write_items(TransactItems=[{"Put": {"TableName": "orders", "Item": item("cyd", 1)}}])
    app.ddb.transact_get_items(TransactItems=[{"Get": {"TableName": "orders", "Key": item("cyd", 1)}}])
    app.ddb.delete_item(TableName="orders", Key=item("ann", 1))
    app.ddb.get_item(TableName="orders", Key=item("eve", -7))
    assert values(report(app, "PKC")) == {
        ("ann",): 9.0, ("cyd",): 6.0 + 2.0, ("bob",): 6.0 + 1.0, ("eve",): 0.5,
    }  # fmt: skip


def test_a_query_is_its_partition_keys(app: ServiceApp) -> None:
    for number in range(1, 5):
        put(app, "ann", number)
    turn(app)
    app.ddb.query(TableName="orders", ConsistentRead=True, **of("customer", "ann"))
    app.ddb.query(TableName="orders", **of("customer", "nobody"))
    assert values(report(app, "PKC")) == {("ann",): 1.0, ("nobody",): 0.5}


def test_an_index_counts_its_own_keys(app: ServiceApp) -> None:
    turn(app)
    turn(app, IndexName="by-shop")
    put(app, "ann", 1, shop="north")
    put(app, "ann", 1, shop="south")  # moves the entry: a write in either place
    app.ddb.query(TableName="orders", IndexName="by-shop", **of("shop", "south"))
    assert values(report(app, "PKC")) == {("ann",): 6.0}
    assert values(report(app, "PKC", "by-shop")) == {("north",): 6.0, ("south",): 3.5}


def test_batches_and_transactions_count_what_was_refused(app: ServiceApp) -> None:
    turn(app)
    model = app.service.catalog.get("orders").model
    while model.admit_write(b"12345678", 100.0, app.clock()) is None:
        pass
    big = item("ann", 1, text="x" * 300_000)
    assert refused(app, "put_item", Item=big)
    with pytest.raises(ClientError):
        app.ddb.batch_write_item(RequestItems={"orders": [{"PutRequest": {"Item": big}}]})
    with pytest.raises(ClientError):
        app.ddb.transact_write_items(TransactItems=[{"Put": {"TableName": "orders", "Item": big}}])
    assert values(report(app, "PKT")) == {("ann",): 3.0}
    assert values(report(app, "PKC")) == {}


def test_what_a_refused_transaction_would_have_written_is_no_access(service_app: ServiceApp) -> None:
    """The other items are of other partitions, so that nothing is in the way of some of them."""
    app = service_app
    keys = {"KeySchema": schema("customer", "number")}
    types = [*attributes("customer"), *attributes("number", kind="N")]
    app.ddb.create_table(**on_demand(**keys, AttributeDefinitions=types))
    big, others = item("ann", 1, text="x" * 300_000), [item(f"c-{n}", 1) for n in range(9)]
    turn(app)
    ordering.first_refused(lambda _: app.ddb.put_item(TableName="orders", Item=big))
    puts = [{"Put": {"TableName": "orders", "Item": one}} for one in (big, *others)]
    reasons = ordering.refused(app.ddb.transact_write_items, TransactItems=puts)["CancellationReasons"]
    assert {reason["Code"] for reason in reasons} == {"ThrottlingError", "None"}
    assert values(report(app, "PKC")).keys() == {("ann",)}


def test_writes_refused_for_an_index_are_counted_nowhere(app: ServiceApp) -> None:
    """The blind spot that AWS documents."""
    turn(app)
    turn(app, IndexName="by-shop")
    model = app.service.catalog.get("orders").model
    asked = [IndexWrite("by-shop", b"12345678", 100.0)]
    while model.admit_write(b"12345678", 0.0, app.clock(), asked) is None:
        pass
    assert refused(app, "put_item", Item=item("ann", 1, shop="north", text="x" * 300_000))
    for name in (None, "by-shop"):
        assert values(report(app, "PKT", name)) == {}


def test_a_report_has_its_periods(app: ServiceApp) -> None:
    turn(app)
    for customer in ("ann", "ann", "bob"):
        put(app, customer, 1)
    app.clock.advance(60)
    for number in range(4):
        put(app, "bob", number)
    answer = report(app, "PKC")
    assert (answer["KeyLabels"], answer["AggregationStatistic"]) == (["customer"], "SUM")
    assert (answer["AggregateValue"], answer["ApproximateUniqueCount"]) == (21.0, 2)
    minute = timedelta(minutes=1)
    assert values(answer) == {("bob",): 15.0, ("ann",): 6.0}
    bob, ann = ([tuple(point.values()) for point in one["Datapoints"]] for one in answer["Contributors"])
    assert (bob, ann) == ([(START, 3.0), (START + minute, 12.0)], [(START, 6.0)])
    two = report(app, "PKC", Period=120)
    assert [len(one["Datapoints"]) for one in two["Contributors"]] == [1, 1]
    for more in ({"OrderBy": "Maximum"}, {"Metrics": ["Sum"]}):
        with pytest.raises(ClientError, match="orders a report by Sum, and adds no Metrics"):
            report(app, "PKC", **more)


def test_counting_is_exact_while_keys_are_few_and_bounded_when_they_are_not() -> None:
    minute = KeyCounts()
    counts = minute.values
    for turn_ in range(3):
        for key in range(MOST_KEYS):
            counts.add(b"%d" % key, 1.0 + turn_)
    assert set(counts.weights.values()) == {6.0}
    for key in range(20_000):
        counts.add(b"new-%d" % key, 1.0)
        counts.add(b"hot", 5.0)
    assert len(counts.weights) <= MOST_KEYS
    assert counts.top(1) == [b"hot"]
    assert 100_000 - counts.total * 2 / MOST_KEYS <= counts.weights[b"hot"] <= 100_000
    assert counts.total == 6.0 * MOST_KEYS + 20_000 + 100_000
    minute.close()
    assert len(counts.weights) == 100


def test_reads_refused_for_an_index_are_its_own(app: ServiceApp) -> None:
    put(app, "ann", 1, shop="north", text="x" * 20_000)
    turn(app)
    turn(app, IndexName="by-shop")
    model = app.service.catalog.get("orders").model
    while model.admit_read(b"12345678", 1.0, app.clock(), index="by-shop") is None:
        pass
    assert refused(app, "query", IndexName="by-shop", **of("shop", "north"))
    assert values(report(app, "PKT", "by-shop")) == {("north",): 1.0}
    assert values(report(app, "PKT")) == {}


@pytest.mark.parametrize(
    ("kind", "written", "shown"),
    [
        ("N", ["0", "7", "-12.5", "1200", "0.00034", "-99999999999999999999999999999999999999"], None),
        ("B", [b"\0\1\xff"], ["AAH/"]),
    ],
)
def test_numbers_and_bytes_are_shown_as_written(
    service_app: ServiceApp, kind: str, written: list[Any], shown: list[str] | None
) -> None:
    app = service_app
    app.ddb.create_table(**on_demand(AttributeDefinitions=attributes("pk", kind=kind)))
    turn(app)
    for value in written:
        app.ddb.put_item(TableName="orders", Item={"pk": {kind: value}})
    assert set(values(report(app, "PKC"))) == {(text,) for text in shown or written}
