"""Condition, update and projection expressions, as rows."""

import re
from typing import Any

import orjson
import pytest

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.expressions.compiler import Expressions, require_expressions

ITEM = {
    "pk": {"S": "a"},
    "n": {"N": "10"},
    "s": {"S": "snow"},
    "b": {"B": "AQI="},
    "flag": {"BOOL": True},
    "list": {"L": [{"N": "1"}, {"S": "x"}]},
    "map": {"M": {"in": {"N": "5"}, "deep": {"M": {"x": {"S": "y"}}}}},
    "set": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2"]},
}
NAMES = {"#m": "map", "#i": "in", "#n": "n", "#l": "list", "#s": "set"}
VALUES = {
    ":two": {"N": "2"}, ":ten": {"N": "10.0"}, ":twenty": {"N": "20"}, ":sn": {"S": "sn"}, ":x": {"S": "x"},
    ":a": {"S": "a"}, ":N": {"S": "N"}, ":raw": {"B": "AQ=="}, ":true": {"BOOL": True}, ":one": {"N": "1"},
    ":list": {"L": [{"N": "9"}]}, ":set": {"SS": ["b", "c"]}, ":all": {"SS": ["a", "b"]},
}  # fmt: skip


MANY = "The expression contains too many operators; operator count: 301"
DEEP = "The document path has too many nesting levels; nesting levels: 33"


def expressions(text: str) -> Expressions:
    """Names and values that the text uses, and no others."""
    words = set(re.findall(r"[#:]\w+", text))
    return Expressions(
        {
            member: chosen
            for member, known in (("ExpressionAttributeNames", NAMES), ("ExpressionAttributeValues", VALUES))
            if (chosen := {name: value for name, value in known.items() if name in words})
        }
    )


def shortened(value: object) -> str:
    return str(value)[:60]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("n = :ten", True),
        ("nowhere <> :ten", True),
        ("n > :two AND n < :twenty", True),
        ("n between :two and :ten", True),
        ("n IN (:two, :ten)", True),
        ("n IN (:two, :twenty)", False),
        ("s > :two", False),
        ("NOT n = :two AND s = :x", False),  # NOT binds closest, then AND
        ("n = :ten OR s = :x AND s = :a", True),
        ("begins_with(s, :sn)", True),
        ("begins_with(b, :raw)", True),
        ("begins_with(n, :sn)", False),
        ("contains(s, :sn)", True),
        ("contains(#s, :a)", True),
        ("contains(numbers, :two)", True),
        ("contains(#l, :two)", False),
        ("attribute_exists(#m.#i)", True),
        ("attribute_exists(#m.nothing)", False),
        ("attribute_not_exists(#l[10])", True),
        ("attribute_type(n, :N)", True),
        ("attribute_type(s, :N)", False),
        ("size(s) > :two", True),
        ("size(b) = :two", True),
        ("size(n) > :two", False),
        ("#l[0] = :one", True),
        ("#m.deep.x = :x", False),
        ("#s = :all", True),
        ("n\n =\t:ten", True),
        (" AND ".join(["n=n"] * 150), True),  # at most 300 operators
        ("NOT (" * 299 + "a=b" + ")" * 299, True),
    ],
    ids=shortened,
)
def test_conditions(text: str, holds: bool) -> None:
    found = expressions(text)
    condition = found.condition("ConditionExpression", text)
    found.finish()
    assert condition.test(ITEM, found.values) is holds


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("SET n = n + :two", {"n": {"N": "12"}}),
        ("SET n = :two - n", {"n": {"N": "-8"}}),
        ("SET fresh = if_not_exists(fresh, :two) + :one", {"fresh": {"N": "3"}}),
        ("SET #l = list_append(:list, #l)", {"list": {"L": [{"N": "9"}, {"N": "1"}, {"S": "x"}]}}),
        ("SET #l[0] = :x, #l[9] = :a", {"list": {"L": [{"S": "x"}, {"S": "x"}, {"S": "a"}]}}),
        ("SET n = :two, s = n", {"s": {"N": "10"}, "n": {"N": "2"}}),  # of the item as it was
        ("SET #m.fresh = :x", {"map": {"M": {**ITEM["map"]["M"], "fresh": {"S": "x"}}}}),
        ("REMOVE #l[0], #l[1]", {"list": {"L": []}}),
        ("REMOVE #l[0] SET #l[1] = :a", {"list": {"L": [{"S": "a"}]}}),
        ("ADD n :two, fresh :one", {"n": {"N": "12"}, "fresh": {"N": "1"}}),
        ("ADD #s :set", {"set": {"SS": ["a", "b", "c"]}}),
        ("DELETE #s :set", {"set": {"SS": ["a"]}}),
        ("DELETE #s :all", {"set": None}),
        ("SET " + ",".join(f"a{n}=:x" for n in range(400)), {f"a{n}": {"S": "x"} for n in range(400)}),
    ],
    ids=shortened,
)
def test_updates(text: str, changed: dict[str, Any]) -> None:
    found = expressions(text)
    update = found.update(text)
    found.finish()
    after = orjson.loads(orjson.dumps(ITEM))
    update.run(ITEM, after, found.values)
    wanted = {**ITEM, **changed}
    assert after == {name: value for name, value in wanted.items() if value is not None}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("#m.#i", {"map": {"M": {"in": {"N": "5"}}}}),
        ("#m.deep.x, #m.#i", {"map": {"M": {"deep": {"M": {"x": {"S": "y"}}}, "in": {"N": "5"}}}}),
        ("#l[1]", {"list": {"L": [{"S": "x"}]}}),
        ("a" + ".a" * 31, {}),
    ],
    ids=shortened,
)
def test_projections(text: str, shown: dict[str, Any]) -> None:
    assert expressions(text).projection(text).of(ITEM) == shown


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("condition", " ", "The expression can not be empty;"),
        ("condition", "foo(n)", "Invalid function name; function: foo"),
        ("condition", "name = :ten", "reserved keyword: name"),
        ("condition", "n = :nowhere", "attribute value: :nowhere"),
        ("condition", "#nowhere = :ten", "attribute name: #nowhere"),
        ("condition", "n < :true", "operator or function: <, operand type: BOOL"),
        ("condition", "n BETWEEN :ten AND :two", "upper bound to be greater than or equal to lower bound"),
        ("condition", "n BETWEEN :ten AND :x", "same data type for lower and upper bounds"),
        ("condition", "attribute_type(n, :x)", "Invalid attribute type name found; type: x"),
        ("condition", "((n = :ten))", "redundant parentheses"),
        ("condition", "n = :ten s", 'Syntax error; token: "s", near: ":ten s"'),
        ("condition", "n = ", 'Syntax error; token: "<EOF>", near: "="'),
        ("condition", "contains(n)", "function: contains, number of operands: 1"),
        ("condition", "attribute_exists(:two)", "path; operator or function: attribute_exists"),
        ("condition", "(" * 2000 + "n = :ten" + ")" * 2000, "ConditionExpression"),
        ("update", "SET n = n + :x", "operator or function: +, operand type: S"),
        ("update", "SET n = :two SET s = :x", 'The "SET" section can only be used once'),
        ("update", "SET #m = :two, #m.deep = :ten", "path one: [map], path two: [map, deep]"),
        ("update", "SET #m.deep = :two, #m[0] = :ten", "paths conflict with each other"),
        ("update", "ADD s :x", "operator: ADD, operand type: STRING"),
        ("condition", " AND ".join(["a=b"] * 501), f"Invalid ConditionExpression: {MANY}"),
        ("condition", "NOT " * 501 + "a=b", MANY),
        ("condition", " AND ".join(["a BETWEEN b AND c"] * 151), MANY),
        (
            "update",
            "SET " + ",".join(f"a{n}=a{n}+:x" for n in range(301)),
            f"Invalid UpdateExpression: {MANY}",
        ),
        *(("condition", f"attribute_exists(a{step * 32})", DEEP) for step in (".a", "[0]", ".#m")),
        ("update", f"SET a{'.a' * 32} = :two", DEEP),
        ("projection", "a" + ".a" * 32, f"Invalid ProjectionExpression: {DEEP}"),
        ("projection", "a" + ".a" * 999, DEEP.replace("33", "1000")),
    ],
    ids=shortened,
)
def test_what_is_no_expression_is_refused(kind: str, text: str, message: str) -> None:
    found = expressions(text)
    parse = {
        "condition": lambda: found.condition("ConditionExpression", text),
        "update": lambda: found.update(text),
        "projection": lambda: found.projection(text),
    }[kind]
    with pytest.raises(ServiceError) as caught:
        parse()
    assert caught.value.code == "ValidationException"
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET n = s + :two", "incorrect data type"),
        ("SET n = nowhere", "refers to an attribute that does not exist"),
        ("SET nowhere.x = :two", "document path provided in the update expression is invalid"),
        ("ADD s :two", "incorrect data type"),
    ],
)
def test_what_the_item_does_not_allow_is_refused(text: str, message: str) -> None:
    found = expressions(text)
    update = found.update(text)
    with pytest.raises(ServiceError, match=message):
        update.run(ITEM, orjson.loads(orjson.dumps(ITEM)), found.values)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"ExpressionAttributeNames": {"#a": "a"}}, "ExpressionAttributeNames can only be specified when"),
        ({"ExpressionAttributeValues": {":a": {"S": "a"}}}, "ConditionExpression is null"),
    ],
)
def test_names_and_values_want_an_expression(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(ServiceError, match=message):
        require_expressions(request_, ("ConditionExpression",))


def test_unused_names_and_values_are_refused() -> None:
    for member, name, value in (
        ("ExpressionAttributeNames", "#a", "a"),
        ("ExpressionAttributeValues", ":a", {"S": "a"}),
    ):
        with pytest.raises(ServiceError, match=f"{member} unused in expressions: keys: {{{name}}}"):
            Expressions({member: {name: value}}).finish()
