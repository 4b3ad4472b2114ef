"""Partitions of a table: their estimated number, splits, and what each one served."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from keyheat.model import limits
from keyheat.model.partitions import NOTHING, Born, Counts, warm_partitions
from keyheat.runs.formats import PartitionFacts
from keyheat.runs.table_facts import TableFacts
from keyheat.words import Capacity

if TYPE_CHECKING:
    import pyarrow as pa

Shard = Mapping[str, Any]
"""One shard from DescribeStream."""

MOST_PAGES: Final = 100
"""Most pages of DescribeStream to read, a hundred shards each."""
_ID: Final = re.compile(r"shardId-(\d{20})-")
_MS: Final = (1_300_000_000_000, 7_300_000_000_000)  # 2011 to 2201: plausible times in a shard's id


class TooManyShards(Exception):
    """A stream with more shards than are read; the text states their number."""


def estimated(table: TableFacts, scale: float = 1.0) -> PartitionFacts | None:
    """The least number of partitions, from the throughput available at once; None if that is unknown.

    `scale` multiplies every limit of a local table, and what one partition serves.
    """
    counts = [
        (warm_partitions(pair, scale), f"{name} is {_rates_text(pair, scale)}")
        for name, pair in (("its warm throughput", table.warm), ("what is provisioned", table.provisioned))
        if pair and (pair.read or pair.write)
    ]
    if not counts:
        return None
    count, because = max(counts, key=lambda counted: counted[0])
    return PartitionFacts(estimated=count, because=because)


def _rates_text(pair: Capacity, scale: float) -> str:
    sides = (("reads", pair.read, limits.PARTITION_READ_UNITS_PER_S),
             ("writes", pair.write, limits.PARTITION_WRITE_UNITS_PER_S))  # fmt: skip
    stated = [(name, rate, ceiling * scale) for name, rate, ceiling in sides if rate]
    rates = " and ".join(f"{rate:,.0f} {name}/s" for name, rate, _ in stated)
    ceilings = " and ".join(f"{ceiling:,.0f} {name}/s" for name, _, ceiling in stated)
    return f"{rates}, and one partition serves {ceilings}"


def all_shards(client: Any, arn: str, *, pages: int = MOST_PAGES) -> tuple[Shard, ...]:
    """Every shard of a stream that is still kept, open or closed.

    Raises `TooManyShards`, and what the client raises.
    """
    shards: dict[str, Shard] = {}
    start: dict[str, str] = {}
    for _ in range(pages):
        description = client.describe_stream(StreamArn=arn, **start)["StreamDescription"]
        shards.update((shard["ShardId"], shard) for shard in description["Shards"])
        last = description.get("LastEvaluatedShardId")
        if last is None:
            return tuple(shards.values())
        start = {"ExclusiveStartShardId": last}
    raise TooManyShards(f"the stream has more than the {len(shards):,} shards that were looked at")


def is_open(shard: Shard) -> bool:
    """Whether a shard takes records: each partition has one open shard."""
    return shard.get("SequenceNumberRange", {}).get("EndingSequenceNumber") is None


def split_times_s(shards: Iterable[Shard]) -> list[float | None]:
    """Times of the partition splits that shards show; None if the ids lack a time.

    A parent with one child rolled over and did not split.
    """
    by_id = {shard["ShardId"]: shard for shard in shards}
    children = Counter(shard.get("ParentShardId") for shard in by_id.values())
    born: dict[str, float | None] = {}
    for name, shard in by_id.items():
        if parent := shard.get("ParentShardId"):
            born.setdefault(parent, created_s(name))
    times_s = [
        at_s
        for parent, at_s in born.items()
        if children[parent] > 1 and not (parent in by_id and is_open(by_id[parent]))
    ]
    return sorted(times_s, key=lambda at_s: (at_s is None, at_s or 0.0))


def created_s(shard_id: str) -> float | None:
    """Creation time of a shard, by the undocumented milliseconds in its id; None without them."""
    match = _ID.match(shard_id)
    if match is None or not _MS[0] <= int(match[1]) <= _MS[1]:
        return None
    return int(match[1]) / 1000


MOST_ROWS: Final = 200_000


def partitions_table(
    record: Sequence[Mapping[str, Any]], start_s: float, end_s: float, *, most: int = MOST_ROWS
) -> "pa.Table":
    """The rows of `partitions.parquet` from `start_s` to `end_s`, epoch seconds.

    At most `most` rows, and one for each partition. `record` is that of `TableModel.partition_record`; raises
    `KeyError`, `TypeError` or `ValueError` for anything else.
    """
    import pyarrow as pa

    from keyheat.runs.parquet import PARTITIONS_SCHEMA

    step_s = max((int(resource["step_s"]) for resource in record), default=1)
    while True:
        cells = [(resource, _cells(resource, step_s, start_s, end_s)) for resource in record]
        if sum(len(counts_of) for _, counts_of in cells) <= most or step_s > end_s - start_s:
            break
        step_s *= 2
    rows = [row for resource, counts_of in cells for row in _rows(resource, counts_of, step_s, int(start_s))]
    columns = zip(*rows, strict=True) if rows else [()] * len(PARTITIONS_SCHEMA)
    fields = zip(PARTITIONS_SCHEMA, columns, strict=True)
    return pa.table([pa.array(column, field.type) for field, column in fields], schema=PARTITIONS_SCHEMA)


def _cells(
    resource: Mapping[str, Any], step_s: int, start_s: float, end_s: float
) -> dict[tuple[int, int], Counts]:
    """Counts by partition and start of the step, in order."""
    merged: dict[tuple[int, int], Counts] = {}
    for second, number, *counts in resource["rows"]:
        if second + resource["step_s"] > start_s and second < end_s:
            cell = (int(number), int(second) // step_s * step_s)
            a, b, c, d = map(sum, zip(merged.get(cell, NOTHING), counts, strict=True))
            merged[cell] = (a, b, c, d)
    return dict(sorted(merged.items()))


def _rows(
    resource: Mapping[str, Any], cells: Mapping[tuple[int, int], Counts], step_s: int, start_s: int
) -> Iterator[tuple[Any, ...]]:
    """Rows of the schema; throttles, which are means in a simulation, as whole numbers."""
    births = [Born(*fields) for fields in resource["born"]]
    there = {(number, max(start_s, int(born.since_s)) // step_s * step_s): NOTHING
             for number, born in enumerate(births)}  # fmt: skip
    refused = [(0.0, 0.0)] * len(births)
    for (number, second), counts in sorted({**there, **cells}.items()):
        born, (reads, writes) = births[number], refused[number]
        refused[number] = (reads + counts[2], writes + counts[3])
        yield (
            second, step_s, resource["index"], number, born.parent, int(born.since_s), born.from_share,
            counts[0], counts[1],
            round(refused[number][0]) - round(reads), round(refused[number][1]) - round(writes),
        )  # fmt: skip
