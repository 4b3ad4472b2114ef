"""Users of a leaderboard: an index in which items are ordered by a number that their updates count up."""

from typing import Any

import orjson

from keyheat.load.transport.answer import Answer
from keyheat.load.users.marking import marked
from keyheat.load.users.user import TableUser


class Counter(TableUser):
    """Counts: each update adds one to an item's number, and so moves its entry in the index.

    The entry is deleted where it was and written where it belongs now: two index writes for one update
    (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations).
    """

    abstract = True
    needs_no_sort_key = True
    needs_indexes = ("by-views",)

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._table = self.load.order.scenario.table
        index = next(one for one in self._table.indexes if one.name in self.needs_indexes)
        self._board = index.partition_key
        self._names = {"#board": self._board, "#count": index.sort_key}

    def count_up(self, key: str, *, board: str) -> Answer:
        """Add one to an item's number, on the partition `board` of the index."""
        values = self.load.items.values
        request = {
            "TableName": self._table.name,
            "Key": values.key(key, None),
            "UpdateExpression": "SET #board = :board ADD #count :one",
            "ExpressionAttributeNames": self._names,
            "ExpressionAttributeValues": {":board": values.of(self._board, board), ":one": {"N": "1"}},
            "ReturnValues": "UPDATED_NEW",
            "ReturnConsumedCapacity": "INDEXES",
        }
        body = orjson.dumps(marked(request, self.load.items.run_id))
        return self.send("UpdateItem", body, key=key, direction="write", units=1)
