"""The client's rows as reads and writes second by second, from the first second of the load to its last."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from keyheat.words import WRITES_FIRST, Direction

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One direction second by second, from the first second of the load to its last."""

    attempts: Numbers
    accepted: Numbers
    throttled: Numbers  # attempts that were, whoever refused them
    own_units: Numbers  # of the table
    units: Numbers  # of the table and its indexes


def sides_of(rows: pa.Table) -> dict[Direction, Side] | None:
    """The rows of `seconds.parquet`, both directions by second; None where nothing was attempted."""
    attempted = rows.filter(pc.greater(rows["attempts"], 0))["second"].cast(pa.int64())
    if not len(attempted):
        return None
    first, last = pc.min(attempted).as_py(), pc.max(attempted).as_py()
    return {side: _side(rows.filter(pc.equal(rows["direction"], side)), first, last) for side in WRITES_FIRST}


def _side(rows: pa.Table, first: int, last: int) -> Side:
    own = rows.filter(pc.is_null(rows["index"]))
    return Side(
        attempts=_by_second(own, "attempts", first, last),
        accepted=_by_second(own, "accepted", first, last),
        throttled=_by_second(own, "throttled", first, last),
        own_units=_by_second(own, "consumed_units", first, last),
        units=_by_second(rows, "consumed_units", first, last),
    )


def _by_second(rows: pa.Table, column: str, first: int, last: int) -> Numbers:
    """A column added up by second."""
    place = rows["second"].cast(pa.int64()).to_numpy() - first
    inside = (place >= 0) & (place <= last - first)
    amounts = rows[column].to_numpy().astype(float)
    summed = np.zeros(last - first + 1)
    np.add.at(summed, place[inside], amounts[inside])
    return summed


def throttled_seconds(sides: Mapping[Direction, Side]) -> NDArray[np.int64]:
    """The seconds with a throttle, counted from the first second of the load."""
    return np.flatnonzero(sum(one.throttled for one in sides.values()))
