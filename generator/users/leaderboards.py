"""Users of a leaderboard: an index in which items are ordered by a number that their updates count up."""

from typing import Any

import orjson

from generator.transport.answer import Answer
from generator.users.user import TableUser


class Counter(TableUser):
    """Counts: each update adds one to an item's number, and so moves its entry in the index.

    The entry is deleted where it was and written where it belongs now: two index writes for one update
    (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations).
    """

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._table = self.load.order.scenario.table
        (index,) = self._table.indexes
        self._names = {"#board": index.partition_key, "#count": index.sort_key}

    def count_up(self, key: str, *, board: str) -> Answer:
        """Add one to an item's number, on the partition `board` of the index."""
        request = {
            "TableName": self._table.name,
            "Key": {self._table.partition_key: {"S": key}},
            "UpdateExpression": "SET #board = :board ADD #count :one",
            "ExpressionAttributeNames": self._names,
            "ExpressionAttributeValues": {":board": {"S": board}, ":one": {"N": "1"}},
            "ReturnValues": "UPDATED_NEW",
            "ReturnConsumedCapacity": "INDEXES",
        }
        return self.send("UpdateItem", orjson.dumps(request), key=key, direction="write", units=1)
