"""How many partitions a table has, as far as it can be told from outside: AWS has no call that says it.

Two things do tell something. Warm throughput is what a table serves at once, and no partition serves more
than 3,000 reads and 1,000 writes per second: so many partitions there are at least. And a stream that is on
has one open shard for each partition; where a partition splits, its shard is closed and two take its place:

    partition 0 ---- shard a ----x-- shard c ------    x: it split
                                 '-- shard d ------
    partition 1 ---- shard b --------o-- shard e --    o: it rolled over, as shards do every few hours

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput-scenarios.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from keyheat.model import limits
from keyheat.words import Capacity

Shard = Mapping[str, Any]
"""One shard, as DescribeStream describes it."""

MOST_PAGES: Final = 100
"""Pages of DescribeStream that are read at most, a hundred shards each: more take longer than they tell."""
_ID: Final = re.compile(r"shardId-(\d{20})-")
_MS: Final = (1_300_000_000_000, 7_300_000_000_000)  # 2011 to 2201: what can be a time in a shard's id


class TooManyShards(Exception):
    """A stream has more shards than are read; the text says how many were seen."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """At least so many partitions, and why."""

    count: int
    because: str


@dataclass(frozen=True, slots=True)
class Split:
    """A partition split: the shard that it had, and when, where the ids of the new shards say so."""

    shard_id: str
    at_s: float | None


def estimated(warm: Capacity, provisioned: Capacity, scale: float = 1.0) -> Estimate | None:
    """The least number of partitions that serve so much; None where neither is known.

    `scale` multiplies every limit of a local table, and with it what one partition serves.
    """
    found = [
        Estimate(count, f"{name} is {_said(pair, scale)}")
        for name, pair in (("its warm throughput", warm), ("what is provisioned", provisioned))
        if (count := _needed(pair, scale))
    ]
    return max(found, key=lambda one: one.count, default=None)


def _needed(pair: Capacity, scale: float) -> int:
    """Partitions that serve a pair of rates; 0 where neither is known."""
    reads = ceil((pair.read or 0) / (limits.PARTITION_READ_UNITS_PER_S * scale) - 1e-9)
    writes = ceil((pair.write or 0) / (limits.PARTITION_WRITE_UNITS_PER_S * scale) - 1e-9)
    return max(reads, writes)


def _said(pair: Capacity, scale: float) -> str:
    sides = (("reads", pair.read, limits.PARTITION_READ_UNITS_PER_S),
             ("writes", pair.write, limits.PARTITION_WRITE_UNITS_PER_S))  # fmt: skip
    known = [(name, rate, ceiling * scale) for name, rate, ceiling in sides if rate]
    rates = " and ".join(f"{rate:,.0f} {name}/s" for name, rate, _ in known)
    ceilings = " and ".join(f"{ceiling:,.0f} {name}/s" for name, _, ceiling in known)
    return f"{rates}, and one partition serves {ceilings}"


def all_shards(client: Any, arn: str, *, pages: int = MOST_PAGES) -> tuple[Shard, ...]:
    """Every shard of a stream that is still kept, open or closed: page by page, with a client that is given.

    Raises `TooManyShards`, and what the client raises.
    """
    shards: dict[str, Shard] = {}
    start: dict[str, str] = {}
    for _ in range(pages):
        told = client.describe_stream(StreamArn=arn, **start)["StreamDescription"]
        shards.update((shard["ShardId"], shard) for shard in told["Shards"])
        last = told.get("LastEvaluatedShardId")
        if last is None:
            return tuple(shards.values())
        start = {"ExclusiveStartShardId": last}
    raise TooManyShards(f"the stream has more than the {len(shards):,} shards that were looked at")


def is_open(shard: Shard) -> bool:
    """Whether the shard still takes records: there is one such shard for each partition."""
    return shard.get("SequenceNumberRange", {}).get("EndingSequenceNumber") is None


def splits(shards: Iterable[Shard], *, but: Collection[str] = ()) -> tuple[Split, ...]:
    """Every split that the shards show, in order of time; `but` are shards that were closed before.

    One child is a roll-over, and no split.
    """
    known = {shard["ShardId"]: shard for shard in shards}
    children = Counter(shard.get("ParentShardId") for shard in known.values())
    born: dict[str, float | None] = {}
    for name, shard in known.items():
        if parent := shard.get("ParentShardId"):
            born.setdefault(parent, created_s(name))
    found = [
        Split(parent, at_s)
        for parent, at_s in born.items()
        if children[parent] > 1 and parent not in but and not (parent in known and is_open(known[parent]))
    ]
    return tuple(sorted(found, key=lambda split: (split.at_s is None, split.at_s or 0.0, split.shard_id)))


def created_s(shard_id: str) -> float | None:
    """When a shard was made, in the service's time: its id has it in milliseconds, which is not documented.

    None where an id looks otherwise, as it may one day.
    """
    found = _ID.match(shard_id)
    if found is None or not _MS[0] <= int(found[1]) <= _MS[1]:
        return None
    return int(found[1]) / 1000
