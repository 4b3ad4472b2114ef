"""Asking CloudWatch for the metrics of a table `orders`, with boto3."""

from datetime import UTC, datetime, timedelta
from typing import Any

import botocore.exceptions
import pytest

from tests.endpoint.account import table, units
from tests.endpoint.clients import START_S, ServiceApp

START = datetime.fromtimestamp(START_S, UTC)
ORDERS = [{"Name": "TableName", "Value": "orders"}]
PUTS = [*ORDERS, {"Name": "Operation", "Value": "PutItem"}]


def with_orders(service_app: ServiceApp) -> ServiceApp:
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
    app.ddb.create_table(**table(name, ProvisionedThroughput=units(5, 50)))
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
