"""DynamoDB Streams as boto3's own client speaks them: what a stream says of every change of a table."""

from typing import Any

import pytest

from tests.endpoint.account import attributes, on_demand, schema
from tests.endpoint.asking import error_of
from tests.endpoint.clients import service_app_at
from tests.endpoint.streamed import Streamed


@pytest.fixture
def streamed() -> Streamed:
    return Streamed()


def told(record: Any) -> tuple[str, Any, Any]:
    return record["eventName"], record["dynamodb"].get("OldImage"), record["dynamodb"].get("NewImage")


def item(sort: str = "a", **attributes: Any) -> dict[str, Any]:
    return {"pk": {"S": "k"}, "sk": {"S": sort}, **attributes}


def every_kind_of_write(streamed: Streamed) -> None:
    one, two, key = {"N": "1"}, {"N": "2"}, {"pk": {"S": "k"}, "sk": {"S": "a"}}
    table = "orders"
    streamed.put("k", x=one)
    streamed.put("k", x=one)  # changes nothing
    streamed.put("k", y=two)
    streamed.ddb.delete_item(TableName=table, Key=key)
    streamed.ddb.delete_item(TableName=table, Key=key)  # there is nothing to delete
    add = {"UpdateExpression": "ADD n :n", "ExpressionAttributeValues": {":n": one}}
    streamed.ddb.update_item(TableName=table, Key=key, **add)
    streamed.ddb.update_item(TableName=table, Key=key, **add)
    streamed.ddb.batch_write_item(
        RequestItems={table: [{"PutRequest": {"Item": item(x=one)}}, {"PutRequest": {"Item": item("b")}}]}
    )
    streamed.ddb.transact_write_items(
        TransactItems=[
            {"Update": {"TableName": table, "Key": key, **add}},
            {"Delete": {"TableName": table, "Key": {"pk": {"S": "k"}, "sk": {"S": "b"}}}},
        ]
    )


@pytest.mark.parametrize("view", ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"])
def test_every_change_is_told_once_in_order_and_as_the_view_says(view: str) -> None:
    streamed, one, two = Streamed(view), {"N": "1"}, {"N": "2"}
    every_kind_of_write(streamed)
    records = streamed.records()
    assert [told(record) for record in records] == [
        (event, old if "OLD" in view else None, new if "NEW" in view else None)
        for event, old, new in (
            ("INSERT", None, item(x=one)),
            ("MODIFY", item(x=one), item(y=two)),
            ("REMOVE", item(y=two), None),
            ("INSERT", None, item(n=one)),
            ("MODIFY", item(n=one), item(n=two)),
            ("MODIFY", item(n=two), item(x=one)),
            ("INSERT", None, item("b")),
            ("MODIFY", item(x=one), item(x=one, n=one)),
            ("REMOVE", item("b"), None),
        )
    ]
    assert {record["dynamodb"]["StreamViewType"] for record in records} == {view}
    assert all(record["dynamodb"]["Keys"].keys() == {"pk", "sk"} for record in records)


def test_a_record_has_the_shape_and_the_size_that_aws_shows() -> None:
    """The sizes are those of https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-example.html"""
    app = service_app_at()
    keys = {"KeySchema": schema("Id"), "AttributeDefinitions": attributes("Id", kind="N")}
    images = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    app.ddb.create_table(**on_demand(**keys, StreamSpecification=images))
    for text in ("New item!", "This item has changed"):
        app.ddb.put_item(TableName="orders", Item={"Id": {"N": "101"}, "Message": {"S": text}})
    app.ddb.delete_item(TableName="orders", Key={"Id": {"N": "101"}})
    streams = app.client("dynamodbstreams")
    arn = streams.list_streams()["Streams"][0]["StreamArn"]
    records = []
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        where = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = streams.get_shard_iterator(**where)["ShardIterator"]
        records += streams.get_records(ShardIterator=iterator)["Records"]
    assert [record["dynamodb"]["SizeBytes"] for record in records] == [26, 59, 38]
    first = records[0]
    assert len({record["eventID"] for record in records}) == 3
    shown = (first["eventVersion"], first["eventSource"], first["awsRegion"])
    assert shown == ("1.1", "aws:dynamodb", "us-east-1")
    assert first["dynamodb"]["ApproximateCreationDateTime"].timestamp() == app.clock()


def test_a_stream_is_enabled_once_and_disabled_once(streamed: Streamed) -> None:
    enable = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
    disable = {"StreamSpecification": {"StreamEnabled": False}}
    update = streamed.ddb.update_table
    already = ("ValidationException", "Table already has an enabled stream: TableName: orders")
    assert error_of(update, TableName="orders", **enable) == already
    first = streamed.arn
    streamed.put("k")
    shown = update(TableName="orders", **disable)["TableDescription"]
    assert "StreamSpecification" not in shown
    assert shown["LatestStreamArn"] == first
    code, message = error_of(update, TableName="orders", **disable)
    assert (code, "no stream to disable" in message) == ("ValidationException", True)

    streamed.put("unseen")
    update(TableName="orders", **enable)
    streamed.put("seen")
    assert streamed.arn != first
    assert [r["dynamodb"]["Keys"]["pk"]["S"] for r in streamed.records()] == ["seen"]
    listed = {stream["StreamArn"] for stream in streamed.streams.list_streams()["Streams"]}
    assert listed == {first, streamed.arn}


def test_a_disabled_stream_and_that_of_a_deleted_table_are_read_for_a_day(streamed: Streamed) -> None:
    streamed.put("k")
    arn, shard_id = streamed.arn, streamed.shard_of("k")
    streamed.ddb.delete_table(TableName="orders")
    description = streamed.streams.describe_stream(StreamArn=arn)["StreamDescription"]
    assert description["StreamStatus"] == "DISABLED"
    assert all("EndingSequenceNumber" in s["SequenceNumberRange"] for s in description["Shards"])
    answer = streamed.streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard_id, ShardIteratorType="TRIM_HORIZON"
    )
    answer = streamed.streams.get_records(ShardIterator=answer["ShardIterator"])
    assert len(answer["Records"]) == 1
    assert "NextShardIterator" not in answer  # the shard is closed, and this was the last of it
    streamed.app.clock.advance(86_401)
    assert error_of(streamed.streams.describe_stream, StreamArn=arn)[0] == "ResourceNotFoundException"
    assert streamed.streams.list_streams()["Streams"] == []
