"""One item is asked for more often than its partition can answer: what does a cache in front of it save?

The same users with a cache: `configs/scenarios/read-cache.toml`; without: `configs/scenarios/read-hot.toml`.
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
