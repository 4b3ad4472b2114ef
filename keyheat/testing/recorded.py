"""Requests that an endpoint has recorded, as a load that can be sent at any rate.

Each key gets its part of the units that were asked for, whatever became of them; refused ones count.
"""

from collections.abc import Iterator, Sequence
from typing import TypedDict

import numpy as np

from keyheat.analysis.advising.demanded import OPERATIONS, Demanded
from keyheat.simulator.flow import Flow, IndexFlow
from keyheat.simulator.masses import Masses
from keyheat.words import Direction


class Row(TypedDict):
    """What was asked of one key in one kind of request; `entry`: not asked for, but put there by writes."""

    direction: Direction
    index: str | None
    eventual: bool
    entry: bool
    key: str  # the hash that places the key, in hex; empty: keys too many to tell apart
    name: str | None
    requests: int
    units: float
    refused: dict[str, int]


Rows = Sequence[Row]


def less(after: Rows, before: Rows) -> tuple[Row, ...]:
    """What was asked between two moments."""
    then = {_who(row): row for row in before}
    return tuple(found for row in after if (found := _since(row, then.get(_who(row))))["requests"])


def requests_in(rows: Rows) -> int:
    """Requests of clients: the entries that writes put into indexes are none."""
    return sum(row["requests"] for row in rows if not row["entry"])


def throttled_in(rows: Rows) -> int:
    """Those of them that were refused."""
    return sum(sum(row["refused"].values()) for row in rows if not row["entry"])


def sent_steadily(rows: Rows, requests_per_s: float, seconds: int) -> Demanded:
    """The recorded requests in their proportions, so many a second together."""
    flows = tuple(_flows(rows, requests_per_s / requests_in(rows)))
    return Demanded([flows] * seconds)


def _flows(rows: Rows, times_per_s: float) -> Iterator[Flow]:
    """A flow for each kind of request, every recorded request being sent `times_per_s`."""
    kinds = dict.fromkeys(
        (row["direction"], row["index"], row["eventual"]) for row in rows if not row["entry"]
    )
    for side, index, eventual in kinds:
        mine = [row for row in rows if not row["entry"] and _kind(row) == (side, index, eventual)]
        count = requests_in(mine)
        yield Flow(
            operation=OPERATIONS[side],
            direction=Direction(side),
            requests=count * times_per_s,
            units=_units(mine) / count,
            keys=_masses(mine),
            index=index,
            eventual=eventual,
            index_writes=tuple(_entries(rows, count)) if side == "write" else (),
        )


def _entries(rows: Rows, writes: int) -> Iterator[IndexFlow]:
    for index in dict.fromkeys(row["index"] for row in rows if row["entry"]):
        mine = [row for row in rows if row["entry"] and row["index"] == index]
        assert index is not None, "an entry is one of an index"
        yield IndexFlow(index=index, units=_units(mine) / writes, keys=_masses(mine))


def _masses(rows: Rows) -> Masses:
    """Where the units fall; those of keys too many to tell apart fall evenly."""
    total = _units(rows)
    named = sorted((row for row in rows if row["key"]), key=lambda row: row["key"])
    shares = np.array([row["units"] for row in named], np.float64) / total
    names = [row["name"] or f"the key at {row['key']}" for row in named]
    return Masses(
        points=np.array([int(row["key"], 16) for row in named], np.uint64),
        shares=shares,
        even=max(0.0, 1.0 - float(shares.sum())) if len(named) < len(rows) else 0.0,
        name=names.__getitem__,
    )


def _units(rows: Rows) -> float:
    return sum(row["units"] for row in rows)


def _kind(row: Row) -> tuple[Direction, str | None, bool]:
    return row["direction"], row["index"], row["eventual"]


def _who(row: Row) -> tuple[Direction, str | None, bool, bool, str]:
    return *_kind(row), row["entry"], row["key"]


def _since(row: Row, before: Row | None) -> Row:
    if before is None:
        return row
    refused = {reason: count - before["refused"].get(reason, 0) for reason, count in row["refused"].items()}
    return {
        **row,
        "requests": row["requests"] - before["requests"],
        "units": row["units"] - before["units"],
        "refused": {reason: count for reason, count in refused.items() if count},
    }
