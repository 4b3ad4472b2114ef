"""Whatever JSON arrives, an answer or one of DynamoDB's errors goes back, never anything else."""

import base64
import random
from typing import Any

import orjson
import pytest
from botocore import xform_name
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keyheat.endpoint.dynamodb import CONTROL, DATA
from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.service import Context, Service
from tests.endpoint.clients import FakeClock
from tests.endpoint.generated import Operation, operations, table_named
from tests.fuzz.mutations import mutated

NAMES = {xform_name(name): name for name in DATA}
JUNK: list[Any] = [
    None, True, 0, -1, 1.5, "", ":p", "x", "#g", "a = b", "SET x", "size(x) > :v", "a[0].b", [], {}, [{}],
    [None], {"S": 1}, {"S": "a"}, {"N": "x"}, {"N": "1"}, {"SS": [1]}, {"SS": "a"}, {"L": [1]},
    {"M": {"a": 1}}, {"M": []}, {"B": "%%%"}, {"BS": ["!"]}, {"NULL": "x"}, {"BOOL": "x"}, {"a": None},
    {"": {}}, 2**40,
]  # fmt: skip
EXPECTED = {
    "ValidationException", "SerializationException", "ConditionalCheckFailedException",
    "ResourceNotFoundException", "TransactionCanceledException", "DuplicateItemException",
}  # fmt: skip


def as_json(value: Any) -> Any:
    """The request as it stands on the wire."""
    if isinstance(value, dict):
        return {name: as_json(content) for name, content in value.items()}
    if isinstance(value, list):
        return [as_json(content) for content in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def a_service() -> Service:
    clock = FakeClock()
    service = Service(clock=clock, scale=1e6)
    CONTROL["CreateTable"](Context(service, service.clock()), table_named("orders"))
    clock.advance(60)
    return service


SERVICE = a_service()


@pytest.mark.slow
@settings(
    max_examples=80,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(operations, st.integers(0, 2**32))
def test_damaged_requests_get_an_answer(operation: Operation, seed: int) -> None:
    chance = random.Random(seed)
    whole = orjson.dumps(as_json(operation.on("orders").request))
    for _ in range(10):
        answered(NAMES[operation.name], orjson.loads(mutated(whole, chance, 2, JUNK) or b""))


def answered(operation: str, request: Any) -> None:
    """Ask, whatever comes of it: an answer in JSON, or an error that DynamoDB has."""
    try:
        answer = DATA[operation](Context(SERVICE, SERVICE.clock()), request)
    except ServiceError as error:
        assert error.code in EXPECTED  # noqa: PT017
        orjson.dumps(error.body())
    else:
        orjson.loads(answer if isinstance(answer, bytes) else orjson.dumps(answer))
