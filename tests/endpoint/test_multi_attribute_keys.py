"""Global indexes whose keys are of several attributes: created, entered, queried, paged, and refused.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html
"""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.endpoint.itemkeys import key_of, key_texts
from keyheat.endpoint.schema import KeySchema, KeySchemaElement
from tests.endpoint.account import N, S, attributes, index, on_demand, schema

MATCHES = [
    ("winter", "eu", "final", "b", 7),
    ("winter", "eu", "final", "a", 30),
    ("winter", "eu", "half", "a", 100),
    ("winter", "eu", "half", "a", 9),
    ("winter", "us", "final", "a", 1),
    ("wintere", "u", "final", "a", 2),  # the same text, if it were joined
]
NAMES = ("cup", "region", "round", "bracket", "score")


BY_CUP = [
    *schema("cup"),
    *schema("region"),
    *({"AttributeName": name, "KeyType": "RANGE"} for name in ("round", "bracket", "score")),
]


@pytest.fixture
def matches(service_app: Any) -> Any:
    ddb = service_app.ddb
    request = on_demand(
        "matches", KeySchema=schema("id"),
        AttributeDefinitions=[*attributes("id", *NAMES[:-1]), *attributes("score", kind="N")],
        GlobalSecondaryIndexes=[index("by-cup", KeySchema=BY_CUP, ProvisionedThroughput=None)],
    )  # fmt: skip
    ddb.create_table(**request)
    service_app.clock.advance(600)
    for number, (*texts, score) in enumerate(MATCHES):
        named = {name: S(text) for name, text in zip(NAMES, texts, strict=False)}
        ddb.put_item(TableName="matches", Item={"id": S(str(number)), **named, "score": N(score)})
    for missing in NAMES:
        item = {name: {"S": "winter"} for name in NAMES if name != missing} | {"id": {"S": f"no {missing}"}}
        if missing != "score":
            item["score"] = {"N": "1"}
        ddb.put_item(TableName="matches", Item=item)
    return ddb


def found(ddb: Any, condition: str, **more: Any) -> list[str]:
    values = {":c": S("winter"), ":r": S("eu"), ":f": S("final"), ":a": S("a"), ":n": N(9)}
    used = {name: value for name, value in values.items() if name in condition}
    names = {f"#{name}": name for name in ("region", "round") if name in condition}  # reserved words
    answer = ddb.query(
        TableName="matches",
        IndexName="by-cup",
        KeyConditionExpression=condition.replace("region", "#region").replace("round", "#round"),
        ExpressionAttributeValues=used,
        **({"ExpressionAttributeNames": names} if names else {}),
        **more,
    )
    return [item["id"]["S"] for item in answer["Items"]]


BOTH = "cup = :c AND region = :r"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", ["1", "0", "3", "2"]),  # by round, bracket, and the score as a number
        (" AND round > :f", ["3", "2"]),
        (" AND begins_with(round, :f)", ["1", "0"]),
        (" AND round = :f AND bracket = :a AND score > :n", ["1"]),
        (" AND round = :f AND bracket = :a AND score BETWEEN :n AND :n", []),
    ],
)
def test_a_query_names_the_partition_key_whole_and_the_sort_key_from_its_beginning(
    matches: Any, more: str, expected: list[str]
) -> None:
    assert found(matches, BOTH + more) == expected
    assert found(matches, BOTH + more, ScanIndexForward=False) == expected[::-1]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("cup = :c", "Query condition missed key schema element: region"),
        (f"{BOTH} AND bracket = :a", "Query condition missed key schema element: round"),
        (f"{BOTH} AND round > :f AND bracket = :a", "Query key condition not supported"),
    ],
)
def test_what_skips_an_attribute_is_refused(matches: Any, condition: str, message: str) -> None:
    with pytest.raises(ClientError, match=message):
        found(matches, condition)


TEXT = st.text("ab\0\1é", min_size=1, max_size=4)
SCHEMA = KeySchema(
    KeySchemaElement("a", "S"),
    KeySchemaElement("c", "S"),
    (KeySchemaElement("b", "S"),),
    (KeySchemaElement("d", "S"),),
)


@settings(max_examples=30)
@given(TEXT, TEXT, TEXT, TEXT)
def test_a_stored_key_shows_the_attributes_of_its_partition_key(a: str, b: str, c: str, d: str) -> None:
    item = {name: {"S": text} for name, text in zip("abcd", (a, b, c, d), strict=True)}
    stored, _ = key_of(SCHEMA, item)
    assert key_texts(SCHEMA, stored) == [a, b]
