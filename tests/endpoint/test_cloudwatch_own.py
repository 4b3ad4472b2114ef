"""Metrics that users put: what is taken, what is refused, and what comes back."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from keyheat.endpoint.cloudwatch.metrics import MetricPoint, by_period, is_statistic, statistic, together
from tests.endpoint.clients import START_S, ServiceApp

START = datetime.fromtimestamp(START_S, UTC)


def put(app: ServiceApp, *data: Any, namespace: str = "shop") -> None:
    app.cloudwatch.put_metric_data(
        Namespace=namespace, MetricData=[{"MetricName": "m", **one} for one in data]
    )


def read(app: ServiceApp, *stats: str) -> dict[str, list[float]]:
    app.clock.advance(60)
    metric = {"Namespace": "shop", "MetricName": "m", "Dimensions": []}
    queries = [
        {"Id": f"q{number}", "MetricStat": {"Metric": metric, "Period": 60, "Stat": stat}}
        for number, stat in enumerate(stats)
    ]
    answer = app.cloudwatch.get_metric_data(
        MetricDataQueries=queries, StartTime=START - timedelta(days=1), EndTime=START + timedelta(days=1)
    )
    return {stat: one["Values"] for stat, one in zip(stats, answer["MetricDataResults"], strict=True)}


def test_values_of_one_minute_are_added_up(service_app: ServiceApp) -> None:
    put(service_app, {"Value": 1.0}, {"Values": [2.0, 3.0], "Counts": [1.0, 2.0]})
    assert read(service_app, "Sum", "SampleCount", "Minimum", "Maximum", "p50", "p100", "Average") == {
        "Sum": [9.0],
        "SampleCount": [4.0],
        "Minimum": [1.0],
        "Maximum": [3.0],
        "p50": [2.0],
        "p100": [3.0],
        "Average": [2.25],
    }


def test_stated_statistics_have_no_percentiles(service_app: ServiceApp) -> None:
    stated = {"SampleCount": 4.0, "Sum": 10.0, "Minimum": 1.0, "Maximum": 4.0}
    put(service_app, {"StatisticValues": stated})
    assert read(service_app, "Sum", "Maximum", "p50") == {"Sum": [10.0], "Maximum": [4.0], "p50": []}


def test_a_timestamp_says_the_minute(service_app: ServiceApp) -> None:
    put(service_app, {"Value": 1.0, "Timestamp": START - timedelta(seconds=61)}, {"Value": 2.0})
    assert read(service_app, "Sum") == {"Sum": [2.0, 1.0]}


def test_dimensions_tell_metrics_apart(service_app: ServiceApp) -> None:
    put(service_app, {"Value": 1.0}, {"Value": 2.0, "Dimensions": [{"Name": "shop", "Value": "Ulm"}]})
    assert read(service_app, "Sum") == {"Sum": [1.0]}
    listed = service_app.cloudwatch.list_metrics(Namespace="shop")["Metrics"]
    assert [metric["Dimensions"] for metric in listed] == [[], [{"Name": "shop", "Value": "Ulm"}]]


@pytest.mark.slow
def test_a_large_request_comes_compressed(service_app: ServiceApp) -> None:
    data = [{"MetricName": f"metric-number-{number}", "Value": float(number)} for number in range(1000)]
    put(service_app, *data)
    pages = service_app.cloudwatch.get_paginator("list_metrics").paginate(Namespace="shop")
    service_app.clock.advance(60)
    assert [len(page["Metrics"]) for page in pages] == [500, 500]


@pytest.mark.parametrize(
    ("datum", "code"),
    [
        ({}, "MissingParameter"),
        ({"Value": 1.0, "Values": [1.0]}, "InvalidParameterCombination"),
        ({"Value": math.inf}, "InvalidParameterValue"),
        ({"Values": [1.0], "Counts": [1.0, 2.0]}, "InvalidParameterValue"),
        ({"Values": [1.0], "Counts": [0.0]}, "InvalidParameterValue"),
        ({"Values": [1.0] * 151}, "InvalidParameterValue"),
        ({"Value": 1.0, "Timestamp": START - timedelta(days=15)}, "InvalidParameterValue"),
        ({"Value": 1.0, "Timestamp": START + timedelta(hours=3)}, "InvalidParameterValue"),
        ({"Value": 1.0, "Dimensions": [{"Name": "a", "Value": "b"}] * 2}, "InvalidParameterValue"),
        (
            {"StatisticValues": {"SampleCount": 0.0, "Sum": 0.0, "Minimum": 0.0, "Maximum": 0.0}},
            "InvalidParameterValue",
        ),
    ],
)
def test_wrong_data_is_refused_and_nothing_of_its_request_is_kept(
    service_app: ServiceApp, datum: Any, code: str
) -> None:
    with pytest.raises(ClientError) as caught:
        put(service_app, {"Value": 1.0}, datum)
    assert caught.value.response["Error"]["Code"] == code
    assert read(service_app, "Sum") == {"Sum": []}


def test_the_namespace_of_aws_is_not_to_be_written_to(service_app: ServiceApp) -> None:
    with pytest.raises(ClientError, match="AWS/DynamoDB"):
        put(service_app, {"Value": 1.0}, namespace="AWS/DynamoDB")


VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def point(value: float, start_s: int = 0) -> MetricPoint:
    return MetricPoint(
        start_s=start_s, sum=value, count=1.0, minimum=value, maximum=value, values=((value, 1.0),)
    )


@given(VALUES)
def test_statistics_of_points_together_are_those_of_their_values(numbers: list[float]) -> None:
    whole = together([point(number) for number in numbers], 0)
    assert statistic(whole, "Sum") == pytest.approx(sum(numbers), abs=1e-6)
    assert statistic(whole, "Minimum") == statistic(whole, "p0") == min(numbers)
    assert statistic(whole, "Maximum") == statistic(whole, "p100") == max(numbers)
    assert min(numbers) <= (statistic(whole, "p37.5") or 0.0) <= max(numbers)


@given(st.lists(st.integers(0, 100), min_size=1, unique=True), st.sampled_from([60, 120, 300, 3600]))
def test_periods_lose_nothing(minutes: list[int], period_s: int) -> None:
    periods = by_period([point(1.0, minute * 60) for minute in minutes], period_s)
    assert sum(one.count for one in periods) == len(minutes)
    assert all(one.start_s % period_s == 0 for one in periods)
    assert [one.start_s for one in periods] == sorted({one.start_s for one in periods})


@pytest.mark.parametrize("name", ["Sum", "p0", "p50", "p99.99", "p100"])
def test_known_statistics(name: str) -> None:
    assert is_statistic(name)


@pytest.mark.parametrize("name", ["sum", "p101", "p-1", "p", "tm99", "p99,9", ""])
def test_unknown_statistics(name: str) -> None:
    assert not is_statistic(name)
