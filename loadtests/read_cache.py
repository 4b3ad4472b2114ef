"""One item is asked for more often than its partition can answer: what do a cache or copies of it save?

Without either: `configs/scenarios/read-hot.toml`. With a cache: `read-cache.toml`. Spread over the table and
global indexes with the same keys: `read-spread.toml`.
"""

from locust import task

from keyheat.load.users.readers import CachedReader


class PopularItemUser(CachedReader):
    """Reads items as popular as the scenario says, writes missing ones, edits some."""

    needs_no_sort_key = True

    @task(3_000)
    def read_popular(self) -> None:
        key = self.draw_key()
        result = self.read_through(key)
        if result.complete and not result.items:
            self.put(key)

    @task(1)
    def edit_popular(self) -> None:
        self.put(self.draw_key())
