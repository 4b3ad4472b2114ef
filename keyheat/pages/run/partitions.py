"""The record of the partitions, as a chart needs it: rates in equal steps, ranges of keys in their order.

0 %  ┌───────────────┬──── partition 2 ────    A partition that split is drawn over the rows of those
     │  partition 0  ┆                         that came of it, so that a row is a range of keys all
50 % ├───────────────┴──── partition 3 ────    the time.
     │  partition 1
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyheat.pages.run.downsample import Floats
from keyheat.words import WRITES_FIRST, Direction, Resource


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class One:
    """One partition in one direction: rates in equal steps, NaN before it came to be and after it split."""

    number: int
    parent: int | None
    since_s: float
    from_share: float
    units_per_s: Floats
    refused_per_s: Floats


def resources_of(rows: pa.Table) -> list[Resource]:
    """The resources and directions in which any partition was asked for anything."""
    found = []
    for index in sorted(set(rows["index"].to_pylist()), key=lambda name: name or ""):
        mine = of_index(rows, index)
        for direction in WRITES_FIRST:
            if pc.sum(mine[f"{direction}_units"]).as_py() or pc.sum(mine[f"throttled_{direction}s"]).as_py():
                found.append(Resource(index, direction))
    return found


def of_index(rows: pa.Table, index: str | None) -> pa.Table:
    same = pc.is_null(rows["index"]) if index is None else pc.fill_null(pc.equal(rows["index"], index), False)
    return rows.filter(same)


def read_ones(rows: pa.Table, direction: Direction) -> tuple[float, float, list[One]]:
    """When the first step begins, how long one is, and every partition by its number."""
    at, step_s = rows["at"].cast(pa.int64()).to_numpy(), int(rows["seconds"][0].as_py())
    number = rows["partition"].to_numpy()
    start_s, steps = int(at.min()), int((at.max() - at.min()) // step_s) + 1
    place = (at - start_s) // step_s
    count = int(number.max()) + 1
    grids = {name: np.zeros((count, steps)) for name in ("units", "refused")}
    for name, column in (("units", f"{direction}_units"), ("refused", f"throttled_{direction}s")):
        np.add.at(grids[name], (number, place), rows[column].to_numpy() / step_s)
    first = np.unique(number, return_index=True)[1]
    born = {row["partition"]: row for row in rows.take(first).to_pylist()}
    parents = {n: row["parent"] for n, row in born.items()}
    since = {n: row["since"].timestamp() for n, row in born.items()}
    ended = {parents[n]: since[n] for n in born if parents[n] is not None}
    moments = start_s + np.arange(steps) * step_s
    ones = []
    for n in range(count):
        alive = (moments + step_s > since.get(n, 0.0)) & (moments <= ended.get(n, np.inf))
        ones.append(
            One(
                number=n,
                parent=parents.get(n),
                since_s=since.get(n, 0.0),
                from_share=born[n]["from_share"] if n in born else 0.0,
                units_per_s=np.where(alive, grids["units"][n], np.nan),
                refused_per_s=np.where(alive, grids["refused"][n], np.nan),
            )
        )
    return float(start_s), float(step_s), ones


def leaves(ones: list[One], most: int) -> list[One]:
    """The partitions that there were in the end, in the order of their keys; of many, the busiest."""
    children: dict[int | None, list[int]] = {}
    for one in ones:
        children.setdefault(one.parent, []).append(one.number)

    def below(number: int) -> Iterable[int]:
        if number not in children:
            yield number
        for child in children.get(number, ()):
            yield from below(child)

    ordered = [ones[leaf] for root in children[None] for leaf in below(root)]
    if len(ordered) <= most:
        return ordered
    busiest = sorted(ordered, key=lambda one: -float(np.nansum(one.units_per_s + one.refused_per_s)))
    kept = {one.number for one in busiest[:most]}
    return [one for one in ordered if one.number in kept]


def chain_of(one: One, ones: list[One]) -> list[int]:
    """A partition and those that it came of, the newest first."""
    chain = [one.number]
    while (parent := ones[chain[-1]].parent) is not None:
        chain.append(parent)
    return chain


def overlaid(values: list[Floats]) -> Floats:
    """The first of these that is known, step by step."""
    found = values[0].copy()
    for other in values[1:]:
        found = np.where(np.isnan(found), other, found)
    return found


def splits_of(ones: list[One], chains: list[list[int]], start_s: float) -> list[tuple[float, int, int]]:
    """When a partition split during the run, and the first and last row that it was drawn over."""
    rows: dict[int, list[int]] = {}
    for row, chain in enumerate(chains):
        for number in chain[1:]:
            rows.setdefault(number, []).append(row)
    when: Mapping[int, float] = {one.parent: one.since_s for one in ones if one.parent is not None}
    return [
        (when[number], min(mine), max(mine))
        for number, mine in sorted(rows.items())
        if when[number] >= start_s
    ]
