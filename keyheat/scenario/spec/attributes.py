"""The attributes of items that are not keys of the table: their values, and how often each occurs.

The key of an index places its entries, so its values belong to a design as much as the table's keys.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from keyheat.scenario.keys import shard_key
from keyheat.scenario.spec.part import ScenarioPart, Share, is_number, listed, part_of

KINDS: Final = ("values", "count", "range", "timestamp", "copy_of")
MOST_VALUES: Final = 100_000
ROUNDING: Final = 1e-6  # of shares that add up to 1
MOST_SHARDS: Final = 1_000
PERIODS: Final[Mapping[str, str]] = {
    "second": "%Y-%m-%dT%H:%M:%SZ",
    "minute": "%Y-%m-%dT%H:%MZ",
    "hour": "%Y-%m-%dT%HZ",
    "day": "%Y-%m-%d",
}
Value = Annotated[str, Field(min_length=1, max_length=1_000)]


class AttributeSpec(ScenarioPart):
    """The values of one attribute: set exactly one field, and an exponent for `count` if wanted."""

    values: Annotated[dict[Value, Annotated[float, Field(gt=0)]], Field(min_length=1)] | None = Field(
        None, description="each value with its weight: its frequency in proportion to the others"
    )
    count: Annotated[int, Field(ge=1, le=MOST_VALUES)] | None = Field(
        None, description="number of values, equally frequent, or by Zipf's law with an exponent"
    )
    exponent: Annotated[float, Field(gt=0, le=10)] | None = Field(
        None, description="with count: the n-th value is n^exponent times rarer than the first"
    )
    hot: Annotated[tuple[Share, ...], Field(min_length=1, max_length=100)] | None = Field(
        None, description="with count: the shares of the first values; the others share the rest evenly"
    )
    range: Annotated[tuple[int, int], Field()] | None = Field(
        None, description="whole numbers from the first to the last, equally frequent"
    )
    timestamp: Literal["second", "minute", "hour", "day"] | None = Field(
        None, description="when the item was written, to the second, minute, hour or day"
    )
    copy_of: Literal["partition_key", "sort_key"] | None = Field(
        None, description="the item's key of the table"
    )

    shards: Annotated[int, Field(ge=1, le=MOST_SHARDS)] = Field(
        1, description="random suffixes per value, as in a sharded index key"
    )

    @property
    def shares(self) -> dict[str, float] | None:
        """The weight of each value; None if the value follows from the item."""
        shares = self._unsharded
        if shares is None or self.shards == 1:
            return shares
        return {shard_key(value, n): share for value, share in shares.items() for n in range(self.shards)}

    @property
    def _unsharded(self) -> dict[str, float] | None:
        if self.values is not None:
            return dict(self.values)
        if self.range is not None:
            least, most = self.range
            return {str(number): 1.0 for number in range(least, most + 1)}
        if self.count is None:
            return None
        digits = len(str(self.count - 1))
        return {f"{number:0{digits}d}": weight for number, weight in enumerate(self._weights(self.count))}

    def _weights(self, count: int) -> Iterator[float]:
        if self.hot is None:
            yield from (rank ** -(self.exponent or 0.0) for rank in range(1, count + 1))
            return
        yield from self.hot
        others = count - len(self.hot)
        yield from (max(0.0, 1.0 - sum(self.hot)) / others for _ in range(others))

    def at(self, now_s: float, shard: int) -> str:
        """The value of a timestamp at a moment, in seconds since 1970, in one of its shards."""
        assert self.timestamp is not None, "only a timestamp follows from the time"
        value = datetime.fromtimestamp(now_s, UTC).strftime(PERIODS[self.timestamp])
        return value if self.shards == 1 else shard_key(value, shard)


def combined(texts: Iterable[str]) -> str:
    """Join the values of several attributes into one key: `big+view`.

    A plus sign within a value is escaped, or `a+b` and `c` would be the same key as `a` and `b+c`.
    """
    return "+".join(text.replace("\\", "\\\\").replace("+", "\\+") for text in texts)


NOT_DESCRIBED: Final = AttributeSpec(count=1_000)
"""Assumed values of an index key without a description."""


def broken_attributes(raw: Mapping[str, Any]) -> Iterator[str]:
    """Every disagreement about `[attributes]`, as `message @ $.path`."""
    attributes, owner = part_of(raw, "attributes"), part_of(raw, "table")
    heads, tails = _named(owner, "partition"), _named(owner, "sort")
    open_names = {str(name) for name in (*heads, *tails) if name} - attributes.keys()
    for name, spec in attributes.items():
        path = f"$.attributes.{name}"
        if name not in (*heads, *tails) and (near := get_close_matches(name, sorted(open_names), n=1)):
            yield f"no index is keyed by it, did you mean {near[0]}? @ {path}"
        if name in (owner.get("partition_key"), owner.get("sort_key")):
            yield f"it is a key of the table: [keys] says which values it has @ {path}"
        if isinstance(spec, Mapping):
            yield from _broken(spec, path, head=name in heads, sorts=owner.get("sort_key") is not None)


def _named(table: Mapping[str, Any], side: str) -> list[Any]:
    """The attributes of the partition keys, or sort keys, of all indexes."""
    return [
        name
        for _number, index in listed(table, "indexes")
        for name in (index.get(f"{side}_key"), *(index.get(f"more_{side}_keys") or ()))
    ]


def _broken(spec: Mapping[str, Any], path: str, *, head: bool, sorts: bool) -> Iterator[str]:
    kinds = [field for field in KINDS if spec.get(field) is not None]
    if len(kinds) != 1:
        given = f"; {' and '.join(kinds)} are said" if kinds else ""
        yield f"say exactly one of {', '.join(KINDS)}{given} @ {path}"
    if spec.get("exponent") is not None and spec.get("count") is None:
        yield f"an exponent goes with a count of values @ {path}.exponent"
    if hot := spec.get("hot"):
        yield from _broken_hot(hot, spec.get("count"), spec.get("exponent"), f"{path}.hot")
    match spec.get("range"):
        case [int(least), int(most)] if not 0 <= most - least < MOST_VALUES:
            yield f"from the least number to the greatest, {MOST_VALUES:,} at most @ {path}.range"
    if head and spec.get("timestamp") == "second":
        yield f"an index keyed by it is hot for one second: say minute, hour or day @ {path}.timestamp"
    if spec.get("copy_of") is not None and spec.get("shards", 1) != 1:
        yield f"a copy of a key has that key's shards: say keys.shards @ {path}.shards"
    if spec.get("copy_of") == "sort_key" and not sorts:
        yield f"the table has no sort key @ {path}.copy_of"


def _broken_hot(hot: Any, count: Any, exponent: Any, path: str) -> Iterator[str]:
    if count is None or exponent is not None:
        yield f"the shares of hot values go with a count of values, without an exponent @ {path}"
    if not isinstance(hot, list) or not all(is_number(share) for share in hot):
        return  # the field's type says so
    if sum(hot) > 1 + ROUNDING:
        yield f"the shares add up to {sum(hot):g}, 1 at most @ {path}"
    if isinstance(count, int) and len(hot) >= count:
        yield f"{len(hot)} hot values leave none of {count} for the rest: say a higher count @ {path}"
