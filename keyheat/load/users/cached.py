"""Users that read popular items through a cache, and say what it saved them."""

from time import perf_counter
from typing import Any

from keyheat.load.users.cache import Cached, ReadThroughCache
from keyheat.load.users.collections import Collected
from keyheat.load.users.readers import Reader


class CachedReader(Reader):
    """Reads single items, through a cache where the scenario has one and from the table where it has none."""

    abstract = True
    has_cache = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        spec = self.load.order.scenario.cache
        if spec is not None and self.load.cache is None:
            self.load.cache = ReadThroughCache(spec)
        self._cache = self.load.cache

    def read_through(self, key: str, sort_key: str | None = None) -> Collected:
        """One item, at most the cache's lifetime old; eventually consistent, as a cache makes it anyway."""
        began_s = perf_counter()
        if self._cache is None:
            found = self.read_item(key, sort_key, consistent=False)
        else:
            found = self._through(self._cache, key, sort_key)
        if found.complete:
            self.load.record.timed("ReadThrough", int((perf_counter() - began_s) * 1e6))
        return found

    def _through(self, cache: ReadThroughCache, key: str, sort_key: str | None) -> Collected:
        cached, found = cache.get((key, sort_key), lambda: self.read_item(key, sort_key, consistent=False))
        if found is not None:
            self.count("cache.misses")
            return found
        assert cached is not None, "either it was cached, or it was read"
        self.spared()
        self.count("cache.hits")
        self.count("cache.units_saved", cached.units)
        self.count("cache.stale", self._changed_since(cached))
        return Collected(cached.items, True, 0, 0.0)

    def _changed_since(self, cached: Cached) -> bool:
        """Whether a write of the item was acknowledged after the cached copy had been read."""
        identity = self._ledger.identity(self._table.name, cached.items[0])
        written_s = self._ledger.acknowledged_s(identity)
        return written_s is not None and written_s > cached.read_s
