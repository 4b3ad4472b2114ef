"""What each partition of one resource served and refused, step by step, and which came of which.

    0 ────────────┬── 2 ────────     A partition's number is its place in the order in which they came to be;
                  └── 3 ────────     the halves of a split get two in a row, the lower one first. So the order
    1 ───────────────────────────    of the keys is that of this tree, and no key has to be told.

Partitions count what they serve anyway. Once a second the counts are looked at, so that a request pays
nothing for it. The record is bounded: where it becomes too long, two steps become one.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

MOST_CELLS: Final = 100_000
"""Steps times busy partitions that are kept of one resource: 27 hours of one partition, an hour of 27."""

Counts = tuple[float, float, float, float]
"""Units read, units written, reads refused, writes refused."""
NOTHING: Final[Counts] = (0.0, 0.0, 0.0, 0.0)
WIDTH: Final = 2 + len(NOTHING)


class Counted(Protocol):
    """A partition as the log meets it: its number, and what it counted since it came to be."""

    number: int

    @property
    def counts(self) -> Counts:
        """What it has served and refused in all."""


@dataclass(frozen=True, slots=True)
class Born:
    """How a partition came to be: when, of which other one, and where in the range of hashes it begins."""

    since_s: float
    parent: int | None
    from_share: float  # from 0 up to 1


@dataclass(slots=True)
class PartitionLog:
    """The record of one resource. `note` is called when a second is over, `split` at each split."""

    born: list[Born] = field(default_factory=list)
    step_s: int = 1
    _second: int = -(2**62)
    _noted: list[Counts] = field(default_factory=list)
    _cells: "array[float]" = field(default_factory=lambda: array("d"))  # step, number, counts; step, ...

    def bear(self, since_s: float, parent: int | None, from_share: float) -> int:
        """A new partition; gives its number."""
        self.born.append(Born(since_s, parent, from_share))
        self._noted.append(NOTHING)
        return len(self.born) - 1

    def note(self, partitions: Iterable[Counted], now_s: float) -> None:
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

    def keep(self, partition: Counted) -> None:
        """The same for one partition, as it must be before it splits."""
        counts = partition.counts
        if counts != self._noted[partition.number]:
            self._add(partition.number, counts)

    def rows(self, partitions: Iterable[Counted]) -> Iterator[tuple[int, int, Counts]]:
        """(second in which a step begins, number of the partition, counts) of every step with any.

        `partitions` are those that there are now: what they counted in the open second is among the rows.
        """
        for partition in partitions:
            self.keep(partition)
        for (step, number), counts in sorted(self._merged(1).items()):
            yield step * self.step_s, number, counts

    def _add(self, number: int, counts: Counts) -> None:
        a, b, c, d = self._noted[number]
        self._noted[number] = counts
        step = self._second // self.step_s
        self._cells.extend((step, number, counts[0] - a, counts[1] - b, counts[2] - c, counts[3] - d))

    def _coarsen(self) -> None:
        """Make two steps one."""
        merged = self._merged(2)
        self.step_s *= 2
        self._cells = array("d", (value for place, counts in merged.items() for value in (*place, *counts)))

    def _merged(self, steps: int) -> dict[tuple[int, int], Counts]:
        """The counts by step and number, so many steps in one."""
        merged: dict[tuple[int, int], Counts] = {}
        for step, number, *counts in zip(*[iter(self._cells)] * WIDTH, strict=True):
            place = (int(step) // steps, int(number))
            a, b, c, d = merged.get(place, NOTHING)
            merged[place] = (a + counts[0], b + counts[1], c + counts[2], d + counts[3])
        return merged


def plain(log: PartitionLog, partitions: Iterable[Counted]) -> dict[str, Any]:
    """A resource's record as plain values, to be sent and to be written (`partitionfile`)."""
    rows = list(log.rows(partitions))
    return {
        "step_s": log.step_s,
        "born": [[one.since_s, one.parent, one.from_share] for one in log.born],
        "rows": [[second, number, *counts] for second, number, counts in rows],
    }
