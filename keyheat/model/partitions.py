"""Partitions of a table or index: which one a position falls on, what each may serve, and how they split.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.Partitions.html and
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import ceil
from random import Random
from typing import Any, Final

from keyheat.model import limits
from keyheat.model.behaviour import Behaviour
from keyheat.model.bucket import Backlog, TokenBucket
from keyheat.model.splits import WHOLE, PartitionHeat, even_boundaries, middle, point, split_point
from keyheat.words import Capacity, Direction

MOST_CELLS: Final = 100_000
"""Steps times busy partitions that are kept of one resource: 27 hours of one partition, an hour of 27."""

Counts = tuple[float, float, float, float]
"""Units read, units written, reads refused, writes refused."""
NOTHING: Final[Counts] = (0.0, 0.0, 0.0, 0.0)
WIDTH: Final = 6  # of a cell: its step, its partition, and the four counts


@dataclass(frozen=True, slots=True)
class Born:
    """The origin of a partition: when, from which parent, and where in the range of hashes it begins."""

    since_s: float
    parent: int | None
    from_share: float  # from 0 up to 1


@dataclass(slots=True)
class PartitionLog:
    """What each partition of one resource served and refused, step by step, and which came of which.

    0 ────────────┬── 2 ────────     A partition's number is its place in the order in which they came to be;
                  └── 3 ────────     the halves of a split get two in a row, the lower one first. So the
    1 ───────────────────────────    order of the keys is that of this tree, and no key has to be told.

    Partitions count what they serve anyway. Once a second the counts are looked at, so that a request pays
    nothing for it. The record is bounded: where it becomes too long, two steps become one.
    """

    born: list[Born] = field(default_factory=list)
    step_s: int = 1
    _second: int = -(2**62)
    _noted: list[Counts] = field(default_factory=list)
    _cells: "array[float]" = field(default_factory=lambda: array("d"))
    """Step, number of the partition, and its counts until then; step, number ..."""

    def add(self, since_s: float, parent: int | None, from_share: float) -> int:
        self.born.append(Born(since_s, parent, from_share))
        self._noted.append(NOTHING)
        return len(self.born) - 1

    def note(self, partitions: "Iterable[Partition]", now_s: float) -> None:
        """Put what was counted since the last call down to the second that was going on then."""
        second = int(now_s)
        if second <= self._second:
            return
        for partition in partitions:
            counts = partition.counts
            if counts != self._noted[partition.number]:
                self._add(partition.number, counts)
        self._second = second
        if len(self._cells) > MOST_CELLS * WIDTH:
            self._coarsen()

    def keep(self, partition: "Partition") -> None:
        """The same for one partition, as it must be before it splits."""
        counts = partition.counts
        if counts != self._noted[partition.number]:
            self._add(partition.number, counts)

    def rows(self, partitions: "Iterable[Partition]") -> Iterator[tuple[int, int, Counts]]:
        """(second in which a step begins, number of the partition, counts) of every step with any.

        `partitions` are those that there are now: what they counted in the open second is among the rows.
        """
        before: dict[int, Counts] = {}
        for partition in partitions:
            self.keep(partition)
        for (step, number), counts in sorted(self._by_cell(1).items()):
            a, b, c, d = before.get(number, NOTHING)
            before[number] = counts
            yield step * self.step_s, number, (counts[0] - a, counts[1] - b, counts[2] - c, counts[3] - d)

    def _add(self, number: int, counts: Counts) -> None:
        self._noted[number] = counts
        self._cells.extend((self._second // self.step_s, number, *counts))

    def _coarsen(self) -> None:
        by_cell = self._by_cell(2)
        self.step_s *= 2
        self._cells = array("d", (value for cell, counts in by_cell.items() for value in (*cell, *counts)))

    def _by_cell(self, steps: int) -> dict[tuple[int, int], Counts]:
        """The last counts in each step of each partition, by step and number; several steps in one."""
        cells = zip(*[iter(self._cells)] * WIDTH, strict=True)
        return {(int(step) // steps, int(number)): (a, b, c, d) for step, number, a, b, c, d in cells}


def plain(log: PartitionLog, partitions: "Iterable[Partition]") -> dict[str, Any]:
    """A resource's record as plain values, to be sent and to be written (`partitionfile`)."""
    rows = list(log.rows(partitions))
    return {
        "step_s": log.step_s,
        "born": [[partition.since_s, partition.parent, partition.from_share] for partition in log.born],
        "rows": [[second, number, *counts] for second, number, counts in rows],
    }


EVENTUAL_READ_WEIGHT = limits.PARTITION_READ_UNITS_PER_S / limits.EVENTUAL_READ_PARTITION_UNITS_PER_S


def provisioned_partitions(provisioned: Capacity) -> int:
    """Partitions of a new provisioned table: each carries its part of reads and writes together.

    AWS no longer publishes the rule; this is the last one it did, and it agrees with what was observed since
    (1,500 write units: 2 partitions; 10,000: at least 10).
    """
    reads = (provisioned.read or 0) / limits.PARTITION_READ_UNITS_PER_S
    writes = (provisioned.write or 0) / limits.PARTITION_WRITE_UNITS_PER_S
    return max(1, ceil(reads + writes))


def warm_partitions(warm: Capacity, scale: float = 1.0) -> int:
    """Partitions that serve `warm` reads and writes at once: 12,000 and 4,000 take 4."""
    reads = ceil((warm.read or 0) / (limits.PARTITION_READ_UNITS_PER_S * scale) - 1e-9)
    writes = ceil((warm.write or 0) / (limits.PARTITION_WRITE_UNITS_PER_S * scale) - 1e-9)
    return max(1, reads, writes)


@dataclass(slots=True)
class Partition:
    """One key range: what it may still read and write, how hot it is, how much it stores."""

    read: TokenBucket
    write: TokenBucket | Backlog
    heat: PartitionHeat
    size_bytes: float = 0.0
    seen: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """When it was last looked at; until then, the units read and written and its hot seconds."""
    number: int = 0  # in the order in which partitions came to be
    refused_reads: float = 0.0
    refused_writes: float = 0.0

    @property
    def counts(self) -> Counts:
        """Units that it read and wrote, and requests that it refused, since it came to be."""
        return self.read.spent, self.write.spent, self.refused_reads, self.refused_writes

    def refused(self, direction: Direction, requests: float) -> None:
        if direction is Direction.WRITE:
            self.refused_writes += requests
        else:
            self.refused_reads += requests

    def busy(self, position: bytes, now_s: float, behaviour: Behaviour) -> bool:
        """Heat up if it was near its ceiling since the last look; True when it is hot enough to split."""
        (at_s, read, write, hot_s), heat = self.seen, self.heat
        self.seen = (now_s, self.read.spent, self.write.spent, heat.hot_s)
        span_s = now_s - at_s
        if span_s <= 0.0:
            return False
        shares = (self.read.spent - read) / self.read.rate, (self.write.spent - write) / self.write.rate
        if max(shares) < behaviour.split_busy_share * span_s:
            return False
        hot = heat.busy(position, span_s, hot_s, now_s, behaviour)
        self.seen = (*self.seen[:3], heat.hot_s)
        return hot

    def cool(self, cold: PartitionHeat) -> None:
        self.heat = cold
        self.seen = (*self.seen[:3], cold.hot_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionKind:
    """What the partitions of one resource have in common. Depths and rates are before `scale`."""

    behaviour: Behaviour
    scale: float
    has_lsi: bool = False
    of_index: bool = False

    def fresh(self, now_s: float, rng: Random) -> Partition:
        """A partition that has served nothing yet."""
        read = limits.PARTITION_READ_UNITS_PER_S
        depth = self.behaviour.partition_units(read, index_writes=False) * self.scale
        return Partition(
            read=TokenBucket.full(rate=read * self.scale, depth=depth, now_s=now_s),
            write=self._write(now_s, rng),
            heat=PartitionHeat.cold(self.behaviour, rng),
            seen=(now_s, 0.0, 0.0, 0.0),
        )

    def _write(self, now_s: float, rng: Random) -> TokenBucket | Backlog:
        """What a partition may write; an index has a buffer before each, which holds back once it is full."""
        rate = limits.PARTITION_WRITE_UNITS_PER_S
        depth = self.behaviour.partition_units(rate, index_writes=self.of_index) * self.scale
        full = TokenBucket.full(rate=rate * self.scale, depth=depth, now_s=now_s)
        if not (self.of_index and self.behaviour.index_buffer_units):
            return full
        least, most = self.behaviour.index_rest_units
        return Backlog(bucket=full, rest=(least * self.scale, most * self.scale), rng=rng)


class Partitions:
    """The ordered key ranges of one resource. They only ever split; every position is on exactly one."""

    __slots__ = ("_boundaries", "_kind", "_partitions", "_rng", "log", "splits")

    def __init__(self, count: int, kind: PartitionKind, *, now_s: float, rng: Random) -> None:
        self._kind = kind
        self._rng = rng
        self._boundaries = even_boundaries(count)
        self._partitions = [kind.fresh(now_s, rng) for _ in range(count)]
        self.splits: list[tuple[int, float]] = []
        """Every split so far: the number that the partition had then, and when; what streams follow."""
        self.log = PartitionLog()
        for number, partition in enumerate(self._partitions):
            partition.number = self.log.add(now_s, None, number / count)

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions)

    @property
    def boundaries(self) -> tuple[bytes, ...]:
        """The first position of every partition but the first."""
        return tuple(self._boundaries)

    def number(self, position: bytes) -> int:
        """The number of the partition that a position falls on, counted from 0 in key order."""
        return bisect_right(self._boundaries, position)

    def at(self, position: bytes) -> Partition:
        return self._partitions[bisect_right(self._boundaries, position)]

    def note(self, now_s: float) -> None:
        """A second begins: keep what the partitions counted in the one before it."""
        self.log.note(self._partitions, now_s)

    def refused(self, position: bytes, now_s: float, direction: Direction) -> None:
        """Record that a partition throttled a request; it splits once that has gone on for minutes."""
        number = self.number(position)
        self._partitions[number].refused(direction, 1.0)
        if self._partitions[number].heat.refused(position, now_s, self._kind.behaviour):
            self._relieve(number, now_s)

    def throttled(self, number: int, drawn: Callable[[int], Iterable[bytes]], now_s: float) -> None:
        """Record that a partition throttled many requests in one second, as `refused` does for each.

        `drawn(n)` are positions of n of the refused requests, in order of arrival: asked for only where it
        is decided about a split.
        """
        heat = self._partitions[number].heat
        if heat.throttled(now_s, self._kind.behaviour):
            heat.positions.extend(drawn(self._kind.behaviour.sampled_positions))
            self._relieve(number, now_s)

    def missed(self, direction: Direction, requests: Iterable[float]) -> None:
        """Count what each partition refused in one second, in the mean; in key order."""
        for partition, some in zip(self._partitions, requests, strict=True):
            if some:
                partition.refused(direction, some)

    def look(self, position: bytes, now_s: float) -> None:
        """Look at the partition of one request, as once a second: near its ceiling it heats up, too."""
        number = self.number(position)
        if self._partitions[number].busy(position, now_s, self._kind.behaviour):
            self._relieve(number, now_s)

    def _relieve(self, number: int, now_s: float) -> None:
        """Split a hot partition where that helps; where it does not, its heat starts from nothing."""
        positions = self._partitions[number].heat.positions
        at = split_point(positions, has_lsi=self._kind.has_lsi, behaviour=self._kind.behaviour)
        if at is not None and self._inside(number, at):
            self._split(number, at, now_s)
        else:
            self._partitions[number].cool(PartitionHeat.cold(self._kind.behaviour, self._rng))

    def grown(self, position: bytes, bytes_delta: float, now_s: float) -> None:
        """Record that stored data grew or shrank; a partition at 10 GB splits in the middle of its range."""
        number = self.number(position)
        partition = self._partitions[number]
        partition.size_bytes = max(0.0, partition.size_bytes + bytes_delta)
        if partition.size_bytes >= limits.PARTITION_BYTES:
            half = middle(*self._range(number))
            if half is None and not self._kind.has_lsi and self._inside(number, position):
                half = position
            if half is not None:
                self._split(number, half, now_s)

    def spread(self, count: int, now_s: float) -> None:
        """Split until no partition holds more than one `count`-th of the hashes: four become eight."""
        number = 0
        while number < len(self):
            start, end = self._range(number)
            half = middle(start, end)
            width = (WHOLE if end is None else point(end)) - point(start)
            if half is not None and width * count > WHOLE + count:  # a range may be one wider by rounding
                self._split(number, half, now_s)
            else:
                number += 1

    def _range(self, number: int) -> tuple[bytes, bytes | None]:
        start = self._boundaries[number - 1] if number else b""
        end = self._boundaries[number] if number < len(self._boundaries) else None
        return start, end

    def _inside(self, number: int, position: bytes) -> bool:
        start, end = self._range(number)
        return start < position and (end is None or position < end)

    def _split(self, number: int, position: bytes, now_s: float) -> None:
        parent = self._partitions[number]
        halves = [self._kind.fresh(now_s, self._rng) for _ in range(2)]
        for half in halves:
            half.read = parent.read.resized(rate=half.read.rate, depth=half.read.depth, now_s=now_s)
            half.write = parent.write.resized(rate=half.write.rate, depth=half.write.depth, now_s=now_s)
            half.size_bytes = parent.size_bytes / 2
        self.log.keep(parent)
        for half, start in zip(halves, (self._range(number)[0], position), strict=True):
            half.number = self.log.add(now_s, parent.number, point(start) / WHOLE)
        self._boundaries.insert(number, position)
        self._partitions[number : number + 1] = halves
        self.splits.append((number, now_s))
