"""Reads that leave an item where there was none: from the table, from its copies, or through a cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum

from keyheat.simulator.flow import Answer
from keyheat.simulator.masses import Masses
from keyheat.simulator.traffic.cache import Cached
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.users import Request
from keyheat.simulator.traffic.written import Written

Read = Callable[[Masses, float], Request]
"""A read of these keys, which finds its item with this probability."""


@dataclass(slots=True)
class Filling:
    """The reads of one task, and its puts of what they have not found."""

    setting: Setting
    through: bool  # a cache
    _cached: Cached | None = field(init=False)
    _touched: Written = field(init=False)

    def __post_init__(self) -> None:
        spec = self.setting.scenario.cache
        self._cached = Cached(spec) if self.through and spec is not None else None
        self._touched = Written(self.setting.keys)

    @property
    def touched(self) -> Written:
        """Which keys were read before: each read leaves an item, if there was none. Tomorrow's are others."""
        if self._touched.keys is not self.setting.keys:
            self._touched = Written(self.setting.keys)
        return self._touched

    def reads(self, each: Sequence[tuple[float, Read]]) -> tuple[list[Request], float]:
        """The reads that reach the table, each so many times, and how many a cache answers."""
        there, keys, part = self._there, self.setting.keys, 1.0
        if self._cached is not None:
            # Only items that are there are kept: of the others every read is a miss.
            missed, keys = self._cached.missed(keys, self.setting.coming * there)
            part = there * missed + 1 - there
        made = [
            self._counted(replace(one, times=one.times * times * part), part)
            for times, read in each
            for one in (read(keys, 1 - (1 - there) / part),)
        ]
        return made, (1 - part) * fsum(times for times, _read in each)

    def put(self, times: float, item: Callable[[Masses], Request]) -> Request:
        """The puts of what so many reads have not found."""
        missing = 1 - self._there
        found = self.touched
        keys = found.missing(self.setting.coming) if missing else self.setting.keys
        return replace(item(keys), times=times * missing)

    @property
    def _there(self) -> float:
        return self.touched.there(self.setting.coming)

    def _counted(self, read: Request, part: float) -> Request:
        """The reads that a cache lets through: for each of them, so many others were answered by it."""
        counts, found = self.setting.counts, self.touched

        def told(answer: Answer) -> None:
            read.told(answer)
            reads = answer.attempts / part
            found.items += reads
            if self._cached is not None:
                counts["cache.hits"] += reads - answer.attempts
                counts["cache.misses"] += answer.attempts
                counts["cache.units_saved"] += (reads - answer.attempts) * read.units

        return replace(read, told=told)
