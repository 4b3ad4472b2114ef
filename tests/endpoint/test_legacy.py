"""Parameters from before expressions, by unmodified boto3: done as expressions, and refused like them."""

from typing import Any

import pytest

from tests.endpoint.account import BOTH, attributes, on_demand
from tests.endpoint.asking import error_of
from tests.endpoint.clients import ServiceApp, service_app_at

KEY = {"pk": {"S": "a"}, "sk": {"S": "1"}}
VALUE, ONE = {"S": "v"}, {"N": "1"}


def filled(ddb: Any) -> Any:
    """A table `orders` with three items of one partition key and one of another."""
    ddb.create_table(**on_demand(AttributeDefinitions=attributes("pk", "sk"), KeySchema=BOTH))
    for pk, sk, n in (("a", "1", "1"), ("a", "2", "2"), ("a", "3", "3"), ("b", "1", "9")):
        item = {"pk": {"S": pk}, "sk": {"S": sk}, "n": {"N": n}, "tags": {"SS": ["x", f"t{n}"]}}
        if sk == "3":
            item["extra"] = {"S": "more"}
        ddb.put_item(TableName="orders", Item=item)
    return ddb


@pytest.fixture
def ddb(service_app: ServiceApp) -> Any:
    return filled(service_app.ddb)


def on(operator: str, *values: Any) -> dict[str, Any]:
    return {"ComparisonOperator": operator, **({"AttributeValueList": list(values)} if values else {})}


S = [{"S": text} for text in "0123"]
N = [{"N": text} for text in "0123"]
OF_A = {"pk": on("EQ", {"S": "a"})}
READS: list[tuple[str, dict[str, Any], str]] = [
    ("query", {"KeyConditions": OF_A | {"sk": on("BETWEEN", S[1], S[2])}}, "a1 a2"),
    ("query", {"KeyConditions": OF_A | {"sk": on("GT", S[1])}, "ScanIndexForward": False}, "a3 a2"),
    ("query", {"KeyConditions": OF_A, "QueryFilter": {"n": on("GE", N[2])}}, "a2 a3"),
    ("scan", {"ScanFilter": {"n": on("IN", N[1], N[3])}}, "a1 a3"),
    ("scan", {"ScanFilter": {"tags": on("CONTAINS", {"S": "t2"})}}, "a2"),
    ("scan", {"ScanFilter": {"tags": on("NOT_CONTAINS", {"S": "t2"})}}, "a1 a3 b1"),
    ("scan", {"ScanFilter": {"n": on("NE", N[2])}}, "a1 a3 b1"),
    ("scan", {"ScanFilter": {"n": on("LT", N[3]), "sk": on("LE", S[1])}}, "a1"),
    ("scan", {"ScanFilter": {"n": on("EQ", N[1]), "extra": on("NOT_NULL")}, "ConditionalOperator": "OR"},
     "a1 a3"),
    ("query", {"KeyConditions": OF_A, "QueryFilter": {"n": on("GE", N[2]), "extra": on("NULL")}}, "a2"),
]  # fmt: skip


@pytest.fixture(scope="module")
def reading() -> Any:
    return filled(service_app_at().ddb)


@pytest.mark.parametrize(("operation", "request_", "found"), READS)
def test_reads_find(reading: Any, operation: str, request_: dict[str, Any], found: str) -> None:
    items = getattr(reading, operation)(TableName="orders", **request_)["Items"]
    keys = [item["pk"]["S"] + item["sk"]["S"] for item in items]
    assert (sorted(keys) if operation == "scan" else keys) == found.split()


def updated(ddb: Any, **updates: Any) -> Any:
    request = {"TableName": "orders", "Key": KEY, "AttributeUpdates": updates}
    return ddb.update_item(**request, ReturnValues="ALL_NEW")["Attributes"]


def test_updates_put_add_and_delete(ddb: Any) -> None:
    new = updated(
        ddb,
        status={"Action": "PUT", "Value": VALUE},
        plain={"Value": VALUE},
        n={"Action": "ADD", "Value": {"N": "4"}},
        hits={"Action": "ADD", "Value": ONE},
        tags={"Action": "DELETE", "Value": {"SS": ["x"]}},
        log={"Action": "ADD", "Value": {"L": [ONE]}},
    )
    made = {"status": VALUE, "plain": VALUE, "n": {"N": "5"}, "hits": ONE, "tags": {"SS": ["t1"]}}
    assert new == KEY | made | {"log": {"L": [ONE]}}
    again = updated(ddb, log={"Action": "ADD", "Value": {"L": [VALUE]}}, plain={"Action": "DELETE"})
    assert again == {name: value for name, value in new.items() if name != "plain"} | {
        "log": {"L": [ONE, VALUE]}
    }


@pytest.mark.parametrize(
    ("expected", "holds"),
    [
        ({"n": {"Value": ONE}}, True),
        ({"n": {"Value": {"N": "2"}, "Exists": True}}, False),
        ({"none": {"Exists": False}}, True),
        ({"n": on("BETWEEN", N[0], N[1]), "tags": on("CONTAINS", {"S": "x"})}, True),
    ],
)
def test_expected_is_a_condition(ddb: Any, expected: Any, holds: bool) -> None:
    def write() -> None:
        ddb.put_item(TableName="orders", Item=KEY, Expected=expected)

    if holds:
        write()
        assert ddb.get_item(TableName="orders", Key=KEY)["Item"] == KEY
    else:
        assert error_of(write)[0] == "ConditionalCheckFailedException"
    either = {"Expected": {**expected, "n": on("EQ", N[1]), "more": on("NULL")}, "ConditionalOperator": "OR"}
    ddb.update_item(TableName="orders", Key={"pk": {"S": "c"}, "sk": {"S": "c"}}, **either)
