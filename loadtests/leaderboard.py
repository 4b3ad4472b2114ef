"""A leaderboard is an index, views as sort key: what does every view cost on one key, and on N of them?

Without `keys.shards` the index has one partition key (`leaderboard.toml`, `leaderboard-sharded.toml`).
"""

from locust import task

from keyheat.load.users.operations import Counter
from keyheat.load.users.readers import Reader
from keyheat.scenario.keys import calculated_suffix, shard_keys

BOARD = "IMAGES"


class ViewerUser(Counter):
    """Views images; an image is always on the same shard of the index, which its key decides."""

    @task
    def view_image(self) -> None:
        image = self.draw_key()
        self.count_up(image, board=calculated_suffix(BOARD, image, self.shards))


class TopReader(Reader):
    """Reads the ten most viewed images: one query for every shard, merged."""

    fixed_count = 1

    @task
    def read_top_ten(self) -> None:
        self.read_top(shard_keys(BOARD, self.shards), 10, index="by-views")
