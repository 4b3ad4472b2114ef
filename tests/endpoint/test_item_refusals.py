"""Requests for items and statements that DynamoDB refuses, with its words."""

from typing import Any

import pytest

from tests.endpoint.account import N, S
from tests.endpoint.clients import ServiceApp, refusal
from tests.endpoint.ordering import key

Request = dict[str, Any]
INVALID = "One or more parameter values were invalid: "

KEY, X = key("a", 1), "x" * 409_600
PUT = [
    ({"Item": {"pk": S("a")}}, "Missing the key sk in the item"),
    ({"Item": KEY | {"sk": S("1")}}, "Type mismatch for key sk expected: N actual: S"),
    ({"Item": KEY | {"pk": S("")}}, "cannot contain an empty string value. Key: pk"),
    ({"Item": KEY | {"g": S("")}}, "empty string value. IndexName: by_group, IndexKey: g"),
    ({"Item": KEY | {"g": N(1)}}, "Type mismatch for Index Key g Expected: S Actual: N IndexName: by_group"),
    ({"Item": KEY | {"x": {"SS": []}}}, "An string set  may not be empty"),
    ({"Item": KEY | {"x": {"NS": ["1", "1.0"]}}}, "Input collection contains duplicates"),
    ({"Item": KEY | {"x": S(X)}}, "Item size has exceeded the maximum allowed size"),
    ({"Item": KEY | {"pk": S("k" * 2049)}}, "size limit of2048 bytes"),
    ({"Item": KEY | {"l": S("k" * 1025)}}, "size limit of 1024 bytes"),
    ({"Item": KEY | {"x": {"NULL": False}}}, "must have the value of true"),
    ({"ReturnValues": "ALL_NEW"}, "ReturnValues"),
]
WRONG_KEY = "The provided key element does not match the schema"
GET = [({"Key": wrong}, WRONG_KEY) for wrong in ({"pk": S("a")}, KEY | {"x": S("x")}, KEY | {"sk": S("1")})]


def put(sort: int = 1, **more: Any) -> Request:
    return {"PutRequest": {"Item": key("a", sort) | more}}


def delete(named: Request) -> Request:
    return {"DeleteRequest": {"Key": named}}


def batch(*requests: Request) -> Request:
    return {"RequestItems": {"orders": list(requests)}}


BATCH_WRITE = [
    (batch(put(), delete(KEY)), "Provided list of item keys contains duplicates"),
    (batch(*map(put, range(26))), "less than or equal to 25"),
    (batch({}), "every entry of BatchWriteItem has one request"),
    (batch(delete({"pk": S("a")})), WRONG_KEY),
]
BATCH_GET = [
    ({"RequestItems": {"orders": {"Keys": [KEY, KEY]}}}, "duplicates"),
    ({"RequestItems": {"orders": {"Keys": [key("a", n) for n in range(101)]}}}, "less than or equal to 100"),
    ({"RequestItems": {"nothing": {"Keys": [KEY]}}}, "ResourceNotFoundException: not found"),
]


def where(condition: str, **more: Any) -> Request:
    return {"KeyConditionExpression": condition, "ExpressionAttributeValues": {":p": S("a")}, **more}


QUERY = [
    ({}, "KeyConditionExpression parameter must be specified"),
    (where("sk = :p"), "Query condition missed key schema element: pk"),
    (where("pk > :p"), "Query key condition not supported"),
    (where("pk = :p AND x = :p"), "missed key schema element: sk"),
    (where("pk = :p OR sk = :p"), "Invalid operator used in KeyConditionExpression: OR"),
    (where("pk = :p AND sk <> :p"), "Invalid operator used"),
    (where("pk = :p AND pk = :p"), "must only contain one condition per key"),
    (where("pk = :p AND sk = :p"), "Condition parameter type does not match schema type"),
    (where("pk = :p AND sk = x"), "Multiple attribute names used in one condition"),
    (where("pk.x = :p"), "cannot have conditions on nested attributes"),
    (where("pk = :p", IndexName="none"), "does not have the specified index: none"),
    (where("g = :p", IndexName="by_group", ConsistentRead=True), "Consistent reads"),
    (where("pk = :p", FilterExpression="pk = :p"), "non-primary key attributes"),
    (where("pk = :p", Select="SPECIFIC_ATTRIBUTES"), "Must specify the AttributesToGet"),
    (where("pk = :p", Select="ALL_PROJECTED_ATTRIBUTES"), "using an IndexName"),
    (where("pk = :p", Select="COUNT", ProjectionExpression="x"), "only the Count"),
    (where("pk = :p", ExclusiveStartKey=key("b", 1)), "outside query boundaries"),
    (where("pk = :p", KeyConditions={}), "KeyConditions"),
]
SCAN = [
    ({"Segment": 1}, "The TotalSegments parameter is required"),
    ({"Segment": 2, "TotalSegments": 2}, "Segment: 2 is not less than TotalSegments: 2"),
    ({"IndexName": "local", "ExclusiveStartKey": KEY}, "starting key is invalid"),
]


def step(kind: str, sort: int = 1, **more: Any) -> Request:
    what = {"Item": key("a", sort)} if kind == "Put" else {"Key": key("a", sort)}
    return {kind: {"TableName": "orders"} | what | more}


SET_KEY = {"UpdateExpression": "SET pk = :v", "ExpressionAttributeValues": {":v": N(1)}}
TRANSACT = [
    ([step("Put"), step("Delete")], "cannot include multiple operations on one item"),
    ([step("Put", number) for number in range(101)], "less than or equal to 100"),
    ([step("Put") | step("Delete", 2)], "can only contain one of Check, Put, Update or Delete"),
    ([step("Update", **SET_KEY)], "Cannot update attribute pk"),
    ([step("Put", n, Item=key("a", n) | {"x": S(X[:400_000])}) for n in range(11)], "4 MB"),
]

# Parameters from before expressions: the whole message.
MIXED = "Can not use both expression and non-expression parameters in the same request: "


def on(operator: str, *values: Any) -> Request:
    return {"ComparisonOperator": operator, **({"AttributeValueList": list(values)} if values else {})}


ONE, V = N(1), S("v")
EQ = on("EQ", ONE)
EXPECTED = [
    ({"Exists": True, **EQ}, "Exists and ComparisonOperator cannot be used together for Attribute: a"),
    ({"Value": ONE, **EQ}, "Value and AttributeValueList cannot be used together for Attribute: a"),
    (on("EQ"), "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a"),
    ({"AttributeValueList": [ONE]},
     "AttributeValueList can only be used with a ComparisonOperator for Attribute: a"),
    ({}, "Value must be provided when Exists is null for Attribute: a"),
    ({"Exists": False, "Value": ONE}, "Value cannot be used when Exists is false for Attribute: a"),
]  # fmt: skip
ATTRIBUTE_UPDATES = [
    ({"a": {"Action": "ADD"}}, "Only DELETE action is allowed when no attribute value is specified"),
    ({"a": {"Action": "ADD", "Value": V}}, "ADD action is not supported for the type S"),
    ({"sk": {"Value": ONE}}, "Cannot update attribute sk. This attribute is part of the key"),
]
SCAN_FILTER = [
    (on("BETWEEN", ONE), INVALID + "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
    (on("LT", {"SS": ["a"]}), INVALID + "ComparisonOperator LT is not valid for SS AttributeValue type"),
    (on("IN", ONE, V), INVALID + "AttributeValues inside AttributeValueList must be of same type"),
    (on("BETWEEN", N(2), ONE),
     "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"),
]  # fmt: skip
OF_A = {"pk": on("EQ", V)}
LEGACY = [
    *(("PutItem", {"Expected": {"a": wrong}}, INVALID + words) for wrong, words in EXPECTED),
    *(("UpdateItem", {"AttributeUpdates": wrong}, INVALID + words) for wrong, words in ATTRIBUTE_UPDATES),
    *(("Scan", {"ScanFilter": {"a": wrong}}, words) for wrong, words in SCAN_FILTER),
    ("Query", {"KeyConditions": {}, "QueryFilter": {}, "ConditionalOperator": "OR", "FilterExpression": "a"},
     MIXED + "Non-expression parameters: {QueryFilter, ConditionalOperator, KeyConditions} "
     "Expression parameters: {FilterExpression}"),
    ("Scan", {"ScanFilter": {}, "ExpressionAttributeNames": {"#a": "a"}},
     "ExpressionAttributeNames can only be specified when using expressions"),
    ("Scan", {"ConditionalOperator": "OR"}, "ConditionalOperator cannot be used without Filter or Expected"),
    ("Scan", {"ConditionalOperator": "OR", "ScanFilter": {"a": on("NULL")}},
     "ConditionalOperator can only be used when Filter or Expected has two or more elements"),
    ("Query", {"KeyConditions": {}}, "Conditions can be of length 1 or 2 only"),
    ("Query", {"KeyConditions": {"pk": on("NE", V)}},
     "Attempted conditional constraint is not an indexable operation"),
    ("Query", {"KeyConditions": {"sk": on("EQ", ONE)}}, "Query condition missed key schema element: pk"),
    ("Query", {"KeyConditions": OF_A, "QueryFilter": {"sk": on("EQ", ONE)}},
     "QueryFilter can only contain non-primary key attributes: Primary key attribute: sk"),
    ("Scan", {"AttributesToGet": ["a", "b", "a"]}, INVALID + "Duplicate value in attribute name: a"),
]  # fmt: skip
ROWS = [
    *(("PutItem", *row) for row in PUT),
    *(("GetItem", *row) for row in GET),
    *(("BatchWriteItem", *row) for row in BATCH_WRITE),
    *(("BatchGetItem", *row) for row in BATCH_GET),
    *(("Query", *row) for row in QUERY),
    *(("Scan", *row) for row in SCAN),
    *(("TransactWriteItems", {"TransactItems": steps}, words) for steps, words in TRANSACT),
    *LEGACY,
]
BASE = {"PutItem": {"Item": KEY}, "GetItem": {"Key": KEY}, "UpdateItem": {"Key": KEY}}


@pytest.mark.parametrize(
    ("operation", "members", "message"), ROWS, ids=[f"{row[0]}: {row[2][-60:]}" for row in ROWS]
)
def test_a_wrong_request_is_refused_with_the_reason(
    refusing: ServiceApp, operation: str, members: Request, message: str
) -> None:
    several = operation.startswith(("Batch", "Transact"))
    request = members if several else {"TableName": "orders", **BASE.get(operation, {}), **members}
    code, text = refusal(refusing, operation, request)
    expected, _, words = message.rpartition("Exception: ")
    assert code == f"{expected or 'Validation'}Exception"
    assert text == words if (operation, members, message) in LEGACY else words in text
    assert len(refusing.service.catalog.get("orders").items) == 0


MALFORMED = "Statement wasn't well formed, can't be processed: "
LEFT_OVER = f"{MALFORMED}Unexpected token after expression"
FROM = "SELECT * FROM music"
OF_MAGNITUDE = "Attempting to store a number with magnitude"
STATEMENTS = [
    # What DynamoDB answered: github.com/paritysuite/dynamodb-conformance, read off in October 2026.
    ("SELEC * FROM music", f"{MALFORMED}Expected data manipulation"),
    (f"{FROM} WHERE artist = 1 foo", LEFT_OVER),
    ("DELETE FROM music WHERE artist = 1 ORDER BY artist", LEFT_OVER),
    (f"{FROM} ORDER BY artist WHERE artist = 1", LEFT_OVER),
    (f"{FROM} WHERE artist = 1e99999999999", MALFORMED),
    (f"{FROM} WHERE artist = 1 # note", MALFORMED),
    (f"{FROM} t WHERE artist = 'x'", "Aliasing is not supported"),
    ("INSERT INTO music t VALUE {'artist': 'x'}", LEFT_OVER),
    (f"{FROM} WHERE artist = 1e126",
     f"Number overflow. {OF_MAGNITUDE} larger than supported range under root"),
    ("INSERT INTO music VALUE {'artist': 'a', 'song': 'b', 'm': {'x': 1e-131}}",
     f"Number underflow. {OF_MAGNITUDE} smaller than supported range under root.x"),
    ("INSERT INTO music VALUE {'artist': 'a', 'l': [1, 123456789012345678901234567890123456789]}",
     "Attempting to store more than 38 significant digits in a Number under root[1]"),
    (f"{FROM} WHERE", f"{MALFORMED}Unexpected term"),
    (f"{FROM} WHERE a = 1 OR", f"{MALFORMED}Missing right-hand side expression of infix operator"),
    (f"{FROM} WHERE ORDER BY artist", f"{MALFORMED}Unexpected keyword"),
    (f"{FROM} WHERE a IS FOO", f"{MALFORMED}Expected type name"),
    (f"{FROM} WHERE IS NULL", f"{MALFORMED}Unexpected operator"),
    ("DELETE FROM", f"{MALFORMED}Expected identifier for simple path"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "message"), STATEMENTS)
def test_what_does_not_parse_is_refused_in_dynamodbs_words(
    refusing: ServiceApp, statement: str, message: str
) -> None:
    assert refusal(refusing, "ExecuteStatement", {"Statement": statement}) == ("ValidationException", message)


NESTED = "Nesting Levels have exceeded supported limits"


@pytest.mark.parametrize("levels", [33, 10_000])
def test_a_value_has_32_levels_at_most(refusing: ServiceApp, levels: int) -> None:
    value = b'{"M":{"a":' * levels + b'{"S":"x"}' + b"}}" * levels
    item = b'{"TableName":"orders","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"x":' + value + b"}}"
    update = b'{"TableName":"orders","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":"SET x=:x",'
    for operation, request in {
        "PutItem": item,
        "TransactWriteItems": b'{"TransactItems":[{"Put":' + item + b"}]}",
        "BatchWriteItem": b'{"RequestItems":{"orders":[{"PutRequest":' + item + b"}]}}",
        "UpdateItem": update + b'"ExpressionAttributeValues":{":x":' + value + b"}}",
    }.items():
        code, message = refusal(refusing, operation, request)
        assert (code, NESTED in message) == ("ValidationException", True), (operation, message)
