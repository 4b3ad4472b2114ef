"""Query and Scan: pages, indexes, segments, what they cost. `test_dynoxide` has conditions and filters."""

from typing import Any

import pytest

from tests.endpoint.account import attributes, index
from tests.endpoint.clients import service_app_at
from tests.endpoint.ordering import key, ordered, refused

COUNT = 12


@pytest.fixture(scope="module")
def orders() -> Any:
    """Twelve orders of `a`, three of each other partition; every other one is in the indexes."""
    ddb = ordered(service_app_at())
    for number in range(COUNT):
        more = {"g": {"S": "g"}, "l": {"S": f"l{COUNT - number:02}"}} if number % 2 == 0 else {}
        ddb.put_item(TableName="orders", Item={**key("a", number), **more, "x": {"N": str(number)}})
    for partition in "bcd":
        for number in range(3):
            ddb.put_item(TableName="orders", Item=key(partition, number))
    return ddb


def query(ddb: Any, condition: str, values: dict[str, Any], **more: Any) -> Any:
    where = {"KeyConditionExpression": condition, "ExpressionAttributeValues": values}
    return ddb.query(TableName="orders", ReturnConsumedCapacity="INDEXES", **where, **more)


def sorts(answer: Any) -> list[int]:
    return [int(item["sk"]["N"]) for item in answer["Items"]]


A = {":p": {"S": "a"}}


KEYS_OF = {None: set(), "by_group": {"g"}, "local": {"l"}}


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("index", [None, "by_group", "local"])
@pytest.mark.parametrize("limit", [1, 6, 100])
def test_pages_join_to_the_whole(orders: Any, forward: bool, index: str | None, limit: int) -> None:
    condition = ("g = :p", {":p": {"S": "g"}}) if index == "by_group" else ("pk = :p", A)
    more: dict[str, Any] = {"ScanIndexForward": forward, **({"IndexName": index} if index else {})}
    whole, paged = sorts(query(orders, *condition, **more)), []
    while True:
        answer = query(orders, *condition, Limit=limit, **more)
        paged += sorts(answer)
        if "LastEvaluatedKey" not in answer:
            break
        assert len(answer["Items"]) == limit
        assert answer["LastEvaluatedKey"].keys() == {"pk", "sk"} | KEYS_OF[index]
        more["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    assert paged == whole
    assert len(whole) == (COUNT if index is None else COUNT // 2)


def test_a_local_index_has_its_own_order_and_reads_the_table_for_the_rest(orders: Any) -> None:
    projected = query(orders, "pk = :p", A, IndexName="local")
    assert sorts(projected) == [10, 8, 6, 4, 2, 0]
    assert projected["Items"][0].keys() == {"pk", "sk", "l"}
    assert projected["ConsumedCapacity"]["LocalSecondaryIndexes"] == {"local": {"CapacityUnits": 0.5}}
    whole = query(orders, "pk = :p", A, IndexName="local", Select="ALL_ATTRIBUTES")
    assert [item["x"]["N"] for item in whole["Items"]] == ["10", "8", "6", "4", "2", "0"]
    assert whole["ConsumedCapacity"]["Table"] == {"CapacityUnits": 3.0}


def test_a_page_ends_before_one_megabyte(service_app: Any) -> None:
    ddb = ordered(service_app)
    for number in range(4):
        ddb.put_item(TableName="orders", Item={**key("a", number), "x": {"S": "x" * 400_000}})
        service_app.clock.advance(60)
    answer = query(ddb, "pk = :p", A, Select="COUNT", ConsistentRead=True)
    assert (answer["Count"], answer["LastEvaluatedKey"]) == (2, key("a", 1))
    assert answer["ConsumedCapacity"]["CapacityUnits"] == -(-800_026 // 4096)


@pytest.mark.parametrize("index", [None, "by_group", "local"])
@pytest.mark.parametrize("total", [1, 3, 64])
def test_segments_share_the_items(orders: Any, index: str | None, total: int) -> None:
    more = {"IndexName": index} if index else {}
    whole = orders.scan(TableName="orders", **more)["Items"]
    shared = []
    for segment in range(total):
        found, start = [], {}
        while True:
            of = {"Segment": segment, "TotalSegments": total, "Limit": 2}
            answer = orders.scan(TableName="orders", **of, **start, **more)
            found += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                break
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
        shared += found
    assert shared == whole
    assert len(whole) == (COUNT // 2 if index else COUNT + 9)


def test_a_global_index_cannot_answer_with_more_than_it_has(service_app: Any) -> None:
    ddb = ordered(service_app)
    by_x = index("by_x", "x", Projection={"ProjectionType": "KEYS_ONLY"}, ProvisionedThroughput=None)
    types = [*attributes("pk"), *attributes("x", kind="N")]
    create = {"AttributeDefinitions": types, "GlobalSecondaryIndexUpdates": [{"Create": by_x}]}
    ddb.update_table(TableName="orders", **create)
    service_app.clock.advance(3600)
    of_one = {"KeyConditionExpression": "x = :x", "ExpressionAttributeValues": {":x": {"N": "1"}}}
    request = {"IndexName": "by_x", **of_one}
    error = refused(ddb.query, TableName="orders", Select="ALL_ATTRIBUTES", **request)["Error"]
    assert "its projection type is not ALL" in error["Message"]
    error = refused(ddb.query, TableName="orders", ProjectionExpression="y", **request)["Error"]
    assert "Global secondary index by_x does not project [y]" in error["Message"]
