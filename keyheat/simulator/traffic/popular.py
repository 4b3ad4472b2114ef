"""Load tests of popular items that are read again and again: through a cache, or from copies of the table."""

from collections.abc import Sequence
from dataclasses import replace

from keyheat.scenario.spec.table import TableSpec
from keyheat.simulator.flow import Answer
from keyheat.simulator.traffic.cache import Cached
from keyheat.simulator.traffic.costs import QueryCost
from keyheat.simulator.traffic.puts import put
from keyheat.simulator.traffic.reads import get, query
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.users import LoadTest, Request, Task, Users
from keyheat.simulator.traffic.written import Written

READS, EDITS = 3_000, 1  # weights of the two tasks


def read_through(setting: Setting) -> LoadTest:
    """Reads items, through a cache where the scenario has one; puts those that are not there; edits some."""
    touched = _Touched(setting)
    spec = setting.scenario.cache
    cached = None if spec is None else Cached(spec)

    def users() -> list[Users]:
        found = touched.now
        there = found.there(setting.coming)
        keys, part = setting.keys, 1.0
        if cached is not None:
            # Only items that are there are kept: of the others every read is a miss.
            missed, keys = cached.missed(keys, setting.coming * there)
            part = there * missed + 1 - there
        read = get(setting, keys, there=1 - (1 - there) / part, consistent=False)
        counted = replace(_counted(setting, read, part, found), times=part)
        return [_users(setting, [counted], found, spared=1 - part)]

    return users


class _Touched:
    """Which keys were read before: each read leaves an item, if there was none. Tomorrow's are others."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._now = Written(setting.keys)

    @property
    def now(self) -> Written:
        """The keys of this second."""
        if self._now.keys is not self._setting.keys:
            self._now = Written(self._setting.keys)
        return self._now


def _counted(setting: Setting, read: Request, part: float, found: Written) -> Request:
    """The reads that a cache lets through: for each of them, so many others were answered by it."""

    def told(answer: Answer) -> None:
        read.told(answer)
        reads = answer.attempts / part
        found.items += reads
        if setting.scenario.cache is not None:
            setting.counts["cache.hits"] += reads - answer.attempts
            setting.counts["cache.misses"] += answer.attempts
            setting.counts["cache.units_saved"] += (reads - answer.attempts) * read.units

    return replace(read, told=told)


def from_copies(setting: Setting) -> LoadTest:
    """Reads each item from the table or from an index with the table's own keys, drawn at random."""
    copies = copies_of(setting.table)
    cost = QueryCost(item_bytes=setting.load.mean_item_bytes, limit=1)
    touched = _Touched(setting)

    def users() -> list[Users]:
        found = touched.now
        there = found.there(setting.coming)
        reads = [get(setting, setting.keys, there=there, consistent=False)]
        reads += [query(setting, setting.keys, cost, of=found, index=name) for name in copies]
        each = [replace(_counted(setting, one, 1.0, found), times=1 / len(reads)) for one in reads]
        return [_users(setting, each, found)]

    return users


def copies_of(table: TableSpec) -> tuple[str, ...]:
    """The global indexes that hold the table whole, under its own keys."""
    own = (table.partition_key, table.sort_key)
    return tuple(
        one.name
        for one in table.indexes
        if not one.local and one.projection == "ALL" and (one.partition_key, one.sort_key) == own
    )


def _users(setting: Setting, reads: Sequence[Request], found: Written, spared: float = 0.0) -> Users:
    """Users who read, put what is not there, and edit now and then."""
    missing = 1 - found.there(setting.coming)
    new = put(setting, found.missing(setting.coming) if missing else setting.keys, new=True)
    return Users(
        (
            Task((*reads, replace(new, times=missing)), READS, spared),
            Task((put(setting, setting.keys),), EDITS),
        )
    )
