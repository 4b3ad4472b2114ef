"""A leaderboard is an index with one partition key, views as sort key: what does every view cost?"""

from locust import task

from keyheat.load.users.operations import Counter
from keyheat.load.users.readers import Reader

BOARD = "IMAGES"


class ViewerUser(Counter):
    """Views images; every view of any image moves an entry on the index's one partition key."""

    @task
    def view_image(self) -> None:
        self.count_up(self.draw_key(), board=BOARD)


class TopReader(Reader):
    """Reads the ten most viewed images: one query."""

    fixed_count = 1

    @task
    def read_top_ten(self) -> None:
        self.read_top((BOARD,), 10, index="by-views")
