"""The shards of a stream: one per partition, split as partitions split, read by iterators, trimmed."""

from typing import Any

import pytest

from keyheat.endpoint import stream as stream_module
from tests.endpoint.asking import error_of
from tests.endpoint.clients import refusal
from tests.endpoint.streamed import Streamed


@pytest.fixture
def streamed() -> Streamed:
    return Streamed()


def split_by_capacity(streamed: Streamed) -> None:
    """UpdateTable asks for the partitions of 8,000 writes per second where there were those of 4,000."""
    warm = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 8_000}
    streamed.ddb.update_table(TableName="orders", WarmThroughput=warm)


def numbers_of(records: list[Any]) -> list[int]:
    return [int(record["dynamodb"]["SequenceNumber"]) for record in records]


def test_a_partition_that_splits_closes_its_shard_and_opens_two_children(streamed: Streamed) -> None:
    keys = [f"k-{n}" for n in range(6)]
    for key in keys:
        streamed.put(key, x={"N": "1"})
    parents = {key: streamed.shard_of(key) for key in keys}
    split_by_capacity(streamed)
    for key in keys:
        streamed.put(key, x={"N": "2"})

    shards = {shard["ShardId"]: shard for shard in streamed.shards()}
    assert len(shards) == 12
    assert [one for one in shards] == sorted(shards)
    closed = {
        name for name, shard in shards.items() if "EndingSequenceNumber" in shard["SequenceNumberRange"]
    }
    assert closed == set(list(shards)[:4])
    for parent in closed:
        children = [shard for shard in shards.values() if shard.get("ParentShardId") == parent]
        assert len(children) == 2
        assert streamed.shards(ShardFilter={"Type": "CHILD_SHARDS", "ShardId": parent}) == children
        ended = int(shards[parent]["SequenceNumberRange"]["EndingSequenceNumber"])
        assert all(int(c["SequenceNumberRange"]["StartingSequenceNumber"]) > ended for c in children)
    for key in keys:
        assert shards[streamed.shard_of(key)]["ParentShardId"] == parents[key]

    told = [(r["dynamodb"]["Keys"]["pk"]["S"], r["eventName"]) for r in streamed.records()]
    assert told == [(key, "INSERT") for key in keys] + [(key, "MODIFY") for key in keys]


def test_every_kind_of_iterator_begins_where_it_says(streamed: Streamed) -> None:
    for n in range(5):
        streamed.put("k", x={"N": str(n)})
        streamed.app.clock.advance(10)
    shard = streamed.shard_of("k")
    numbers = numbers_of(list(streamed.of_shard(shard)))

    def begins_at(kind: str, **more: Any) -> list[int]:
        iterator = streamed.iterator(shard, kind, **more)
        return numbers_of(streamed.streams.get_records(ShardIterator=iterator)["Records"])

    start = streamed.app.clock() - 50
    assert begins_at("TRIM_HORIZON") == numbers
    assert begins_at("LATEST") == []
    assert begins_at("AT_SEQUENCE_NUMBER", SequenceNumber=str(numbers[2])) == numbers[2:]
    assert begins_at("AFTER_SEQUENCE_NUMBER", SequenceNumber=str(numbers[2])) == numbers[3:]
    assert begins_at("AT_TIMESTAMP", Timestamp=start + 20) == numbers[2:]
    assert begins_at("AT_TIMESTAMP", Timestamp=start + 21) == numbers[3:]
    first = next(one for one in streamed.shards() if one["ShardId"] == shard)["SequenceNumberRange"]
    assert begins_at("AT_SEQUENCE_NUMBER", SequenceNumber=first["StartingSequenceNumber"]) == numbers

    latest = streamed.iterator(shard, "LATEST")
    streamed.put("k", x={"N": "99"})
    answer = streamed.streams.get_records(ShardIterator=latest)
    assert [r["dynamodb"]["NewImage"]["x"]["N"] for r in answer["Records"]] == ["99"]


@pytest.mark.slow
def test_a_page_has_1000_records_or_1_mb(streamed: Streamed) -> None:
    for n in range(1_010):
        streamed.put("k", f"{n:05d}")
        streamed.app.clock.advance(0.002)
    shard = streamed.shard_of("k")
    first = streamed.streams.get_records(ShardIterator=streamed.iterator(shard))
    assert len(first["Records"]) == 1_000
    rest = streamed.streams.get_records(ShardIterator=first["NextShardIterator"])
    assert len(rest["Records"]) == 10
    assert len(streamed.streams.get_records(ShardIterator=streamed.iterator(shard), Limit=7)["Records"]) == 7

    latest = streamed.iterator(shard, "LATEST")
    for n in range(4):
        streamed.app.clock.advance(1)
        streamed.put("k", f"big-{n}", x={"S": "x" * 390_000})
    large = streamed.streams.get_records(ShardIterator=latest)
    assert len(large["Records"]) == 2  # three would be above 1 MB
    assert len(streamed.streams.get_records(ShardIterator=large["NextShardIterator"])["Records"]) == 2


def test_an_iterator_is_good_for_15_minutes(streamed: Streamed) -> None:
    iterator = streamed.iterator(streamed.shards()[0]["ShardId"])
    streamed.app.clock.advance(900)
    following = streamed.streams.get_records(ShardIterator=iterator)["NextShardIterator"]
    streamed.app.clock.advance(1)
    assert error_of(streamed.streams.get_records, ShardIterator=iterator)[0] == "ExpiredIteratorException"
    assert streamed.streams.get_records(ShardIterator=following)["Records"] == []


def test_changes_are_trimmed_after_a_day(streamed: Streamed) -> None:
    streamed.put("k", x={"N": "1"})
    shard = streamed.shard_of("k")
    (first,) = numbers_of(list(streamed.of_shard(shard)))
    streamed.app.clock.advance(86_000)
    iterator = streamed.iterator(shard)
    streamed.put("k", x={"N": "2"})
    streamed.app.clock.advance(401)
    assert [r["eventName"] for r in streamed.of_shard(shard)] == ["MODIFY"]
    trimmed = "TrimmedDataAccessException"
    assert error_of(streamed.streams.get_records, ShardIterator=iterator)[0] == trimmed
    at = {"StreamArn": streamed.arn, "ShardId": shard, "SequenceNumber": str(first)}
    asked = streamed.streams.get_shard_iterator
    assert error_of(asked, ShardIteratorType="AT_SEQUENCE_NUMBER", **at)[0] == trimmed
    assert asked(ShardIteratorType="AFTER_SEQUENCE_NUMBER", **at)["ShardIterator"]


def test_a_stream_holds_so_many_bytes_and_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "MOST_BYTES", 100_000)
    bounded = Streamed()
    iterator = None
    for n in range(400):
        bounded.app.clock.advance(0.01)
        bounded.put(f"k-{n}", x={"S": "x" * 1_000})
        if n == 0:
            iterator = bounded.iterator(bounded.shard_of("k-0"))
    stream = bounded.app.service.catalog.get("orders").stream
    assert stream is not None
    assert 90_000 < stream.held_bytes <= 100_000
    left = [r["dynamodb"]["Keys"]["pk"]["S"] for r in bounded.records()]
    assert left == [f"k-{n}" for n in range(400 - len(left), 400)]
    assert 70 < len(left) < 100
    code, _ = error_of(bounded.streams.get_records, ShardIterator=iterator)
    assert code == "TrimmedDataAccessException"


BAD_ARN = "not-the-arn-of-a-stream-but-long-enough-for-one"
NO_SHARD = "shardId-00000000000000000000-00000000"


@pytest.mark.parametrize(
    ("operation", "request_", "code"),
    [
        ("list_streams", {"ExclusiveStartStreamArn": BAD_ARN}, "ValidationException"),
        ("describe_stream", {"StreamArn": BAD_ARN}, "ValidationException"),
        ("describe_stream", {"StreamArn": "{arn}x"}, "ResourceNotFoundException"),
        ("get_shard_iterator", {"ShardId": NO_SHARD, "ShardIteratorType": "LATEST"},
         "ResourceNotFoundException"),
        *(
            ("get_shard_iterator", {"ShardId": "{shard}", **rest}, "ValidationException")
            for rest in (
                {"ShardIteratorType": "AT_SEQUENCE_NUMBER"},
                {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": "x" * 21},
                {"ShardIteratorType": "LATEST", "SequenceNumber": "1" * 21},
                {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 4_000_000_000},
            )
        ),
        ("get_records", {"ShardIterator": "no iterator of ours"}, "ValidationException"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(
    streamed: Streamed, operation: str, request_: dict[str, Any], code: str
) -> None:
    shard = streamed.shards()[0]["ShardId"]
    arn = {"StreamArn": streamed.arn} if operation == "get_shard_iterator" else {}
    request = arn | {
        name: value.format(arn=streamed.arn, shard=shard) if isinstance(value, str) else value
        for name, value in request_.items()
    }
    name = operation.title().replace("_", "")
    assert refusal(streamed.app, name, request, "dynamodbstreams")[0] == code
