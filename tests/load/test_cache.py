"""The cache lets one read of a key through per lifetime, and nothing that was not found."""

import gevent

from keyheat.load.users.collections import Collected, ReadThroughCache, copies_of
from keyheat.scenario.spec.part import CacheSpec
from keyheat.scenario.spec.tables import CapacityPair, IndexSpec, TableSpec

KEY = ("hot", None)


class Table:
    """Answers reads after a while, and counts them."""

    def __init__(self, answer: Collected | None = None) -> None:
        self.reads = 0
        self.now_s = 100.0
        self._answer = answer or Collected([{"pk": {"S": "hot"}}], True, 1, 4.0)

    def read(self) -> Collected:
        self.reads += 1
        gevent.sleep(0)
        return self._answer

    def cache(self, ttl_s: float = 1.0, items: int = 10) -> ReadThroughCache:
        return ReadThroughCache(CacheSpec(ttl_s=ttl_s, items=items), now=lambda: self.now_s)


def test_an_item_is_read_once_per_lifetime() -> None:
    table = Table()
    cache = table.cache(ttl_s=2.0)
    cached, found = cache.get(KEY, table.read)
    assert cached is None
    assert found is not None
    table.now_s += 1.9
    cached, found = cache.get(KEY, table.read)
    assert found is None
    assert cached is not None
    assert (cached.units, cached.read_s) == (4.0, 100.0)
    table.now_s += 0.1
    cache.get(KEY, table.read)
    assert table.reads == 2


def test_those_who_miss_at_the_same_time_share_one_read() -> None:
    table = Table()
    cache = table.cache()
    users = [gevent.spawn(cache.get, KEY, table.read) for _ in range(20)]
    gevent.joinall(users, raise_error=True)
    assert table.reads == 1
    assert sum(user.value[0] is not None for user in users) == 19


def test_copies_are_global_indexes_with_the_same_keys_and_all_attributes() -> None:
    capacity = CapacityPair(read=1, write=1)

    def index(name: str, **more: object) -> IndexSpec:
        fields: dict[str, object] = {"partition_key": "pk", "sort_key": "sk", "provisioned": capacity}
        return IndexSpec.model_validate({"name": name, **fields, **more})

    indexes = (
        index("copy"),
        index("other-key", partition_key="country"),
        index("no-sort-key", sort_key=None),
        index("half", projection="KEYS_ONLY"),
        index("local", local=True, sort_key="other", provisioned=None),
    )
    table = TableSpec(name="orders", sort_key="sk", provisioned=capacity, indexes=indexes)
    assert copies_of(table) == (None, "copy")
