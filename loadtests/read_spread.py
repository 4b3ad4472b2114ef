"""One item is asked for more often than its partition can answer: do copies of the table help?

The demand of `configs/scenarios/read-hot.toml`, spread over the table and global indexes with the same keys.
"""

from locust import task

from keyheat.load.users.readers import SpreadReader


class SpreadReadUser(SpreadReader):
    """Reads each item from the table or a random copy; writes missing items."""

    needs_no_sort_key = True

    @task(3_000)
    def read_popular(self) -> None:
        key = self.draw_key()
        result = self.read_item_anywhere(key)
        if result.complete and not result.items:
            self.put(key)

    @task(1)
    def edit_popular(self) -> None:
        self.put(self.draw_key())
