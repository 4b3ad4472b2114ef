"""The metadata table: one item per key of the main table, in a table of its own in on-demand mode."""

from typing import Any

from botocore.exceptions import ClientError

from keyheat.model.units import item_bytes, write_units
from keyheat.sharding.client import Answered, Client, Note, error_code, nobody_is_told
from keyheat.sharding.state import HISTORY, NUMBER, UPDATED, Shards

CONDITION_FAILED = "ConditionalCheckFailedException"


class Metadata:
    """Reads and replaces the items of the metadata table. Reads are strongly consistent: a reader that missed
    the newest shard would miss what was written there."""

    def __init__(
        self, client: Client, table: str, *, partition_key: str = "pk", note: Note = nobody_is_told
    ) -> None:
        self._client = client
        self._table = table
        self._partition_key = partition_key
        self._note = note

    def read(self, key: str) -> Shards | None:
        """The shards of a key; None where it was never written."""
        answer = self._client.get_item(
            TableName=self._table,
            Key=self._key(key),
            ConsistentRead=True,
            ReturnConsumedCapacity="TOTAL",
        )
        self._note("metadata.read_units", _units(answer))
        item = answer.get("Item")
        return None if item is None else Shards.from_item(item)

    def insert(self, key: str, shards: Shards) -> bool:
        """Say for the first time how many shards a key has; False where somebody else just did."""
        item = {**self._key(key), **shards.to_item()}
        return self._written(
            item,
            self._client.put_item,
            TableName=self._table,
            Item=item,
            ConditionExpression="attribute_not_exists(#k)",
            ExpressionAttributeNames={"#k": self._partition_key},
            ReturnConsumedCapacity="TOTAL",
        )

    def replace(self, key: str, before: Shards, after: Shards) -> bool:
        """Change what is said of a key, unless somebody has since `before` was read; False where one has."""
        values = after.to_item()
        return self._written(
            {**self._key(key), **before.to_item()},
            self._client.update_item,
            TableName=self._table,
            Key=self._key(key),
            UpdateExpression="SET #n = :n, #u = :u, #h = :h",
            ConditionExpression="#u = :read",
            ExpressionAttributeNames={"#n": NUMBER, "#u": UPDATED, "#h": HISTORY},
            ExpressionAttributeValues={
                ":n": values[NUMBER],
                ":u": values[UPDATED],
                ":h": values[HISTORY],
                ":read": before.to_item()[UPDATED],
            },
            ReturnConsumedCapacity="TOTAL",
        )

    def _written(self, item: dict[str, Any], write: Any, **request: Any) -> bool:
        try:
            self._note("metadata.write_units", _units(write(**request)))
        except ClientError as error:
            if error_code(error.response) != CONDITION_FAILED:
                raise
            # A failed condition costs what the write would have, and its answer does not say how much.
            self._note("metadata.write_units", write_units(0, item_bytes(item)))
            return False
        return True

    def _key(self, key: str) -> dict[str, Any]:
        return {self._partition_key: {"S": key}}


def _units(answer: Answered) -> float:
    return float(answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0))
