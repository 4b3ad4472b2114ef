"""Units of requests: of puts by item size, of reads by what they find, of index entries."""

from dataclasses import dataclass
from functools import lru_cache
from math import fsum

import numpy as np

from keyheat.model import limits
from keyheat.model.units import write_units
from keyheat.scenario.sizes import ItemSize, mean_units
from keyheat.scenario.spec.tables import IndexSpec, TableSpec
from keyheat.simulator.masses import Floats

SMALL_ITEM = write_units(0, 1)  # keys and a number or two: one write unit
Sizes = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCost:
    """A query's pages and units, as functions of how many items match it."""

    item_bytes: float
    limit: float = np.inf
    consistent: bool = False
    first_page: bool = False  # the reader does not follow further pages

    def items(self, matching: Floats) -> Floats:
        """Items that are read."""
        most = max(1.0, limits.PAGE_BYTES // self.item_bytes) if self.first_page else np.inf
        return np.minimum(matching, min(self.limit, most))

    def pages(self, matching: Floats) -> Floats:
        """Requests: a page ends at 1 MB."""
        if self.first_page:
            return np.ones_like(matching)
        return 1.0 + np.floor(self.items(matching) * self.item_bytes / limits.PAGE_BYTES)

    def units(self, matching: Floats) -> Floats:
        """Read units of all pages: of each, the bytes rounded up to 4 KB, and at least one of those."""
        pages = self.pages(matching)
        of_page = np.ceil(self.items(matching) * self.item_bytes / pages / limits.READ_UNIT_BYTES)
        whole = pages * np.maximum(of_page, 1.0)
        return whole if self.consistent else whole * limits.EVENTUAL_READ_FACTOR


def put_units(table: TableSpec, size: ItemSize, there: float = 0.0) -> float:
    """Units of the table for a put of an item of this size, the entries of its local indexes among them.

    `there` is how probably it replaces an item.
    """
    item = item_units(size)
    if there:
        item += there * (replacing_units(size) - item)
    return item + fsum(entry_units(index, size) for index in table.indexes if index.local)


def item_units(size: ItemSize) -> float:
    """Write units of a new item, in the mean."""
    return mean_units(size, limits.WRITE_UNIT_BYTES)


def entry_units(index: IndexSpec, size: ItemSize) -> float:
    """Units of one entry of an index, put or deleted."""
    return item_units(size) if index.projection == "ALL" else SMALL_ITEM


def grown_units(size: ItemSize, more_bytes: int) -> float:
    """Write units of an item that an update has made so much larger."""
    steps = range(-(-(size.most + more_bytes) // limits.WRITE_UNIT_BYTES))
    return fsum(size.above(step * limits.WRITE_UNIT_BYTES - more_bytes) for step in steps)


def write_sizes(size: ItemSize, there: float = 0.0) -> Sizes:
    """The write units of puts of each size; `there` is how probably one replaces an item."""
    return _sizes(size, limits.WRITE_UNIT_BYTES, 1.0, round(there, 2))


def read_sizes(size: ItemSize, *, consistent: bool) -> Sizes:
    """The read units of items of each size."""
    return _sizes(size, limits.READ_UNIT_BYTES, 1.0 if consistent else limits.EVENTUAL_READ_FACTOR, 0.0)


@lru_cache(maxsize=64)
def _sizes(size: ItemSize, unit_bytes: int, factor: float, there: float) -> Sizes:
    """(units, part of the items) of each size; nothing where all cost the same."""
    up_to = [(1 - there) * share + there * share**2 for share in _up_to(size, unit_bytes)]
    parts = [share - before for share, before in zip(up_to, [0.0, *up_to], strict=False)]
    sizes = tuple((step * factor, share) for step, share in enumerate(parts, 1) if share > 0)
    return sizes if len(sizes) > 1 else ()


@lru_cache(maxsize=64)
def _up_to(size: ItemSize, unit_bytes: int) -> tuple[float, ...]:
    """The part of the items that cost one unit, up to two, up to three ..."""
    return tuple(1 - size.above(step * unit_bytes) for step in range(1, -(-size.most // unit_bytes) + 1))


@lru_cache(maxsize=64)
def replacing_units(size: ItemSize) -> float:
    """Write units of an item that replaces one: those of the larger of the two."""
    return fsum(1 - share**2 for share in (0.0, *_up_to(size, limits.WRITE_UNIT_BYTES)[:-1]))
