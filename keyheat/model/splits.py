"""When a hot partition splits, and where.

AWS splits a partition whose consumption stays near its ceiling for minutes, throttled or not, at a point
taken from the keys it observed. It does not split where that cannot help: one hot item, a sort key that only
ever grows, or inside an item collection of a table with a local index. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html and
https://www.usenix.org/system/files/atc22-elhemali.pdf (section 4.4)
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from xxhash import xxh3_64_digest, xxh3_64_intdigest

from keyheat.model.behaviour import Behaviour

HASH_BYTES = 8
WHOLE = 1 << (8 * HASH_BYTES)


def position(partition_key: bytes, sort_key: bytes = b"") -> bytes:
    """Where an item lies: positions compare as bytes, so `sort_key` comes in bytes that keep its order."""
    return xxh3_64_digest(partition_key) + sort_key


def key_point(partition_key: bytes) -> int:
    """The hash part of every position of a partition key, as a number: `point(position(partition_key))`."""
    return xxh3_64_intdigest(partition_key)


def collection_of(at: bytes) -> bytes:
    """What the positions of one partition key have in common: its item collection."""
    return at[:HASH_BYTES]


def point(at: bytes) -> int:
    """The hash part of a position, as a number from 0 up to `WHOLE`."""
    return int.from_bytes(at[:HASH_BYTES].ljust(HASH_BYTES, b"\0"), "big")


def even_boundaries(count: int) -> list[bytes]:
    """The `count` - 1 positions that divide the line into `count` equal ranges."""
    return [(WHOLE * number // count).to_bytes(HASH_BYTES, "big") for number in range(1, count)]


def middle(start: bytes, end: bytes | None) -> bytes | None:
    """The position half way from `start` to `end` (None: the line's end); None inside one item collection."""
    low = point(start)
    half = (low + (WHOLE if end is None else point(end))) // 2
    return half.to_bytes(HASH_BYTES, "big") if half > low else None


@dataclass(slots=True)
class PartitionHeat:
    """The seconds in which a partition throttled or was near its ceiling, and positions of requests then.

    Refusals are sampled, oldest first: a full bucket refuses whatever comes next, so they are distributed as
    the requests are. A partition that does not throttle is looked at once a second at most.
    """

    patience_s: float
    positions: deque[bytes]
    hot_s: float = 0.0
    last_s: int = field(default=-(2**62))

    @classmethod
    def cold(cls, behaviour: Behaviour, rng: Random) -> "PartitionHeat":
        """A partition that has not throttled, with a drawn time until it splits for heat."""
        return cls(rng.uniform(*behaviour.split_heat_s), deque(maxlen=behaviour.sampled_positions))

    def refused(self, at: bytes, now_s: float, behaviour: Behaviour) -> bool:
        """Record one refusal; True once the partition has been hot for long enough to split."""
        hot = self.throttled(now_s, behaviour)
        self.positions.append(at)
        return hot

    def throttled(self, now_s: float, behaviour: Behaviour) -> bool:
        """Record that something was refused in this second; True as `refused` says."""
        second = int(now_s)
        if second > self.last_s:
            if second - self.last_s > behaviour.heat_memory_s:
                self.hot_s = 0.0
                self.positions.clear()
            self.hot_s += 1
            self.last_s = second
        return self.hot_s >= self.patience_s

    def busy(self, at: bytes, span_s: float, hot_s: float, now_s: float, behaviour: Behaviour) -> bool:
        """Record that it was near its ceiling for all of a span that ends now; True as `refused` says.

        `at` is the position of one request in it; `hot_s` are the hot seconds counted when it began.
        """
        second = int(now_s)
        if second - span_s - self.last_s > behaviour.heat_memory_s:
            hot_s = 0.0
            self.positions.clear()
        self.hot_s = max(self.hot_s, hot_s + span_s)
        self.last_s = second
        self.positions.append(at)
        return self.hot_s >= self.patience_s


def split_point(positions: Sequence[bytes], *, has_lsi: bool, behaviour: Behaviour) -> bytes | None:
    """Where a split divides the observed heat best; None where no split would help.

    `positions` are in order of arrival. The result is the first position of the upper half.
    """
    ordered = sorted(positions)
    by_collection: dict[bytes, list[bytes]] = {}
    for at in positions:
        by_collection.setdefault(collection_of(at), []).append(at)
    undivided = {
        name for name, members in by_collection.items() if has_lsi or ever_increasing(members, behaviour)
    }
    best, best_share = None, behaviour.split_least_share
    for index, at in _candidates(ordered, undivided):
        share = min(index, len(ordered) - index) / len(ordered)
        if share > best_share or (best is None and share == best_share):
            best, best_share = at, share
    return best


def _candidates(ordered: Sequence[bytes], undivided: set[bytes]) -> Iterator[tuple[int, bytes]]:
    """Every boundary between two different observed positions, but none inside an undivided collection."""
    for index in range(1, len(ordered)):
        below, at = ordered[index - 1], ordered[index]
        if below == at:
            continue
        if collection_of(below) == collection_of(at):
            if collection_of(at) not in undivided:
                yield index, at
        else:
            # Between two collections the whole upper collection moves, wherever it was observed.
            yield index, collection_of(at)


def ever_increasing(positions: Sequence[bytes], behaviour: Behaviour) -> bool:
    """Whether the later of these positions lie above nearly all of the earlier ones, as a clock's would.

    position                        The earlier half's ninetieth part is the mark;
      |            . ' .   later    of shuffled keys a tenth lies above it,
    - - mark - . ' - - - - - -      of a sequence nearly all do, even where
      |    . '                      concurrent writers arrive a little out of order.
    """
    half = len(positions) // 2
    if half == 0:
        return False
    mark = sorted(positions[:half])[half * 9 // 10]
    above = sum(at > mark for at in positions[half:])
    return above >= behaviour.sequence_share * (len(positions) - half)
