"""The tables' metrics as CloudWatch serves them, asked for with boto3 and in each of the three languages."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import botocore.exceptions
import orjson
import pytest

from tests.tablemodel.endpoint.clients import START_S, ServiceApp, service_app_at, taken_apart

START = datetime.fromtimestamp(START_S, UTC)
ORDERS = [{"Name": "TableName", "Value": "orders"}]
PUTS = [*ORDERS, {"Name": "Operation", "Value": "PutItem"}]
SIGNED = {b"authorization": b"AWS4-HMAC-SHA256 Credential=x"}


@pytest.fixture
def app(service_app: ServiceApp) -> ServiceApp:
    """A table `orders`, three minutes old: 10 units and 1 throttle a minute, latencies of 1, 2 and 3 ms."""
    create(service_app, "orders")
    minutes = service_app.service.catalog.get("orders").model.minutes
    for latency_ms in (1.0, 2.0, 3.0):
        now_s = service_app.clock()
        assert service_app.service.catalog.get("orders").model.admit_write(b"12345678", 10.0, now_s) is None
        minutes.throttled_request("PutItem", now_s)
        minutes.completed("PutItem", latency_ms, now_s)
        service_app.clock.advance(60)
    return service_app


def create(app: ServiceApp, name: str) -> None:
    app.ddb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 50},
    )
    app.ddb.describe_table(TableName=name)


def query(
    name: str = "ConsumedWriteCapacityUnits", stat: str = "Sum", period_s: int = 60, **more: Any
) -> Any:
    dimensions = more.pop("dimensions", ORDERS)
    metric = {"Namespace": "AWS/DynamoDB", "MetricName": name, "Dimensions": dimensions}
    return {"Id": "a", "MetricStat": {"Metric": metric, "Period": period_s, "Stat": stat}, **more}


def get(app: ServiceApp, *queries: Any, minutes: int = 10, **more: Any) -> Any:
    return app.cloudwatch.get_metric_data(
        MetricDataQueries=list(queries), StartTime=START, EndTime=START + timedelta(minutes=minutes), **more
    )


def values(app: ServiceApp, *queries: Any, **more: Any) -> list[float]:
    return list(get(app, *queries, **more)["MetricDataResults"][0]["Values"])


def error_of(call: Any, *arguments: Any, **more: Any) -> tuple[str, str]:
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call(*arguments, **more)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def test_datapoints_come_newest_first(app: ServiceApp) -> None:
    answer = get(app, query())
    assert answer["MetricDataResults"] == [
        {
            "Id": "a",
            "Label": "ConsumedWriteCapacityUnits",
            "Timestamps": [START + timedelta(minutes=n) for n in (2, 1, 0)],
            "Values": [10.0, 10.0, 10.0],
            "StatusCode": "Complete",
        }
    ]
    assert answer["Messages"] == []
    assert "NextToken" not in answer


@pytest.mark.parametrize(
    ("stat", "value"),
    [("Sum", 3.0), ("Average", 3.0), ("Minimum", 3.0), ("Maximum", 3.0), ("SampleCount", 1.0)],
)
def test_each_statistic_of_a_minute(app: ServiceApp, stat: str, value: float) -> None:
    asked = query("SuccessfulRequestLatency", stat, dimensions=PUTS)
    assert values(app, asked)[0] == value


@pytest.mark.parametrize(
    ("stat", "value"),
    [("Sum", 6.0), ("Average", 2.0), ("Minimum", 1.0), ("Maximum", 3.0), ("SampleCount", 3.0)],
)
def test_a_longer_period_adds_minutes_up(app: ServiceApp, stat: str, value: float) -> None:
    asked = query("SuccessfulRequestLatency", stat, period_s=300, dimensions=PUTS)
    assert values(app, asked) == [value]


def test_percentiles_of_values_that_are_not_kept_are_absent(app: ServiceApp) -> None:
    assert values(app, query("SuccessfulRequestLatency", "p99", dimensions=PUTS)) == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (query("ThrottledRequests", dimensions=PUTS), [1.0, 1.0, 1.0]),
        (query("ThrottledRequests"), []),  # nothing is added up across a missing dimension
        (query("WriteThrottleEvents"), []),
        (query("NoSuchMetric"), []),
        (query(dimensions=[{"Name": "TableName", "Value": "other"}]), []),
        (query("ProvisionedWriteCapacityUnits", "Maximum"), [50.0]),
        (query("ConsumedReadCapacityUnits"), [0.0, 0.0, 0.0]),
    ],
)
def test_a_metric_is_found_by_all_its_dimensions(app: ServiceApp, asked: Any, found: list[float]) -> None:
    assert values(app, asked) == found


def test_the_order_of_dimensions_says_nothing(app: ServiceApp) -> None:
    assert values(app, query("ThrottledRequests", dimensions=PUTS[::-1])) == [1.0, 1.0, 1.0]


def test_a_unit_that_the_metric_does_not_have_finds_nothing(app: ServiceApp) -> None:
    asked = query()
    asked["MetricStat"]["Unit"] = "Bytes"
    assert values(app, asked) == []
    asked["MetricStat"]["Unit"] = "Count"
    assert len(values(app, asked)) == 3


def test_the_window_holds_its_start_and_not_its_end(app: ServiceApp) -> None:
    found = app.cloudwatch.get_metric_data(
        MetricDataQueries=[query()],
        StartTime=START + timedelta(seconds=90),
        EndTime=START + timedelta(minutes=2),
    )
    assert found["MetricDataResults"][0]["Timestamps"] == [START + timedelta(minutes=1)]


def test_a_window_since_ever_is_answered_at_once(app: ServiceApp) -> None:
    epoch = datetime.fromtimestamp(0, UTC)
    found = app.cloudwatch.get_metric_data(
        MetricDataQueries=[query(), query("ProvisionedWriteCapacityUnits", "Maximum", Id="b")],
        StartTime=epoch,
        EndTime=START + timedelta(days=20_000),
    )
    assert [result["Values"] for result in found["MetricDataResults"]] == [[10.0, 10.0, 10.0], [50.0]]


def test_a_minute_is_shown_when_it_has_ended(app: ServiceApp) -> None:
    app.clock.advance(59.9)
    assert len(values(app, query())) == 3
    app.clock.advance(0.1)
    assert len(values(app, query())) == 4


def test_the_publish_delay_holds_minutes_back() -> None:
    app = service_app_at(publish_delay_s=90)
    create(app, "orders")
    app.clock.advance(149)
    assert values(app, query()) == []
    app.clock.advance(1)
    assert values(app, query()) == [0.0]


def test_metrics_outlive_their_table_and_are_joined_by_the_next_of_its_name(app: ServiceApp) -> None:
    app.ddb.delete_table(TableName="orders")
    app.clock.advance(120)
    assert values(app, query())[-3:] == [10.0, 10.0, 10.0]
    create(app, "orders")
    app.service.catalog.get("orders").model.admit_write(b"12345678", 7.0, app.clock())
    app.clock.advance(60)
    assert values(app, query())[0] == 7.0


def test_pages_hold_every_datapoint_once(app: ServiceApp) -> None:
    queries = [
        query(Id="a"),
        query("NoSuchMetric", Id="b"),
        query(Id="c", ReturnData=False),
        query("ConsumedReadCapacityUnits", Id="d"),
    ]
    whole = get(app, *queries, ScanBy="TimestampAscending")
    assert [result["Id"] for result in whole["MetricDataResults"]] == ["a", "b", "d"]
    for most in (1, 2, 3, 4, 6, 7):
        pages, token = [], {}
        while True:
            page = get(app, *queries, ScanBy="TimestampAscending", MaxDatapoints=most, **token)
            pages.append(page["MetricDataResults"])
            assert sum(len(result["Values"]) for result in pages[-1]) <= most
            app.clock.advance(60)  # minutes that end meanwhile do not shift what follows
            if "NextToken" not in page:
                break
            token = {"NextToken": page["NextToken"]}
        for result in whole["MetricDataResults"]:
            parts = [part for page in pages for part in page if part["Id"] == result["Id"]]
            assert [value for part in parts for value in part["Values"]][: len(result["Values"])] == result[
                "Values"
            ]
            assert [part["StatusCode"] for part in parts] == ["PartialData"] * (len(parts) - 1) + ["Complete"]
        whole = get(app, *queries, ScanBy="TimestampAscending")


def test_boto3_pages_by_itself(app: ServiceApp) -> None:
    pages = app.cloudwatch.get_paginator("get_metric_data").paginate(
        MetricDataQueries=[query()],
        StartTime=START,
        EndTime=START + timedelta(minutes=10),
        PaginationConfig={"PageSize": 1},
    )
    assert [value for page in pages for value in page["MetricDataResults"][0]["Values"]] == [10.0] * 3


@pytest.mark.parametrize(
    ("queries", "more", "code", "says"),
    [
        ([{"Id": "a", "Expression": "SUM(METRICS())"}], {}, "ValidationError", "no metric math"),
        ([query(Id="A")], {}, "ValidationError", "Id"),
        ([query(), query()], {}, "ValidationError", "not unique"),
        ([query(stat="tm99")], {}, "ValidationError", "Stat"),
        ([query(period_s=90)], {}, "ValidationError", "multiple of 60"),
        ([{"Id": "a"}], {}, "ValidationError", "MetricStat"),
        ([query(Id=f"a{n}") for n in range(501)], {}, "ValidationError", "500"),
        ([query()], {"minutes": 0}, "ValidationError", "StartTime"),
        ([query()], {"MaxDatapoints": 100_801}, "ValidationError", "MaxDatapoints"),
        ([query()], {"NextToken": "nonsense"}, "InvalidNextToken", "invalid"),
        ([query(dimensions=ORDERS * 2)], {}, "InvalidParameterValue", "dimensions"),
    ],
)
def test_wrong_queries_are_refused(app: ServiceApp, queries: Any, more: Any, code: str, says: str) -> None:
    found, message = error_of(get, app, *queries, **more)
    assert found == code
    assert says in message


def test_get_metric_statistics_counts_periods_from_the_start(app: ServiceApp) -> None:
    answer = app.cloudwatch.get_metric_statistics(
        Namespace="AWS/DynamoDB",
        MetricName="ConsumedWriteCapacityUnits",
        Dimensions=ORDERS,
        StartTime=START + timedelta(seconds=75),
        EndTime=START + timedelta(minutes=10),
        Period=120,
        Statistics=["Sum", "SampleCount"],
    )
    assert answer["Label"] == "ConsumedWriteCapacityUnits"
    assert answer["Datapoints"] == [
        {"Timestamp": START + timedelta(minutes=1), "Sum": 20.0, "SampleCount": 2.0, "Unit": "Count"}
    ]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"Period": 90}, "InvalidParameterValue"),
        ({"EndTime": START}, "InvalidParameterValue"),
        ({"EndTime": START + timedelta(days=3)}, "InvalidParameterCombination"),
        ({"Statistics": []}, "InvalidParameterCombination"),
        ({"Statistics": ["Median"]}, "InvalidParameterValue"),
        ({"ExtendedStatistics": ["q99"]}, "InvalidParameterValue"),
    ],
)
def test_wrong_statistics_requests_are_refused(app: ServiceApp, changes: Any, code: str) -> None:
    request = {
        "Namespace": "AWS/DynamoDB",
        "MetricName": "UserErrors",
        "StartTime": START,
        "EndTime": START + timedelta(minutes=10),
        "Period": 60,
        "Statistics": ["Sum"],
    }
    status, body = in_json(app, "GetMetricStatistics", plain(request | changes))
    assert status == 400
    assert body["__type"].rpartition("#")[2].startswith(code)


def test_user_errors_are_counted_for_the_account(app: ServiceApp) -> None:
    error_of(app.ddb.describe_table, TableName="no-such-table")
    app.clock.advance(60)
    assert values(app, query("UserErrors", dimensions=[]), minutes=20) == [1.0]


def test_metrics_are_listed_and_filtered(app: ServiceApp) -> None:
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


# The same in other words: JSON, and Query with its answer in XML.


def plain(request: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.timestamp() if isinstance(value, datetime) else value for name, value in request.items()
    }


def in_json(app: ServiceApp, operation: str, request: Any, headers: Any = SIGNED) -> tuple[int, Any]:
    target = f"GraniteServiceVersion20100801.{operation}".encode()
    raw = app.router.answer(b"POST", b"/", {**headers, b"x-amz-target": target}, orjson.dumps(request))
    status, answered, body = taken_apart(raw)
    assert answered["content-type"] == "application/x-amz-json-1.0"
    return status, orjson.loads(body)


def in_query(app: ServiceApp, **form: str) -> tuple[int, str]:
    headers = {**SIGNED, b"content-type": b"application/x-www-form-urlencoded; charset=utf-8"}
    raw = app.router.answer(b"POST", b"/", headers, urlencode({"Version": "2010-08-01", **form}).encode())
    status, answered, body = taken_apart(raw)
    assert answered["content-type"] == "text/xml"
    return status, body.decode()


def test_json_gives_times_as_numbers(app: ServiceApp) -> None:
    status, body = in_json(
        app,
        "GetMetricData",
        {"MetricDataQueries": [query()], "StartTime": START_S, "EndTime": START_S + 60},
    )
    assert status == 200
    assert body["MetricDataResults"][0]["Timestamps"] == [START_S]
    assert body["MetricDataResults"][0]["Values"] == [10.0]


def test_query_is_answered_in_xml(app: ServiceApp) -> None:
    member = "MetricDataQueries.member.1."
    dimension = member + "MetricStat.Metric.Dimensions.member.1."
    status, body = in_query(
        app,
        Action="GetMetricData",
        StartTime="2027-01-15T08:00:00Z",
        EndTime="2027-01-15T08:01:00Z",
        **{
            member + "Id": "a",
            member + "ReturnData": "true",
            member + "MetricStat.Stat": "Sum",
            member + "MetricStat.Period": "60",
            member + "MetricStat.Metric.Namespace": "AWS/DynamoDB",
            member + "MetricStat.Metric.MetricName": "ConsumedWriteCapacityUnits",
            dimension + "Name": "TableName",
            dimension + "Value": "orders",
        },
    )
    assert status == 200
    assert "<Timestamps><member>2027-01-15T08:00:00Z</member></Timestamps>" in body
    assert "<Values><member>10.0</member></Values>" in body
    assert "<GetMetricDataResponse xmlns=" in body


def test_query_errors_are_xml(app: ServiceApp) -> None:
    status, body = in_query(app, Action="GetMetricData")
    assert status == 400
    assert "<Type>Sender</Type><Code>ValidationError</Code>" in body
    status, body = in_query(app, Action="DescribeAlarms")
    assert "<Code>InvalidAction</Code>" in body


def test_botocore_reads_the_xml(app: ServiceApp) -> None:
    """botocore's own parser for Query, fed with our XML: names, lists, times and maps are where it looks."""
    from botocore.loaders import Loader
    from botocore.model import ServiceModel
    from botocore.parsers import create_parser

    model = ServiceModel(Loader().load_service_model("cloudwatch", "service-2"))
    app.cloudwatch.put_metric_data(Namespace="app", MetricData=[{"MetricName": "m", "Value": 5.0}])
    app.clock.advance(60)
    status, body = in_query(
        app,
        Action="GetMetricStatistics",
        Namespace="app",
        MetricName="m",
        StartTime="2027-01-15T08:00:00Z",
        EndTime="2027-01-15T09:00:00Z",
        Period="60",
        **{"Statistics.member.1": "Sum", "ExtendedStatistics.member.1": "p50"},
    )
    shape = model.operation_model("GetMetricStatistics").output_shape
    parsed = create_parser("query").parse(
        {"body": body.encode(), "headers": {}, "status_code": status}, shape
    )
    assert parsed["Datapoints"] == [
        {
            "Timestamp": START + timedelta(minutes=3),
            "Sum": 5.0,
            "Unit": "None",
            "ExtendedStatistics": {"p50": 5.0},
        }
    ]


def test_an_unsigned_request_is_refused(app: ServiceApp) -> None:
    status, body = in_json(app, "ListMetrics", {}, headers={})
    assert status == 403
    assert body["__type"].endswith("#MissingAuthenticationToken")


@pytest.mark.parametrize(
    ("url", "headers", "body"),
    [
        (b"/service/GraniteServiceVersion20100801/operation/ListMetrics", {}, b"\xff\xff"),
        (b"/service/GraniteServiceVersion20100801/operation/ListMetrics", {}, b"\x01"),
        (b"/service/GraniteServiceVersion20100801/operation/Nonsense", {}, b"\xa0"),
        (b"/", {b"x-amz-target": b"GraniteServiceVersion20100801.ListMetrics"}, b"{"),
        (b"/", {b"x-amz-target": b"GraniteServiceVersion20100801.ListMetrics"}, b"[]"),
        (b"/?Action=PutMetricData&MetricData=1&MetricData.member.1.MetricName=a", {}, b""),
        (b"/?Action=PutMetricData&Namespace=a&MetricData.member.1=a", {}, b""),
        (
            b"/",
            {b"x-amz-target": b"GraniteServiceVersion20100801.ListMetrics", b"content-encoding": b"gzip"},
            b"{}",
        ),
    ],
)
def test_garbage_is_refused(app: ServiceApp, url: bytes, headers: Any, body: bytes) -> None:
    status, _, answer = taken_apart(app.router.answer(b"POST", url, {**SIGNED, **headers}, body))
    assert status == 400
    assert b"Traceback" not in answer


def test_a_running_endpoint_speaks_cloudwatch(cloudwatch: Any) -> None:
    now = datetime.now(UTC)
    answer = cloudwatch.get_metric_data(
        MetricDataQueries=[query()], StartTime=now - timedelta(hours=1), EndTime=now
    )
    assert answer["MetricDataResults"][0]["Values"] == []
    assert isinstance(cloudwatch.list_metrics()["Metrics"], list)
