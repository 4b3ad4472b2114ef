"""A leaderboard is an index, views as sort key: what does every view cost on one key, and on N of them?

Without `keys.shards` the index has one partition key (`leaderboard.toml`, `leaderboard-sharded.toml`).
"""

from locust import task

from keyheat.load.users.items import marked
from keyheat.load.users.readers import Reader
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import calculated_suffix, shard_keys

BOARD = "IMAGES"


class ViewerUser(TableUser):
    """Views images; an image is always on the same shard of the index, which its key decides.

    Each view adds one to an item's number, and so moves its entry in the index, which is two writes of it
    (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations).
    """

    needs_no_sort_key = True
    needs_indexes = ("by-views",)

    @task
    def view_image(self) -> None:
        image, values = self.draw_key(), self.load.items.values
        index = next(spec for spec in self.table.indexes if spec.name in self.needs_indexes)
        board = values.of(index.partition_key, calculated_suffix(BOARD, image, self.shards))
        update = {
            "UpdateExpression": "SET #board = :board ADD #count :one",
            "ExpressionAttributeNames": {"#board": index.partition_key, "#count": index.sort_key},
            "ExpressionAttributeValues": {":board": board, ":one": {"N": "1"}},
        }
        members = marked(update, self.load.items.run_id)
        key = values.key(image, None)
        self.ask("UpdateItem", image, 1, Key=key, ReturnValues="UPDATED_NEW", **members)


class TopReader(Reader):
    """Reads the ten most viewed images: one query for every shard, merged."""

    fixed_count = 1

    @task
    def read_top_ten(self) -> None:
        boards = shard_keys(BOARD, self.shards)
        self.read_shards(boards, index="by-views", limit=10, descending=True)
