"""Shards merged into one collection: order, limits, pages, and the shards of the past."""

from collections.abc import Mapping
from typing import Any

import pytest

from keyheat.sharding import Metadata, Policy, ShardReader, ShardShrinker, empty_in
from keyheat.sharding.metadata import Shards
from tests.sharding.memory import MemoryClient

PAGE = 3


class Items(MemoryClient):
    """A table with a few items, three to a page."""

    def __init__(self, kind: str, shards: dict[str, list[str]]) -> None:
        super().__init__()
        self.kind, self.shards = kind, shards
        self.asked: list[str] = []

    def query(self, **request: Any) -> Mapping[str, Any]:
        shard = request["ExpressionAttributeValues"][":p"]["S"]
        self.asked.append(shard)
        values = self.shards.get(shard, [])
        if request.get("ScanIndexForward") is False:
            values = values[::-1]
        start = int(request.get("ExclusiveStartKey", {"at": 0})["at"])
        page = values[start : start + min(PAGE, request.get("Limit", PAGE))]
        more = start + len(page) < len(values)
        items = [{"pk": {"S": shard}, "sk": {self.kind: value}} for value in page]
        return {"Items": items, **({"LastEvaluatedKey": {"at": start + len(page)}} if more else {})}


def reader(items: Items, number: int, before: int = 1, **how: Any) -> ShardReader:
    metadata = Metadata(items, "metadata")
    metadata.insert("k", Shards.first(1).changed(before, 2, keep=5).changed(number, 3, keep=5))
    return ShardReader(items, "items", metadata, **how)


def values(found: list[dict[str, Any]]) -> list[str]:
    return [next(iter(item["sk"].values())) for item in found]


LETTERS = {"k#0": list("adgjm"), "k#1": list("behkn"), "k#2": list("cfilo")}


@pytest.mark.parametrize("limit", [None, 1, 4, 7, 100])
@pytest.mark.parametrize("descending", [False, True])
def test_shards_are_merged_in_order(limit: int | None, descending: bool) -> None:
    items = Items("S", LETTERS)
    found = reader(items, 3, sort_key="sk").read("k", limit=limit, descending=descending)
    assert values(found) == sorted("abcdefghijklmno", reverse=descending)[:limit]


def test_a_key_that_was_never_written_has_no_items_and_costs_no_query() -> None:
    items = Items("S", LETTERS)
    assert reader(items, 3).read("other") == []
    assert items.asked == []


def test_only_shards_that_are_empty_are_forgotten_and_only_when_it_is_safe() -> None:
    items = Items("S", {"k#0": ["a"], "k#1": ["b"], "k#2": [], "k#3": []})
    metadata = Metadata(items, "metadata")
    now_s = [10.0]
    shrinker = ShardShrinker(metadata, Policy(cache_s=1, settle_s=8, cooldown_s=5), clock=lambda: now_s[0])
    assert not shrinker.shrink("k", 1), "there is no such key"
    metadata.insert("k", Shards.first(1).changed(4, 2, keep=5))
    with pytest.raises(ValueError, match="at least one shard"):
        shrinker.shrink("k", 0)
    assert shrinker.shrink("k", 1)
    assert not shrinker.shrink("k", 1)
    assert shrinker.forget("k", empty_in(items, "items")) == 0, "a writer may still go by the old number"
    assert items.asked == []
    now_s[0] += 8.1
    assert shrinker.forget("k", empty_in(items, "items")) == 2, "k#3 and k#2"
    assert items.asked == ["k#3", "k#2", "k#1"]
    shards = metadata.read("k")
    assert shards is not None
    assert (shards.number, shards.to_read) == (1, 2)
    now_s[0] += 8.1
    assert shrinker.forget("k", empty_in(items, "items")) == 0


def test_a_number_is_lowered_for_as_long_as_it_has_been_in_force_not_as_it_has_been_asked_for() -> None:
    items = Items("S", {"k#0": ["a"]})
    metadata, now_s, takes_s = Metadata(items, "metadata"), [10.0], iter([0.0, 9.0])
    metadata.insert("k", Shards.first(1).changed(2, 2, keep=5))

    def turn() -> None:
        now_s[0] += next(takes_s, 0.0)

    items.turn = turn
    shrinker = ShardShrinker(metadata, Policy(cache_s=1, settle_s=8, cooldown_s=5), clock=lambda: now_s[0])
    assert shrinker.shrink("k", 1)
    assert shrinker.forget("k", empty_in(items, "items")) == 0
    assert items.asked == []
    now_s[0] += 8.1
    assert shrinker.forget("k", empty_in(items, "items")) == 1
