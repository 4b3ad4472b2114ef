"""Whatever JSON arrives, an answer or one of DynamoDB's errors goes back, never anything else."""

import base64
import copy
import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import orjson
import pytest
from botocore import xform_name
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.operations import CONTROL, DATA
from keyheat.endpoint.service import Service
from keyheat.endpoint.shapes import shapes_of
from tests.endpoint.account import Account, attributes, index, indexed, on_demand, table, units
from tests.endpoint.clients import FakeClock
from tests.endpoint.generated import TABLE, Operation, operations
from tests.endpoint.test_item_refusals import on
from tests.endpoint.test_refusals import fitting

NAMES = {xform_name(name): name for name in DATA}
UPDATE = {
    "ProvisionedThroughput": units(6, 7), "BillingMode": "PROVISIONED", "TableName": "orders",
    "AttributeDefinitions": attributes("pk", "city"), "GlobalSecondaryIndexUpdates": [{"Create": index()}],
}  # fmt: skip
JUNK: list[Any] = [
    None, True, 0, -1, 1.5, "", ":p", "x", "#g", "a = b", "SET x", "size(x) > :v", "a[0].b", [], {}, [{}],
    [None], {"S": 1}, {"S": "a"}, {"N": "x"}, {"N": "1"}, {"SS": [1]}, {"SS": "a"}, {"L": [1]},
    {"M": {"a": 1}}, {"M": []}, {"B": "%%%"}, {"BS": ["!"]}, {"NULL": "x"}, {"BOOL": "x"}, {"a": None},
    {"": {}}, 2**40,
]  # fmt: skip
MEMBERS = ["", "Put", "ConditionExpression", "ProjectionExpression", "Select", "Limit", "ExclusiveStartKey"]
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


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in the request with each of its keys."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from places(value[key])


def damaged(request: Any, chance: random.Random) -> Any:
    """The request with one or two of its parts removed, replaced or added."""
    request = copy.deepcopy(request)
    for _ in range(chance.choice([1, 1, 2])):
        container, key = chance.choice([*places(request), (request, "TableName")])
        what = chance.random()
        if what < 0.2 and isinstance(container, dict):
            container.pop(key, None)
        elif what < 0.3 and isinstance(container, dict):
            container[chance.choice(MEMBERS)] = copy.deepcopy(chance.choice(JUNK))
        else:
            container[key] = copy.deepcopy(chance.choice(JUNK))
    return request


def a_service() -> Service:
    clock = FakeClock()
    service = Service(clock=clock, scale=1e6)
    CONTROL["CreateTable"](service, {"TableName": "orders", **copy.deepcopy(TABLE)})
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
    whole = as_json(operation.on("orders").request)
    for _ in range(10):
        answered(NAMES[operation.name], damaged(whole, chance))


WHERE = "WHERE pk = 'a' AND sk = 2"
STATEMENTS = [
    f"SELECT * FROM orders {WHERE} AND (x = ? OR NOT size(y) < 3) ORDER BY sk DESC",
    'SELECT pk, "y".a[0] FROM "orders"."all" WHERE g IN [\'g1\', ?] AND contains(x, \'a\') AND n IS MISSING',
    "INSERT INTO orders VALUE {'pk': 'a', 'sk': 7, 'x': [1, <<'a', ?>>, {'b': null}]}",
    f"UPDATE orders SET x = list_append(x, [?]), n = n + -1.5e1 REMOVE y.a[1] {WHERE} RETURNING ALL NEW *",
    f"UPDATE orders SET x = set_add(x, <<'a'>>) SET y = ? {WHERE} AND attribute_type(x, 'SS')",
    f"DELETE FROM orders {WHERE} AND n BETWEEN 1 AND ? RETURNING ALL OLD *",
    f"EXISTS(SELECT * FROM orders {WHERE} AND begins_with(g, ?))",
]
WORDS = [
    *" ".join(STATEMENTS).split(),
    *["(", ")", "[", "]", "{", "}", "<<", ">>", "?", "'", '"', "--", "/*", "\x00", "é"],
]
KEY = {"pk": {"S": "a"}, "sk": {"N": "2"}}
UPDATES = {"x": {"Action": "ADD", "Value": {"N": "1"}}, "y": {"Action": "DELETE"}}
NUMBERS = [{"N": "1"}, {"N": "2"}]
LEGACY: list[tuple[str, Any]] = [
    ("PutItem", {"Item": KEY, "Expected": {"x": {"Exists": False}}}),
    ("UpdateItem", {"Key": KEY, "AttributeUpdates": UPDATES, "Expected": {"n": on("IN", *NUMBERS)}}),
    ("Query", {"KeyConditions": {"pk": on("EQ", {"S": "a"})}, "ConditionalOperator": "OR",
               "QueryFilter": {"x": on("NULL"), "n": on("NOT_NULL")}, "AttributesToGet": ["pk", "x"]}),
    ("Scan", {"ScanFilter": {"sk": on("BETWEEN", *NUMBERS)}}),
]  # fmt: skip


def answered(operation: str, request: Any) -> None:
    """Ask, whatever comes of it: an answer in JSON, or an error that DynamoDB has."""
    try:
        answer = DATA[operation](SERVICE, request)
    except ServiceError as error:
        assert error.code in EXPECTED  # noqa: PT017
        orjson.dumps(error.body())
    else:
        orjson.loads(answer if isinstance(answer, bytes) else orjson.dumps(answer))


def misspelt(statement: str, chance: random.Random) -> str:
    """The statement with some of its words, or of its letters, removed, moved or replaced."""
    words = statement.split() if chance.random() < 0.7 else list(statement)
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(len(words))
        words[at : at + chance.choice([0, 1, 2])] = chance.sample(WORDS, chance.choice([0, 1, 2]))
        words = words or ["SELECT"]
    return (" " if len(words) < 60 else "").join(words)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2, 3))])
def test_misspelt_statements_get_an_answer(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(600):
        statement = chance.choice(STATEMENTS)
        text = misspelt(statement, chance)
        parameters: Any = [
            copy.deepcopy(chance.choice([{"S": "a"}, {"N": "2"}, *JUNK])) for _ in range(text.count("?"))
        ]
        entry = {"Statement": text, **({"Parameters": parameters} if parameters else {})}
        answered("ExecuteStatement", copy.deepcopy(entry))
        answered("BatchExecuteStatement", {"Statements": [copy.deepcopy(entry)]})
        answered("ExecuteTransaction", {"TransactStatements": [copy.deepcopy(entry)]})
        whole = {"Statement": statement, "Parameters": [{"S": "a"}], "Limit": 2}
        answered("ExecuteStatement", damaged(whole, chance))


@pytest.mark.slow
def test_damaged_parameters_from_before_expressions_get_an_answer() -> None:
    chance = random.Random(1)
    for _ in range(1000):
        operation, request = chance.choice(LEGACY)
        answered(operation, damaged({"TableName": "orders", **request}, chance))


@pytest.mark.slow
@pytest.mark.parametrize("operation", sorted(CONTROL))
def test_damaged_requests_to_change_tables_get_an_answer(operation: str) -> None:
    """What is changed all the same can be described afterwards."""
    account, chance = Account(), random.Random(operation)
    shape = shapes_of().input_of(operation)
    known = {"CreateTable": table("third", **indexed()), "UpdateTable": UPDATE}
    request = known.get(operation, fitting(shape) if shape is not None else {})
    for _ in range(20):
        account.call("CreateTable", **on_demand(f"t{chance.random()}"))
        names = account.call("ListTables")["TableNames"]
        named = {"TableName": names[0]} if "TableName" in request else {}
        with suppress(ServiceError):
            orjson.dumps(account.call(operation, **damaged(request | named, chance)))
        for name in account.call("ListTables")["TableNames"]:
            orjson.dumps(account.describe(name))
