"""A read-through cache in front of a table: popular items are read once per lifetime, whoever asks for them.

It is a low-pass filter: however fast a key is asked for, the table sees at most one read of it per lifetime
and process. DAX does this beside the application: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DAX.html
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from cachetools import TTLCache
from gevent.event import Event

from keyheat.load.users.collections import Collected, Item
from keyheat.scenario.spec.part import CacheSpec

Key = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Cached:
    """An item as it was read, what that cost, and when the read was answered."""

    items: list[Item]
    units: float
    read_s: float


class ReadThroughCache:
    """Items by key for some time. Those who miss the same key at the same time wait for one read of it."""

    def __init__(self, spec: CacheSpec, *, now: Callable[[], float] = perf_counter) -> None:
        self.now = now
        self._entries: TTLCache[Key, Cached] = TTLCache(spec.items, spec.ttl_s, timer=now)
        self._reading: dict[Key, Event] = {}

    def get(self, key: Key, read: Callable[[], Collected]) -> tuple[Cached | None, Collected | None]:
        """What is cached, else what `read` gives; the other one is None. Only what was found is kept."""
        while (cached := self._entries.get(key)) is None:
            reading = self._reading.get(key)
            if reading is None:
                return None, self._read(key, read)
            reading.wait()
        return cached, None

    def _read(self, key: Key, read: Callable[[], Collected]) -> Collected:
        done = self._reading[key] = Event()
        try:
            found = read()
            if found.items:
                self._entries[key] = Cached(found.items, found.units, self.now())
        finally:
            del self._reading[key]
            done.set()
        return found
