"""The keys of a scenario: which the load touches, how often each, and how they get more shards."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from keyheat.scenario.keys import (
    FIRST_DAY,
    PREFIX,
    DateKey,
    HotKeys,
    KeyPattern,
    Sequence,
    Uniform,
    Weighted,
    Zipf,
)
from keyheat.scenario.spec.part import (
    KEY_PREFIX,
    ScenarioPart,
    Seconds,
    Share,
    TableName,
    Units,
    broken_kind,
    numbered,
    stated,
)
from keyheat.scenario.spec.tables import TableSpec
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
                return Sequence.of_worker(worker, prefix)
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
Tables = tuple[TableSpec, ...]


def broken_keys(keys: KeysSpec) -> Iterator[str]:
    """Every disagreement between fields of `[keys]`, as `message @ $.path`."""
    if "kind" not in keys.model_fields_set and keys.values is None:
        yield f"missing: one of {', '.join(NEEDED)}, or values = {{ KEY = WEIGHT }} @ $.keys.kind"
        return
    yield from broken_kind(keys, "$.keys", NEEDED, ALLOWED)
    if keys.kind in UNCOUNTED and keys.keys != KeysSpec.model_fields["keys"].default:
        yield f"no meaning with kind = {keys.kind!r} @ $.keys.keys"


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
    max_write_units: Units | None = Field(
        None,
        description="on table errors raise the capacity by UpdateTable up to this; absent: never",
    )


def broken_sharding(
    sharding: ShardingSpec, keys: KeysSpec | None, table: TableSpec | None, companions: Tables
) -> Iterator[str]:
    """What dynamic sharding has to agree on with the rest of the scenario, as `message @ $.path`."""
    for low, high in (("backoff_low_s", "backoff_high_s"), ("cache_s", "cooldown_s")):
        if getattr(sharding, low) > getattr(sharding, high):
            longest_s = getattr(sharding, high)
            yield f"longer than {high} = {longest_s:g} @ $.dynamic_sharding.{low}"
    if isinstance(sharding.table, str):
        yield from _metadata_table(sharding.table, companions)
    if keys is not None and keys.shards != 1:
        yield "say either how many shards there are, or dynamic_sharding @ $.keys.shards"
    on_demand = table is not None and table.billing_mode != "PROVISIONED"
    if on_demand and sharding.max_write_units is not None:
        yield "only a provisioned table can be given more @ $.dynamic_sharding.max_write_units"


def _metadata_table(name: str, companions: Tables) -> Iterator[str]:
    """The metadata table is on demand: its reads are unknown, and a throttle there stops every writer."""
    companion = next((table for _path, table in numbered(companions, "") if table.name == name), None)
    if companion is None:
        yield f"no companion is named {name!r} @ $.dynamic_sharding.table"
        return
    if companion.billing_mode != "PAY_PER_REQUEST":
        yield f"{name!r} has to be PAY_PER_REQUEST @ $.dynamic_sharding.table"
    if companion.sort_key is not None:
        yield f"{name!r} has to be without a sort_key @ $.dynamic_sharding.table"
    if companion.partition_key_type != "S":
        yield f"{name!r} has to have a key of text @ $.dynamic_sharding.table"
