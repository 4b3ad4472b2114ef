"""The tables' metrics as CloudWatch serves them, asked for with boto3."""

from datetime import timedelta
from typing import Any

import pytest

from keyheat.addresses import OPEN_MINUTE
from tests.endpoint.asking import ORDERS, PUTS, START, error_of, get, query, values, with_orders
from tests.endpoint.clients import ServiceApp, service_app_at, taken_apart


@pytest.fixture(scope="module")
def app() -> ServiceApp:
    """Three minutes of a table `orders`, to be looked at."""
    return with_orders(service_app_at())


def test_datapoints_come_newest_first(app: ServiceApp) -> None:
    answer = get(app, query())
    (result,) = answer["MetricDataResults"]
    minutes = [START + timedelta(minutes=n) for n in (2, 1, 0)]
    assert result == {
        "Id": "a", "Label": "ConsumedWriteCapacityUnits", "Timestamps": minutes, "Values": [10.0] * 3,
        "StatusCode": "Complete",
    }  # fmt: skip
    assert answer["Messages"] == []


@pytest.mark.parametrize(
    ("stat", "newest", "together"),
    [("Sum", 3, 6), ("Average", 3, 2), ("Minimum", 3, 1), ("Maximum", 3, 3), ("SampleCount", 1, 3)],
)
def test_each_statistic_of_a_minute_and_of_a_longer_period(
    app: ServiceApp, stat: str, newest: float, together: float
) -> None:
    latency = query("SuccessfulRequestLatency", stat, dimensions=PUTS)
    assert values(app, latency)[0] == newest
    assert values(app, query("SuccessfulRequestLatency", stat, period_s=300, dimensions=PUTS)) == [together]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (query("ThrottledRequests", dimensions=PUTS), [1.0, 1.0, 1.0]),
        (query("ThrottledRequests"), []),  # nothing is added up across a missing dimension
        (query("WriteThrottleEvents"), []),
        (query("ThrottledRequests", dimensions=PUTS[::-1]), [1.0, 1.0, 1.0]),  # in any order
        (query("SuccessfulRequestLatency", "p99", dimensions=PUTS), []),  # its values are not kept
    ],
)
def test_a_metric_is_found_by_all_its_dimensions(app: ServiceApp, asked: Any, found: list[float]) -> None:
    assert values(app, asked) == found


def test_a_minute_that_goes_on_is_shown_to_who_asks_for_it(service_app: ServiceApp) -> None:
    """Nothing is added to it any more, so what it says so far is what it says once it has ended."""
    app = with_orders(service_app)
    app.service.catalog.get("orders").model.admit_write(b"12345678", 7.0, app.clock())
    app.clock.advance(3.5)
    app.cloudwatch.meta.events.register(
        "before-sign.cloudwatch", lambda request, **_of: request.headers.add_header(OPEN_MINUTE, "yes")
    )
    asked = [query(name, stat) for name, stat in (("ConsumedWriteCapacityUnits", "Sum"),
             ("ConsumedReadCapacityUnits", "Sum"), ("ProvisionedWriteCapacityUnits", "Maximum"))]  # fmt: skip
    so_far = [values(app, one) for one in asked]
    assert so_far[0] == [7.0, 10.0, 10.0, 10.0]
    app.clock.advance(56.5)
    written, read, provisioned = (values(app, one) for one in asked)
    assert [written[1:], read[1:], provisioned] == so_far, "and the next minute of each, but of settings"


@pytest.mark.parametrize(
    ("queries", "more", "code", "says"),
    [
        ([{"Id": "a", "Expression": "SUM(METRICS())"}], {}, "ValidationError", "no expressions"),
        ([query(Id="A")], {}, "ValidationError", "Id"),
        ([query(), query()], {}, "ValidationError", "not unique"),
        ([query(stat="tm99")], {}, "ValidationError", "Stat"),
        ([query(period_s=90)], {}, "ValidationError", "multiple of 60"),
        ([query()], {"NextToken": "nonsense"}, "InvalidNextToken", "invalid"),
        ([query(dimensions=ORDERS * 2)], {}, "ValidationError", "dimensions"),
    ],
)
def test_wrong_queries_are_refused(app: ServiceApp, queries: Any, more: Any, code: str, says: str) -> None:
    found, message = error_of(get, app, *queries, **more)
    assert found == code
    assert says in message


def test_get_metric_statistics_counts_periods_from_the_start(app: ServiceApp) -> None:
    answer = app.cloudwatch.get_metric_statistics(
        Namespace="AWS/DynamoDB", MetricName="ConsumedWriteCapacityUnits", Dimensions=ORDERS,
        StartTime=START + timedelta(seconds=75), EndTime=START + timedelta(minutes=10),
        Period=120, Statistics=["Sum", "SampleCount"],
    )  # fmt: skip
    assert answer["Datapoints"] == [
        {"Timestamp": START + timedelta(minutes=1), "Sum": 20.0, "SampleCount": 2.0, "Unit": "Count"}
    ]


def test_user_errors_are_counted_for_the_account(service_app: ServiceApp) -> None:
    app = with_orders(service_app)
    error_of(app.ddb.describe_table, TableName="no-such-table")
    app.clock.advance(60)
    assert values(app, query("UserErrors", dimensions=[]), minutes=20) == [1.0]


def test_metrics_are_listed_and_filtered(service_app: ServiceApp) -> None:
    app = with_orders(service_app)

    def names(**asked: Any) -> set[str]:
        return {metric["MetricName"] for metric in app.cloudwatch.list_metrics(**asked)["Metrics"]}

    assert "ConsumedWriteCapacityUnits" in names()
    assert names(MetricName="ThrottledRequests", Namespace="AWS/DynamoDB") == {"ThrottledRequests"}
    assert names(Dimensions=[{"Name": "Operation"}]) == {"ThrottledRequests", "SuccessfulRequestLatency"}
    assert names(Dimensions=[{"Name": "Operation", "Value": "GetItem"}]) == set()
    assert names(Namespace="AWS/EC2") == set()
    assert "ConsumedWriteCapacityUnits" in names(RecentlyActive="PT3H")
    app.ddb.delete_table(TableName="orders")
    app.clock.advance(4 * 3600)
    assert names(RecentlyActive="PT3H") == set()
    assert "ConsumedWriteCapacityUnits" in names()


SIGNED = {b"authorization": b"AWS4-HMAC-SHA256 Credential=x"}


@pytest.mark.parametrize(
    ("operation", "headers", "body", "status"),
    [
        (b"ListMetrics", {}, b"{", 400),
        (b"Nonsense", {}, b"{}", 400),
        (b"GetMetricData", {}, b'{"MetricDataQueries": [7], "StartTime": 0, "EndTime": 1}', 400),
        (b"ListMetrics", {b"authorization": b""}, b"{}", 403),
    ],
)
def test_garbage_is_refused(
    app: ServiceApp, operation: bytes, headers: Any, body: bytes, status: int
) -> None:
    target = {b"x-amz-target": b"GraniteServiceVersion20100801." + operation}
    raw = app.router.answer(b"POST", b"/", {**SIGNED, **target, **headers}, body)
    assert taken_apart(raw)[0] == status
