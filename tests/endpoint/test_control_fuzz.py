"""Whatever JSON a client sends, a control operation answers it or refuses it; nothing else escapes."""

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.operations import CONTROL
from keyheat.endpoint.shapes import ListShape, MapShape, StructureShape, shapes_of
from keyheat.endpoint.tables.catalog import NOT_HERE
from tests.endpoint.account import Account, indexed, on_demand

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    ["orders", "other", "pk", "city", "by_city", "arn:aws:dynamodb:x:0:table/orders", "a", ""]
)
NUMBERS = st.sampled_from([-1, 0, 1, 5, 6, 4_000, 12_000, 40_000, 10**6, 10**13])


def values_of(shape):
    """Mostly what the service model asks for, now and then anything."""
    return st.one_of(fitting(shape), fitting(shape), fitting(shape), fitting(shape), ANY_JSON)


def fitting(shape):
    if isinstance(shape, StructureShape):
        required = {name: values_of(shape.members[name]) for name in shape.required_members}
        rest = {
            name: values_of(member)
            for name, member in shape.members.items()
            if name not in required and name not in NOT_HERE
        }
        return st.fixed_dictionaries(required, optional=rest)
    if isinstance(shape, ListShape):
        return st.lists(st.deferred(lambda: values_of(shape.member)), max_size=3)
    if isinstance(shape, MapShape):
        return st.dictionaries(NAMES, st.deferred(lambda: values_of(shape.value)), max_size=2)
    if shape.type_name == "boolean":
        return st.booleans()
    if shape.type_name in ("integer", "long"):
        return NUMBERS
    allowed = shape.metadata.get("enum")
    return st.sampled_from(allowed) if allowed else NAMES


def answer(account, operation, request):
    try:
        return account.call(operation, **request)
    except ServiceError as error:
        return error.body()


@pytest.mark.parametrize("operation", sorted(CONTROL))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_an_operation_answers_or_refuses(operation, data):
    account = Account()
    account.create(**indexed())
    account.call("CreateTable", **on_demand("other"))
    shape = shapes_of().input_of(operation)
    request = data.draw(fitting(shape)) if shape is not None else {}
    orjson.dumps(answer(account, operation, request))
    for name in account.call("ListTables")["TableNames"]:
        orjson.dumps(account.describe(name))
