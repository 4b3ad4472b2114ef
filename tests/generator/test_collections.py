"""A sharded collection is read back as if it had never been sharded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.users.collections import Item, OutOfOrder, Page, read_collection

PAGE = 3


def stored(values: list[tuple[int, str]]) -> dict[str, list[Item]]:
    """Shards as DynamoDB keeps them: each in order of its sort keys' bytes."""
    shards: dict[str, list[Item]] = {f"hot#{shard}": [] for shard in range(4)}
    for shard, value in sorted(set(values), key=lambda pair: pair[1].encode()):
        shards[f"hot#{shard}"].append({"sk": {"S": value}})
    return shards


def paged(shards: dict[str, list[Item]], asked: list[str]):  # type: ignore[no-untyped-def]
    def query(shard: str, start: Item | None) -> Page:
        asked.append(shard)
        begin = shards[shard].index(start) + 1 if start else 0
        items = shards[shard][begin : begin + PAGE]
        return items, items[-1] if begin + PAGE < len(shards[shard]) else None

    return query


@given(st.lists(st.tuples(st.integers(0, 3), st.text(max_size=4))), st.integers(1, 12))
def test_shards_merge_into_one_order(values: list[tuple[int, str]], limit: int) -> None:
    shards = stored(values)
    found = read_collection(tuple(shards), "sk", paged(shards, []), limit=limit)
    everything = sorted((item["sk"]["S"] for items in shards.values() for item in items), key=str.encode)
    assert [item["sk"]["S"] for item in found] == everything[:limit]


def test_no_page_is_read_beyond_the_limit() -> None:
    shards = stored([(0, f"{number:03d}") for number in range(100)])
    asked: list[str] = []
    read_collection(tuple(shards), "sk", paged(shards, asked), limit=5)
    assert asked.count("hot#0") == 2


def test_an_order_that_sort_keys_contradict_is_seen() -> None:
    items: list[Item] = [{"sk": {"S": "b"}}, {"sk": {"S": "a"}}]
    with pytest.raises(OutOfOrder):
        read_collection(("hot#0",), "sk", lambda _shard, _start: (items, None), limit=5)


def test_what_a_query_raises_is_raised() -> None:
    def refused(_shard: str, _start: Item | None) -> Page:
        raise LookupError("throttled")

    with pytest.raises(LookupError, match="throttled"):
        read_collection(("hot#0", "hot#1"), "sk", refused, limit=5)
