"""Writes that fail, and batches: what they tell, cost and leave behind. `test_dynoxide` has other writes."""

from typing import Any

from tests.endpoint.ordering import counted, first_refused, key, ordered, refused, small


def test_a_failed_condition_shows_the_item_and_is_billed(service_app: Any) -> None:
    ddb = small(service_app)
    ddb.put_item(TableName="small", Item={"pk": {"S": "a"}, "x": {"S": "x" * 2000}})
    model = service_app.service.catalog.get("small").model
    before = model.decisions()
    absent = {"ConditionExpression": "attribute_not_exists(pk)"}
    more = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    error = refused(ddb.put_item, TableName="small", Item={"pk": {"S": "a"}}, **absent, **more)
    assert error["Error"]["Code"] == "ConditionalCheckFailedException"
    assert error["Item"]["pk"] == {"S": "a"}
    spent = sum(row["consumed"] for row in model.decisions()) - sum(row["consumed"] for row in before)
    assert spent == 2.0
    assert counted(service_app, "ConditionalCheckFailedRequests") == 1.0


def test_a_refused_write_leaves_no_trace(service_app: Any) -> None:
    ddb = small(service_app)
    number, error = first_refused(
        lambda number: ddb.put_item(
            TableName="small", Item={"pk": {"S": str(number)}, "x": {"S": "x" * 200_000}}
        )
    )
    assert error["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert error["ThrottlingReasons"][0]["reason"].startswith("TableWrite")
    assert "Item" not in ddb.get_item(TableName="small", Key={"pk": {"S": str(number)}})


def put(item: dict[str, Any]) -> dict[str, Any]:
    return {"PutRequest": {"Item": item}}


def delete(named: dict[str, Any]) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": named}}


def test_puts_and_deletes_are_done_and_billed_one_by_one(orders: Any) -> None:
    orders.put_item(TableName="orders", Item=key("a", 9))
    puts = [put({**key("a", number), "x": {"S": "x" * size}}) for number, size in ((1, 500), (2, 3500))]
    deletes = [delete(key("a", number)) for number in (9, 10)]
    told = {"ReturnConsumedCapacity": "INDEXES", "ReturnItemCollectionMetrics": "SIZE"}
    answer = orders.batch_write_item(RequestItems={"orders": puts + deletes}, **told)
    assert answer["UnprocessedItems"] == {}
    seven = {"CapacityUnits": 7.0}
    assert answer["ConsumedCapacity"] == [{"TableName": "orders", **seven, "Table": seven}]
    assert len(answer["ItemCollectionMetrics"]["orders"]) == 4
    assert [item["sk"]["N"] for item in orders.scan(TableName="orders")["Items"]] == ["1", "2"]


def test_refused_writes_come_back_and_only_an_empty_batch_is_an_error(service_app: Any) -> None:
    ddb = small(service_app)
    ddb.put_item(TableName="small", Item={"pk": {"S": "uneven"}, "x": {"S": "x" * 30_000}})
    batch = [put({"pk": {"S": str(number)}, "x": {"S": "x" * 40_000}}) for number in range(25)]
    answers: list[Any] = []
    _, error = first_refused(
        lambda _: answers.append(
            ddb.batch_write_item(RequestItems={"small": batch}, ReturnConsumedCapacity="TOTAL")
        )
    )
    assert error.get("ThrottlingReasons") or error.get("throttlingReasons")
    lefts = [answer["UnprocessedItems"].get("small", []) for answer in answers]
    assert any(lefts)
    for answer, left in zip(answers, lefts, strict=True):
        assert answer["ConsumedCapacity"][0]["CapacityUnits"] == 40.0 * (25 - len(left))
    assert counted(service_app, "ThrottledRequests", Operation="BatchWriteItem") == 1


def test_past_16_megabytes_keys_come_back(service_app: Any) -> None:
    service_app.service.scale = 1000.0
    ddb = ordered(service_app)
    keys = [key("a", number) for number in range(50)]
    for named in keys:
        ddb.put_item(TableName="orders", Item={**named, "x": {"S": "x" * 400_000}})
        service_app.clock.advance(1)
    answer = ddb.batch_get_item(RequestItems={"orders": {"Keys": keys}})
    assert len(answer["Responses"]["orders"]) == 41
    assert answer["UnprocessedKeys"] == {"orders": {"Keys": keys[41:]}}
