"""CloudWatch in JSON; boto3, in the other tests, speaks CBOR."""

from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest

from tests.endpoint.asking import START, with_orders
from tests.endpoint.clients import ServiceApp, taken_apart

SIGNED = {b"authorization": b"AWS4-HMAC-SHA256 Credential=x"}


@pytest.fixture
def app(service_app: ServiceApp) -> ServiceApp:
    """Three minutes of a table `orders`."""
    return with_orders(service_app)


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
        (b"/", {b"x-amz-target": b"GraniteServiceVersion20100801.ListMetrics", b"content-encoding": b"gzip"},
         b"{}"),
    ],
)  # fmt: skip
def test_garbage_is_refused(app: ServiceApp, url: bytes, headers: Any, body: bytes) -> None:
    status, _, answer = taken_apart(app.router.answer(b"POST", url, {**SIGNED, **headers}, body))
    assert status == 400
    assert b"Traceback" not in answer


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
        "Namespace": "AWS/DynamoDB", "MetricName": "UserErrors", "Period": 60, "Statistics": ["Sum"],
        "StartTime": START, "EndTime": START + timedelta(minutes=10),
    }  # fmt: skip
    status, body = in_json(app, "GetMetricStatistics", plain(request | changes))
    assert status == 400
    assert body["__type"].rpartition("#")[2].startswith(code)
