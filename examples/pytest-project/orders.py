"""Orders of a shop in DynamoDB, each under the day on which it was placed; a day may have several shards."""

from collections.abc import Iterator
from zlib import crc32

import boto3

TABLE = "orders"


class Orders:
    """The table of orders. Writers pick a day's shard by the order, readers ask all shards of a day."""

    def __init__(self, shards: int = 1) -> None:
        self.shards = shards
        self.client = boto3.client("dynamodb")

    def create_table(self) -> None:
        """The table as it is in production: 4,000 writes a second."""
        self.client.create_table(
            TableName=TABLE,
            KeySchema=[
                {"AttributeName": "day", "KeyType": "HASH"},
                {"AttributeName": "order", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "day", "AttributeType": "S"},
                {"AttributeName": "order", "AttributeType": "S"},
            ],
            ProvisionedThroughput={"ReadCapacityUnits": 1_000, "WriteCapacityUnits": 4_000},
        )

    def place(self, order: str, day: str, lines: str) -> None:
        """Store an order."""
        key = self._keys(day)[crc32(order.encode()) % self.shards]
        item = {"day": {"S": key}, "order": {"S": order}, "lines": {"S": lines}}
        self.client.put_item(TableName=TABLE, Item=item)

    def of_day(self, day: str) -> Iterator[str]:
        """Every order of a day, shard by shard."""
        pages = self.client.get_paginator("query")
        for key in self._keys(day):
            values = {":day": {"S": key}}
            asked = {"KeyConditionExpression": "#day = :day", "ExpressionAttributeNames": {"#day": "day"}}
            for page in pages.paginate(TableName=TABLE, ExpressionAttributeValues=values, **asked):
                yield from (item["order"]["S"] for item in page["Items"])

    def _keys(self, day: str) -> list[str]:
        return [day] if self.shards == 1 else [f"{day}#{shard}" for shard in range(self.shards)]
