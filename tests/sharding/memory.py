"""A metadata and item table in memory, for actors that take turns at every request."""

from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError


def client_error(code: str, **members: Any) -> ClientError:
    """What boto3 raises for an error response."""
    return ClientError({"Error": {"Code": code, "Message": code}, **members}, "PutItem")


def throttled(*reasons: str, spelt: str = "ThrottlingReasons") -> ClientError:
    """A throttled write, with the reasons that DynamoDB gave."""
    entries = [{"reason": reason, "resource": "arn:aws:dynamodb:x:1:table/t"} for reason in reasons]
    return client_error("ThrottlingException", **({spelt: entries} if entries else {}))


PARTITION = "TableWriteKeyRangeThroughputExceeded"
TABLE = "TableWriteProvisionedThroughputExceeded"


class MemoryClient:
    """One table's worth of DynamoDB: each request is one atomic step, and `turn` is called before it."""

    def __init__(self, turn: Callable[[], object] = lambda: None) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.turn = turn

    def get_item(self, **request: Any) -> Mapping[str, Any]:
        assert request["ConsistentRead"] is True
        self.turn()
        item = self.items.get(request["Key"]["pk"]["S"])
        return {**({"Item": dict(item)} if item else {}), "ConsumedCapacity": {"CapacityUnits": 1.0}}

    def put_item(self, **request: Any) -> Mapping[str, Any]:
        assert request["ConditionExpression"] == "attribute_not_exists(#k)"
        self.turn()
        key = request["Item"]["pk"]["S"]
        if key in self.items:
            raise client_error("ConditionalCheckFailedException")
        self.items[key] = dict(request["Item"])
        return {"ConsumedCapacity": {"CapacityUnits": 1.0}}

    def update_item(self, **request: Any) -> Mapping[str, Any]:
        assert request["ConditionExpression"] == "#u = :read"
        self.turn()
        key, values = request["Key"]["pk"]["S"], request["ExpressionAttributeValues"]
        item = self.items.get(key)
        if item is None or item["last_updated"] != values[":read"]:
            raise client_error("ConditionalCheckFailedException")
        item |= {
            "number_of_shards": values[":n"],
            "last_updated": values[":u"],
            "shard_history": values[":h"],
        }
        return {"ConsumedCapacity": {"CapacityUnits": 1.0}}

    def query(self, **request: Any) -> Mapping[str, Any]:
        raise AssertionError("the metadata are never queried")
