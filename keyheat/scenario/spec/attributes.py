"""The attributes of items that are not keys of the table: their values, and how often each occurs.

The key of an index places its entries, so its values belong to a design as much as the table's keys.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Annotated, Final, Literal

from pydantic import Field

from keyheat.scenario.keys import shard_key
from keyheat.scenario.spec.part import ScenarioPart, Share, numbered
from keyheat.scenario.spec.tables import TableSpec

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


def broken_attributes(attributes: Mapping[str, AttributeSpec], table: TableSpec) -> Iterator[str]:
    """Every disagreement about `[attributes]`, as `message @ $.path`."""
    indexes = [index for _path, index in numbered(table.indexes, "")]
    heads = {name for index in indexes for name in index.partition_keys}
    keys = heads | {name for index in indexes for name in index.sort_keys}
    open_names = sorted(str(name) for name in keys - attributes.keys())
    for name, spec in attributes.items():
        path = f"$.attributes.{name}"
        if name not in keys and (near := get_close_matches(name, open_names, n=1)):
            yield f"no index is keyed by it, did you mean {near[0]}? @ {path}"
        if name in (table.partition_key, table.sort_key):
            yield f"it is a key of the table: [keys] says which values it has @ {path}"
        if spec is not None:
            yield from _broken(spec, path, head=name in heads, sorts=table.sort_key is not None)


def _broken(spec: AttributeSpec, path: str, *, head: bool, sorts: bool) -> Iterator[str]:
    kinds = [field for field in KINDS if getattr(spec, field) is not None]
    if len(kinds) != 1:
        given = f"; {' and '.join(kinds)} are said" if kinds else ""
        yield f"say exactly one of {', '.join(KINDS)}{given} @ {path}"
    if spec.exponent is not None and spec.count is None:
        yield f"an exponent goes with a count of values @ {path}.exponent"
    if spec.hot:
        yield from _broken_hot(spec.hot, spec.count, spec.exponent, f"{path}.hot")
    if spec.range and not 0 <= spec.range[1] - spec.range[0] < MOST_VALUES:
        yield f"from the least number to the greatest, {MOST_VALUES:,} at most @ {path}.range"
    if head and spec.timestamp == "second":
        yield f"an index keyed by it is hot for one second: say minute, hour or day @ {path}.timestamp"
    if spec.copy_of is not None and spec.shards != 1:
        yield f"a copy of a key has that key's shards: say keys.shards @ {path}.shards"
    if spec.copy_of == "sort_key" and not sorts:
        yield f"the table has no sort key @ {path}.copy_of"


def _broken_hot(hot: Sequence[float], count: int | None, exponent: float | None, path: str) -> Iterator[str]:
    if count is None or exponent is not None:
        yield f"the shares of hot values go with a count of values, without an exponent @ {path}"
    if sum(hot) > 1 + ROUNDING:
        yield f"the shares add up to {sum(hot):g}, 1 at most @ {path}"
    if count is not None and len(hot) >= count:
        yield f"{len(hot)} hot values leave none of {count} for the rest: say a higher count @ {path}"
