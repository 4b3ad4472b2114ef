"""One shard of a stream: the changes of one partition's items, in order, while the shard was open.

A change is kept as the records that the table's store made anyway; the stream's own record is made from them
when somebody reads it, so that a write pays for little more than an append.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Event = Literal["INSERT", "MODIFY", "REMOVE"]
ENTRY_BYTES = 250
"""What one entry takes in memory beside the images it holds: itself, its numbers, its places in two lists."""
COMPACTED_FROM = 1_024


class Entry(NamedTuple):
    """One change. Images that the stream's view does not show are left out, but one stays for the keys."""

    sequence: int
    at_s: float
    event: Event
    old: bytes | None
    new: bytes | None

    @property
    def held_bytes(self) -> int:
        """Memory that the entry keeps from being freed, counted as if nobody shared the images."""
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
    _entries: list[Entry] = field(default_factory=list)
    _gone: int = 0  # entries at the front of the list that are trimmed

    def append(self, entry: Entry) -> None:
        """Note a change; its sequence number is above those of all before it."""
        self._entries.append(entry)

    @property
    def oldest(self) -> Entry | None:
        """The first entry that is still there."""
        return self._entries[self._gone] if self._gone < len(self._entries) else None

    def trim_oldest(self) -> Entry:
        """Forget the first entry that is still there. Raises IndexError where there is none."""
        entry = self._entries[self._gone]
        self.trimmed = entry.sequence
        self._gone += 1
        if self._gone >= COMPACTED_FROM and 2 * self._gone >= len(self._entries):
            del self._entries[: self._gone]
            self._gone = 0
        return entry

    def horizon(self) -> int:
        """The sequence number from which everything that is left can be read."""
        oldest = self.oldest
        return oldest.sequence if oldest is not None else max(self.starting, self.trimmed + 1)

    def since(self, second: float) -> int:
        """The sequence number of the first entry whose whole second is not before `second`."""
        place = bisect_left(self._entries, second, lo=self._gone, key=lambda entry: int(entry.at_s))
        return self._entries[place].sequence if place < len(self._entries) else self._after_last()

    def read(self, sequence: int, count: int) -> list[Entry]:
        """At most `count` entries from a sequence number on."""
        place = bisect_left(self._entries, sequence, lo=self._gone, key=lambda entry: entry.sequence)
        return self._entries[place : place + count]

    def ends_before(self, sequence: int) -> bool:
        """Whether the shard is closed and has nothing at `sequence` or beyond."""
        return self.ending is not None and sequence >= self._after_last()

    def _after_last(self) -> int:
        last = self._entries[-1].sequence if self._entries else max(self.starting - 1, self.trimmed)
        return last + 1
