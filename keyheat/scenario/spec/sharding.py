"""Dynamic sharding of a scenario: how quickly and how far its keys get more shards."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from keyheat.scenario.spec.part import Part, Seconds, TableName, Units

NotNegative = Annotated[float, Field(ge=0, le=86_400)]


class ShardingSpec(Part):
    """Keys get one shard more where a partition is not enough for them, and the metadata table says so."""

    table: TableName = Field(description="the companion that holds the number of shards of each key")
    cooldown_s: Seconds = Field(60.0, description="a key's number of shards stays for so long after a change")
    backoff_low_s: NotNegative = Field(
        1.0, description="a writer waits at least so long after the cooldown before it tries to change it"
    )
    backoff_high_s: NotNegative = Field(10.0, description="and at most so long; drawn evenly")
    cache_s: NotNegative = Field(5.0, description="writers go by what they last read for so long")
    max_shards: Annotated[int, Field(ge=1, le=1_000)] = 100
    history: Annotated[int, Field(ge=2, le=100)] = Field(20, description="entries of shard_history")
    max_write_units: Units | None = Field(
        None,
        description="on table errors ask UpdateTable for more, up to this; absent: wait for somebody else to",
    )


def broken_sharding(raw: Mapping[str, Any]) -> Iterator[str]:
    """What dynamic sharding has to agree on with the rest of the scenario, as `message @ $.path`."""
    sharding = raw.get("dynamic_sharding")
    if not isinstance(sharding, Mapping):
        return
    yield from _order(sharding, "backoff_low_s", "backoff_high_s")
    yield from _order(sharding, "cache_s", "cooldown_s")
    yield from _metadata_table(sharding.get("table"), raw.get("companions"))
    keys = raw.get("keys")
    if isinstance(keys, Mapping) and keys.get("shards", 1) != 1:
        yield "say either how many shards there are, or dynamic_sharding @ $.keys.shards"
    table = raw.get("table")
    on_demand = isinstance(table, Mapping) and table.get("billing_mode", "PROVISIONED") != "PROVISIONED"
    if on_demand and sharding.get("max_write_units") is not None:
        yield "only a provisioned table can be given more @ $.dynamic_sharding.max_write_units"


def _order(sharding: Mapping[str, Any], low: str, high: str) -> Iterator[str]:
    first, second = (sharding.get(name, ShardingSpec.model_fields[name].default) for name in (low, high))
    if isinstance(first, int | float) and isinstance(second, int | float) and first > second:
        yield f"longer than {high} = {second:g} @ $.dynamic_sharding.{low}"


def _metadata_table(name: Any, companions: Any) -> Iterator[str]:
    """On-demand: nobody can say beforehand how often it is read, and a throttle there stops every writer."""
    if not isinstance(name, str):
        return
    listed = companions if isinstance(companions, list | tuple) else ()
    named = [one for one in listed if isinstance(one, Mapping) and one.get("name") == name]
    if not named:
        yield f"there is no companion named {name!r} @ $.dynamic_sharding.table"
    for companion in named:
        if companion.get("billing_mode", "PROVISIONED") != "PAY_PER_REQUEST":
            yield f"{name!r} has to be PAY_PER_REQUEST @ $.dynamic_sharding.table"
        if companion.get("sort_key") is not None:
            yield f"{name!r} has to be without a sort_key @ $.dynamic_sharding.table"
        if companion.get("partition_key_type", "S") != "S":
            yield f"{name!r} has to have a key of text @ $.dynamic_sharding.table"
