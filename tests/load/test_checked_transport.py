"""HTTP 200 is not yet an answer: what DynamoDB would never say is an error, and no attempt is lost by it."""

from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from keyheat.load.transport.answer import Answer, CheckedTransport

PAGE = b"<html><body>Please log in</body></html>"
UNITS = {"TableName": "t", "CapacityUnits": 2.0}
KEY = {"pk": {"S": "a"}, "sk": {"N": "1"}}
ITEM = {**KEY, "filler": {"S": "x"}}
ASKED: dict[str, dict[str, Any]] = {
    "PutItem": {"Item": ITEM},
    "GetItem": {"Key": KEY},
    "Query": {},
    "BatchWriteItem": {"RequestItems": {"t": [{"PutRequest": {"Item": ITEM}}]}},
    "TransactWriteItems": {"TransactItems": [{"Put": {"TableName": "t", "Item": ITEM}}]},
}
"""One of each kind of answer."""
GOOD: dict[str, dict[str, Any]] = {
    "PutItem": {"ConsumedCapacity": UNITS},
    "GetItem": {"ConsumedCapacity": UNITS, "Item": ITEM},
    "Query": {"ConsumedCapacity": UNITS, "Items": [ITEM], "LastEvaluatedKey": KEY},
    "BatchWriteItem": {
        "ConsumedCapacity": [UNITS], "UnprocessedItems": {"t": [{"PutRequest": {"Item": ITEM}}]},
    },
    "TransactWriteItems": {"ConsumedCapacity": [UNITS]},
}  # fmt: skip


def says(body: bytes) -> Any:
    """A transport that answers with what it is given."""
    return SimpleNamespace(send=lambda _operation, _request: Answer(200, body, 0.001))


def request(operation: str, **more: str) -> bytes:
    asked = {"TableName": "t", "ReturnConsumedCapacity": "TOTAL", **more, **ASKED[operation]}
    return orjson.dumps(asked)


def judged(operation: str, said: bytes | dict[str, Any], **more: str) -> Answer:
    body = said if isinstance(said, bytes) else orjson.dumps(said)
    return CheckedTransport(says(body)).send(operation, request(operation, **more))


every = pytest.mark.parametrize("operation", ASKED)


@every
def test_what_dynamodb_says_is_accepted(operation: str) -> None:
    assert judged(operation, GOOD[operation]).accepted


@every
def test_a_write_of_no_units_is_of_an_endpoint_that_does_not_count(operation: str) -> None:
    """A read of nothing may be free somewhere; a write never is, but for a batch that was not begun."""
    units = {"TableName": "t", "CapacityUnits": 0.0}
    capacity = [units] if isinstance(GOOD[operation]["ConsumedCapacity"], list) else units
    said = GOOD[operation] | {"ConsumedCapacity": capacity}
    reads = operation in ("GetItem", "Query")
    assert judged(operation, said).accepted == (reads or operation == "BatchWriteItem")
    nothing_left = judged(operation, said | {"UnprocessedItems": {}})
    assert nothing_left.failure == (None if reads else "no_units")


@every
@pytest.mark.parametrize("body", [PAGE, b"", b"[1,2,3]", b"null", b"[" * 2_000, b"\xff{}"])
def test_a_page_is_no_answer(operation: str, body: bytes) -> None:
    answer = judged(operation, body)
    assert (answer.failure, answer.accepted, answer.throttled) == ("not_an_answer", False, False)


@every
@pytest.mark.parametrize("absent", ["nothing", None, {}, []])
def test_missing_units_are_noticed(operation: str, absent: Any) -> None:
    said = {**GOOD[operation], "ConsumedCapacity": absent}
    if absent == "nothing":
        del said["ConsumedCapacity"]
    assert judged(operation, said).failure == "no_units"


def test_units_that_nobody_asked_for_are_not_missed() -> None:
    assert CheckedTransport(says(b"{}")).send("PutItem", b'{"TableName":"t"}').accepted
    assert CheckedTransport(says(b'{"Table":{}}')).send("DescribeTable", b'{"TableName":"t"}').accepted


def test_an_endpoint_without_a_capacity_model_need_not_report_units() -> None:
    """The run says so, and judges nothing by units."""
    lenient = CheckedTransport(says(b"{}"), units_needed=False)
    assert lenient.send("TransactWriteItems", request("TransactWriteItems")).accepted
    assert lenient.send("Query", request("Query")).failure == "not_an_answer"


@every
@pytest.mark.parametrize(
    "units", [b"-5", b"1e308", b"1e999", b"NaN", b'"2"', b"true", b"null", b"[2]", b"1000001", b"1e-400x"]
)
def test_units_that_cannot_be_are_no_answer(operation: str, units: bytes) -> None:
    body = orjson.dumps(GOOD[operation]).replace(b"2.0", units)
    assert judged(operation, body).failure == "not_an_answer"


def test_refusals_with_nonsense_in_them_have_a_name() -> None:
    reasons = [5, {"reason": 5, "resource": [1]}, {"resource": "t"}]
    said = {"__type": "ThrottlingException", "ThrottlingReasons": reasons}
    (reason,) = Answer(400, orjson.dumps(said), 0.0).reasons
    assert (reason.reason, reason.resource, reason.index) == (None, None, None)
    for code in ("x" * 1_000, "a b", "", "\x1b]8;;", 5):
        assert Answer(400, orjson.dumps({"__type": code}), 0.0).error_code == "HTTP400"
