"""The keys of a scenario: which the load touches, how often each, and how they get more shards; and items'
other attributes. The key of an index places its entries, so its values belong to a design as much as the
table's keys.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from keyheat.scenario.keys import (
    FIRST_DAY,
    PREFIX,
    DateKey,
    HotKeys,
    KeyPattern,
    Sequential,
    Uniform,
    Weighted,
    Zipf,
    shard_key,
)
from keyheat.scenario.spec.part import (
    KEY_PREFIX,
    Mistake,
    ScenarioPart,
    Seconds,
    Share,
    TableName,
    broken_kind,
    stated,
)
from keyheat.scenario.trace import TraceKeys

Kind = Literal["uniform", "hot_key", "hot_set", "zipf", "date", "sequential", "replay", "values"]
KeyName = Annotated[str, Field(min_length=1, max_length=1_000)]
Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]
MOST_VALUES = 100_000


class KeysSpec(ScenarioPart):
    """Which partition keys the load touches, and how often each."""

    kind: Kind = "values"
    values: Annotated[dict[KeyName, Weight], Field(min_length=1, max_length=MOST_VALUES)] | None = Field(
        None, description="each key with its weight: its frequency in proportion to the others"
    )
    keys: Annotated[int, Field(ge=1, le=1_000_000_000)] = Field(
        1_000, description="number of distinct keys (hot_key, hot_set: besides the hot ones)"
    )
    share: Share | None = Field(
        None, description="hot_key, hot_set: share of the requests that go to the hot key, or to the hot set"
    )
    hot_keys: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="hot_set: number of keys that share it evenly"
    )
    exponent: Annotated[float, Field(gt=0, le=20)] | None = Field(
        None, description="zipf: the k-th most used key is used in proportion to 1 / k^exponent"
    )
    day_s: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="date: seconds of the run that represent one day (or `rounded_to`), so that a short run "
        "sees a rollover",
    )
    rounded_to: Literal["day", "hour", "minute"] | None = Field(
        None, description="date: period of a key, represented by `day_s`; absent: day"
    )
    first_day: date | None = None
    trace: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="replay: a .csv or .parquet file, its path from the scenario's folder"
    )
    speed: Annotated[float, Field(gt=0, le=1_000)] | None = Field(
        None, description="replay: 2 sends the trace twice as fast; absent: original speed"
    )
    prefix: Annotated[str, Field(pattern=KEY_PREFIX)] | None = Field(
        None, description='prefix of the keys, such as "device"; absent: key-7, hot, 2026-01-01'
    )
    shards: Annotated[int, Field(ge=1, le=100_000)] = Field(1, description="suffixes per key; 1: not sharded")

    def broken(self) -> Iterator[Mistake]:
        if "kind" not in self.model_fields_set and self.values is None:
            yield f"missing: one of {', '.join(NEEDED)}, or values = {{ KEY = WEIGHT }}", "kind"
            return
        yield from broken_kind(self, NEEDED, ALLOWED)
        if self.kind in UNCOUNTED and self.keys != type(self).model_fields["keys"].default:
            yield f"no meaning with kind = {self.kind!r}", "keys"

    def pattern(self, *, worker: int = 0, folder: Path = Path()) -> KeyPattern:
        """The key pattern that these numbers describe, as the `worker`-th process draws from it.

        `folder` is the scenario's, where its trace is.
        """
        prefix, hot = self.prefix or PREFIX, f"{self.prefix}-hot" if self.prefix else "hot"
        match self.kind:
            case "uniform":
                return Uniform(self.keys, prefix)
            case "hot_key" | "hot_set":
                return HotKeys(stated(self.share), self.keys, self.hot_keys, hot, prefix)
            case "zipf":
                return Zipf(stated(self.exponent), self.keys, prefix)
            case "date":
                first_day = self.first_day or FIRST_DAY
                return DateKey(stated(self.day_s), first_day, self.rounded_to or "day", self.prefix)
            case "sequential":
                return Sequential.of_worker(worker, prefix)
            case "values":
                values = stated(self.values)
                return Weighted(tuple(values), tuple(values.values()))
            case "replay":
                return TraceKeys(self.trace_path(folder))

    def trace_path(self, folder: Path) -> Path:
        """Where the trace is; `folder` is the scenario's."""
        return folder / stated(self.trace)


NEEDED: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "hot_key": ("share",),
    "hot_set": ("share", "hot_keys"),
    "zipf": ("exponent",),
    "date": ("day_s",),
    "sequential": (),
    "replay": ("trace",),
    "values": ("values",),
}
ALLOWED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(NEEDED, ("prefix",)),
    "date": ("prefix", "first_day", "rounded_to"),
    "replay": ("speed",),
    "values": (),
}
UNCOUNTED = ("date", "sequential", "replay", "values")
"""Kinds whose number of keys follows from something else."""
NotNegative = Annotated[float, Field(ge=0, le=86_400)]


class ShardingSpec(ScenarioPart):
    """Add a shard to a key when one partition is not enough; a metadata table has the numbers."""

    table: TableName = Field(description="the companion that holds the number of shards of each key")
    cooldown_s: Seconds = Field(
        60.0, description="seconds after a change in which a key's number of shards stays"
    )
    backoff_low_s: NotNegative = Field(
        1.0,
        description="shortest wait of a writer after the cooldown, in seconds, before it changes the number",
    )
    backoff_high_s: NotNegative = Field(10.0, description="longest such wait; drawn evenly")
    cache_s: NotNegative = Field(5.0, description="seconds for which writers cache the number")
    max_shards: Annotated[int, Field(ge=1, le=1_000)] = 100
    history: Annotated[int, Field(ge=2, le=100)] = Field(20, description="entries of shard_history")

    def broken(self) -> Iterator[Mistake]:
        for low, high in (("backoff_low_s", "backoff_high_s"), ("cache_s", "cooldown_s")):
            if getattr(self, low) > (most_s := getattr(self, high)):
                yield f"longer than {high} = {most_s:g}", low


KINDS: Final = ("values", "count", "range", "timestamp", "copy_of")
ROUNDING: Final = 1e-6  # of shares that add up to 1
MOST_SHARDS: Final = 1_000
PERIODS: Final[Mapping[str, str]] = {
    "second": "%Y-%m-%dT%H:%M:%SZ",
    "minute": "%Y-%m-%dT%H:%MZ",
    "hour": "%Y-%m-%dT%HZ",
    "day": "%Y-%m-%d",
}


class AttributeSpec(ScenarioPart):
    """The values of one attribute: set exactly one field, and an exponent for `count` if wanted."""

    values: Annotated[dict[KeyName, Annotated[float, Field(gt=0)]], Field(min_length=1)] | None = Field(
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

    def broken(self) -> Iterator[Mistake]:
        kinds = [field for field in KINDS if getattr(self, field) is not None]
        if len(kinds) != 1:
            given = f"; {' and '.join(kinds)} are said" if kinds else ""
            yield (f"say exactly one of {', '.join(KINDS)}{given}",)
        if self.exponent is not None and self.count is None:
            yield "an exponent goes with a count of values", "exponent"
        if self.hot and (self.count is None or self.exponent is not None):
            yield "the shares of hot values go with a count of values, without an exponent", "hot"
        if sum(self.hot or ()) > 1 + ROUNDING:
            yield f"the shares add up to {sum(self.hot or ()):g}, 1 at most", "hot"
        if self.hot and self.count is not None and len(self.hot) >= self.count:
            yield (
                f"{len(self.hot)} hot values leave none of {self.count} for the rest: say a higher count",
                "hot",
            )
        if self.range and not 0 <= self.range[1] - self.range[0] < MOST_VALUES:
            yield f"from the least number to the greatest, {MOST_VALUES:,} at most", "range"
        if self.copy_of is not None and self.shards != 1:
            yield "a copy of a key has that key's shards: say keys.shards", "shards"

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
