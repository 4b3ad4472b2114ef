"""The stream of one table, from when it was enabled until a day after it was disabled.

    partition 0 ---- shard a ------------------x- shard c ------
                                               '- shard d ------      x: the partition split
    partition 1 ---- shard b -----------------------------------

There is one open shard for each partition. A partition that splits closes its shard and opens two children.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html

A change is kept as the records that the table's store made anyway; the stream's own record is made from them
when it is read, so that a write pays for little more than an append.
"""

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from xxhash import xxh3_64_hexdigest

from keyheat.endpoint.itemstore import ItemChange
from keyheat.endpoint.schema import KeySchema
from keyheat.model.limits import STREAM_RETENTION_S
from keyheat.model.partitions import Partitions

Event = Literal["INSERT", "MODIFY", "REMOVE"]
ENTRY_BYTES = 250
"""What one entry takes in memory beside the images it holds: itself, its numbers, its places in two lists."""
COMPACTED_FROM = 1_024
MOST_BYTES = 512 << 20
"""Memory that one stream may keep from being freed, before its oldest entries are trimmed."""


class StreamEntry(NamedTuple):
    """One change. Images that the stream's view does not show are left out, but one stays for the keys."""

    sequence: int
    at_s: float
    event: Event
    old: bytes | None
    new: bytes | None

    @property
    def held_bytes(self) -> int:
        """Memory that the entry keeps from being freed, counted as if the images were not shared."""
        return ENTRY_BYTES + len(self.old or b"") + len(self.new or b"")


@dataclass(slots=True)
class Shard:
    """Entries in order; `ending` is the number after which none comes, once the shard is closed."""

    shard_id: str
    starting: int
    parent: str | None = None
    ending: int | None = None
    closed_s: float | None = None
    trimmed: int = 0  # sequence number of the last entry that was trimmed
    entries: list[StreamEntry] = field(default_factory=list)
    _gone: int = 0  # entries at the front of the list that are trimmed

    @property
    def oldest(self) -> StreamEntry | None:
        return self.entries[self._gone] if self._gone < len(self.entries) else None

    def trim_oldest(self) -> StreamEntry:
        """Forget the oldest entry. Raises IndexError if there is no entry."""
        entry = self.entries[self._gone]
        self.trimmed = entry.sequence
        self._gone += 1
        if self._gone >= COMPACTED_FROM and 2 * self._gone >= len(self.entries):
            del self.entries[: self._gone]
            self._gone = 0
        return entry

    def horizon(self) -> int:
        """The sequence number from which everything that is left can be read."""
        return max(self.starting, self.trimmed + 1) if self.oldest is None else self.oldest.sequence

    def since(self, second: float) -> int:
        """The sequence number of the first entry whose whole second is not before `second`."""
        position = bisect_left(self.entries, second, lo=self._gone, key=lambda entry: int(entry.at_s))
        return self.entries[position].sequence if position < len(self.entries) else self._after_last()

    def read(self, sequence: int, count: int) -> list[StreamEntry]:
        """At most `count` entries from a sequence number on."""
        position = bisect_left(self.entries, sequence, lo=self._gone, key=lambda entry: entry.sequence)
        return self.entries[position : position + count]

    def ends_before(self, sequence: int) -> bool:
        """Whether the shard is closed and has nothing at `sequence` or beyond."""
        return self.ending is not None and sequence >= self._after_last()

    def _after_last(self) -> int:
        last = self.entries[-1].sequence if self.entries else max(self.starting - 1, self.trimmed)
        return last + 1


View = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]
FIRST_SEQUENCE = 10**20  # sequence numbers have 21 digits at least
LOOK_EVERY_S = 60.0
SHOWS_NEW = ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")
SHOWS_OLD = ("OLD_IMAGE", "NEW_AND_OLD_IMAGES")


class TableStream:
    """Every change of one table's items, exactly once, and those of one item in order."""

    __slots__ = (
        "_last_ms", "_look_s", "_open", "_order", "_partitions", "_sequence", "_splits_seen", "arn",
        "created_s", "disabled_s", "held_bytes", "keys", "label", "shards", "table_name", "view",
    )  # fmt: skip

    def __init__(
        self,
        *,
        table_arn: str,
        label: str,
        keys: KeySchema,
        view: View,
        partitions: Partitions,
        now_s: float,
    ) -> None:
        """A stream with one open shard per partition; beyond `MOST_BYTES` its oldest entries are trimmed."""
        self.arn = f"{table_arn}/stream/{label}"
        self.label = label
        self.table_name = table_arn.rpartition("/")[2]
        self.keys = keys
        self.view: View = view
        self.created_s = now_s
        self.disabled_s: float | None = None
        self.shards: dict[str, Shard] = {}  # by id, which are in order of creation
        self.held_bytes = 0
        self._order: deque[Shard] = deque()  # the shard of every entry that is kept, oldest entry first
        self._sequence = FIRST_SEQUENCE
        self._last_ms = 0
        self._look_s = now_s + LOOK_EVERY_S
        self._partitions = partitions
        self._splits_seen = len(partitions.splits)
        self._open = [self._new_shard(now_s) for _ in range(len(partitions))]

    @property
    def next_sequence(self) -> int:
        """A sequence number above all used so far."""
        return self._sequence + 1

    def note(self, change: ItemChange, now_s: float) -> None:
        """An item changed; a write that changed nothing is no change."""
        old, new = change.old, change.new
        if old == new or self.disabled_s is not None:
            return
        if self._splits_seen != len(self._partitions.splits):
            self.follow_splits()
        event: Event = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
        if old is not None and new is not None:
            if self.view not in SHOWS_OLD:
                old = None
            elif self.view == "OLD_IMAGE":
                new = None
        self._sequence += 1
        entry = StreamEntry(self._sequence, now_s, event, old, new)
        shard = self._open[self._partitions.number(change.key[1])]
        shard.entries.append(entry)
        self._order.append(shard)
        self.held_bytes += entry.held_bytes
        if self.held_bytes > MOST_BYTES or now_s >= self._look_s:
            self.trim(now_s)

    def follow_splits(self) -> None:
        """Close the shards of partitions that have split since the last look, and open their children."""
        splits = self._partitions.splits
        while self.disabled_s is None and self._splits_seen < len(splits):
            number, at_s = splits[self._splits_seen]
            self._splits_seen += 1
            parent = self._open[number]
            self._close(parent, at_s)
            self._open[number : number + 1] = [
                self._new_shard(at_s, parent.shard_id),
                self._new_shard(at_s, parent.shard_id),
            ]

    def disable(self, now_s: float) -> None:
        """Take no more changes; what is there stays readable for as long as it would have."""
        self.follow_splits()
        self.disabled_s = now_s
        for shard in self._open:
            self._close(shard, now_s)
        self._open = []

    def trim(self, now_s: float) -> None:
        """Forget what is a day old, and the oldest of what is more than the stream may hold."""
        self._look_s = now_s + LOOK_EVERY_S
        horizon_s = now_s - STREAM_RETENTION_S
        while self._order:
            shard = self._order[0]
            oldest = shard.oldest
            assert oldest is not None, "every kept entry has its place in the order"
            if oldest.at_s > horizon_s and self.held_bytes <= MOST_BYTES:
                break
            self._order.popleft()
            self.held_bytes -= shard.trim_oldest().held_bytes
        gone = [
            shard.shard_id
            for shard in self.shards.values()
            if shard.closed_s is not None and shard.closed_s <= horizon_s and shard.oldest is None
        ]
        for shard_id in gone:
            del self.shards[shard_id]

    def expired(self, now_s: float) -> bool:
        """Whether the stream was disabled so long ago that nothing of it is left."""
        return self.disabled_s is not None and self.disabled_s <= now_s - STREAM_RETENTION_S

    def _new_shard(self, now_s: float, parent: str | None = None) -> Shard:
        # Ids sort as shards are created, although some are created within a millisecond.
        self._last_ms = max(self._last_ms + 1, int(now_s * 1000))
        self._sequence += 1
        unique = xxh3_64_hexdigest(f"{self.arn}{self._last_ms}".encode())[:8]
        shard = Shard(f"shardId-{self._last_ms:020d}-{unique}", self._sequence, parent)
        self.shards[shard.shard_id] = shard
        return shard

    def _close(self, shard: Shard, now_s: float) -> None:
        self._sequence += 1
        shard.ending = self._sequence
        shard.closed_s = now_s


def label_at(at_s: float) -> str:
    """The label of a stream that is enabled at a time: `2026-11-20T12:00:00.000`."""
    return datetime.fromtimestamp(at_s, UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
