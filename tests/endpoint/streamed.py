"""A table with a stream, for tests: in an endpoint of this process, with boto3's clients of both."""

from collections.abc import Iterator
from typing import Any

from tests.endpoint.account import BOTH, attributes, on_demand
from tests.endpoint.clients import ServiceApp, posted, service_app_at


class Streamed:
    """The table `orders`, its clients, and short ways to read its stream."""

    def __init__(self, view: str | None = "NEW_AND_OLD_IMAGES", **more: Any) -> None:
        self.app: ServiceApp = service_app_at(**more)
        self.ddb, self.streams = self.app.ddb, self.app.client("dynamodbstreams")
        specification = {"StreamEnabled": True, "StreamViewType": view} if view else {"StreamEnabled": False}
        keys = {"KeySchema": BOTH, "AttributeDefinitions": attributes("pk", "sk")}
        request = on_demand(**keys, StreamSpecification=specification)
        self.created = self.ddb.create_table(**request)["TableDescription"]

    @property
    def arn(self) -> str:
        return str(self.ddb.describe_table(TableName="orders")["Table"]["LatestStreamArn"])

    def put(self, key: str, sort: str = "a", **attributes: Any) -> None:
        item = {"pk": {"S": key}, "sk": {"S": sort}, **attributes}
        status, _, body = posted(self.app.router, "PutItem", {"TableName": "orders", "Item": item})
        assert status == 200, body

    def shards(self, **more: Any) -> list[Any]:
        described = self.streams.describe_stream(StreamArn=self.arn, **more)
        return list(described["StreamDescription"]["Shards"])

    def iterator(self, shard_id: str, kind: str = "TRIM_HORIZON", **more: Any) -> str:
        answer = self.streams.get_shard_iterator(
            StreamArn=self.arn, ShardId=shard_id, ShardIteratorType=kind, **more
        )
        return str(answer["ShardIterator"])

    def records(self) -> list[Any]:
        """Every record of every shard, in the order of their sequence numbers."""
        found = [record for shard in self.shards() for record in self.of_shard(shard["ShardId"])]
        return sorted(found, key=lambda record: int(record["dynamodb"]["SequenceNumber"]))

    def of_shard(self, shard_id: str) -> Iterator[Any]:
        iterator: str | None = self.iterator(shard_id)
        while iterator is not None:
            answer = self.streams.get_records(ShardIterator=iterator)
            yield from answer["Records"]
            iterator = answer.get("NextShardIterator") if answer["Records"] else None

    def shard_of(self, key: str) -> str:
        """The shard that a change of a key was last noted in."""
        holding = [
            shard["ShardId"]
            for shard in self.shards()
            if any(r["dynamodb"]["Keys"]["pk"]["S"] == key for r in self.of_shard(shard["ShardId"]))
        ]
        return str(holding[-1])
