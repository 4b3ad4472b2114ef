"""The cache lets one read of a key through per lifetime, and nothing that was not found."""

from collections.abc import Callable

import gevent
import pytest

from keyheat.load.users.collections import Collected, ReadThroughCache, copies_of
from keyheat.scenario.scenario import ScenarioError
from keyheat.scenario.spec.part import CacheSpec
from keyheat.scenario.spec.tables import CapacityPair, IndexSpec, TableSpec
from tests.make import a_scenario

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


def tried(cache: ReadThroughCache, read: Callable[[], Collected]) -> str:
    try:
        cache.get(KEY, read)
    except LookupError:
        return "broken"
    return "read"


@pytest.mark.parametrize("complete", [True, False])
def test_what_was_not_found_is_not_kept(complete: bool) -> None:
    """An absent item may be written at any time, and a throttled read found nothing out."""
    table = Table(Collected([], complete, 1, 0.5))
    cache = table.cache()
    for _ in range(3):
        cache.get(KEY, table.read)
    assert table.reads == 3


def test_a_read_that_breaks_leaves_nobody_waiting() -> None:
    table = Table()
    cache = table.cache()

    def breaks() -> Collected:
        gevent.sleep(0)
        raise LookupError

    first, second = gevent.spawn(tried, cache, breaks), gevent.spawn(cache.get, KEY, table.read)
    gevent.joinall([first, second], timeout=600, raise_error=True)
    assert first.value == "broken"
    assert second.value[1] is not None


def test_it_holds_so_many_items_and_no_more() -> None:
    table = Table()
    cache = table.cache(items=2)
    for name in ("a", "b", "c", "a"):
        cache.get((name, None), table.read)
    assert table.reads == 4


def test_a_cache_without_lifetime_or_room_is_refused() -> None:
    with pytest.raises(ScenarioError) as refused:
        a_scenario(loadtest="read_cache", cache={"ttl_s": 0, "items": 0}, thresholds={"wrong_reads_max": -1})
    paths = {line.rpartition("@ ")[2] for line in refused.value.errors}
    assert paths == {"$.cache.ttl_s", "$.cache.items", "$.thresholds.wrong_reads_max"}
