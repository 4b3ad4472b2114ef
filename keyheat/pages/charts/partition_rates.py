"""What each partition served and refused, step by step, and where the columns of it are on a page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from keyheat.analysis.report.bins import Floats
from keyheat.words import TABLE, WRITES_FIRST, Direction, Resource, index_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionRates:
    """One partition in one direction: rates in equal steps, NaN before it came to be and after it split."""

    number: int
    parent: int | None
    since_s: float
    from_share: float
    units_per_s: Floats
    refused_per_s: Floats


def resources_of(rows: "pd.DataFrame") -> list[Resource]:
    """The resources and directions in which any partition was asked for anything."""
    asked = rows.groupby("resource").sum(numeric_only=True)
    return [
        Resource(index_of(name), side)
        for name in sorted(asked.index, key=lambda name: (name != TABLE, name))
        for side in WRITES_FIRST
        if asked.loc[name, f"{side}_units"] or asked.loc[name, f"throttled_{side}s"]
    ]


def read_ones(
    rows: "pd.DataFrame", direction: Direction, worth: float = 1.0
) -> tuple[float, float, list[PartitionRates]]:
    """When the first step begins, how long one is, and every partition by its number.

    `worth` is what a recorded unit stands for: a partition counts eventually consistent reads for less.
    """
    at, step_s = rows["at"].astype("int64"), int(rows["seconds"].iloc[0])
    moments = np.arange(at.min(), at.max() + 1, step_s)
    numbers = range(int(rows["partition"].max()) + 1)
    units, refused = (
        rows.astype({name: "float64"})
        .pivot_table(index=at - (at - at.min()) % step_s, columns="partition", values=name, aggfunc="sum")
        .reindex(index=moments, columns=numbers)
        .fillna(0)
        .to_numpy()
        .T
        / step_s
        for name in (f"{direction}_units", f"throttled_{direction}s")
    )
    born = rows.drop_duplicates("partition").set_index("partition")
    since = born["since"].astype("int64").astype("float64").to_dict()
    parents = born["parent"].dropna().to_dict()
    ended = {parent: since[number] for number, parent in parents.items()}
    ones = []
    for n in numbers:
        alive = (moments + step_s > since.get(n, 0.0)) & (moments <= ended.get(n, np.inf))
        ones.append(
            PartitionRates(
                number=n,
                parent=parents.get(n),
                since_s=since.get(n, 0.0),
                from_share=float(born["from_share"].get(n, 0.0)),
                units_per_s=np.where(alive, units[n] * worth, np.nan),
                refused_per_s=np.where(alive, refused[n], np.nan),
            )
        )
    return float(moments[0]), float(step_s), ones


def units_column(number: int, direction: Direction) -> str:
    """The column of a sheet with what a partition served."""
    return f"partition_{number}_{direction}_units_per_s"


def refused_column(number: int, direction: Direction) -> str:
    """The column of a sheet with what a partition refused."""
    return f"partition_{number}_throttled_{direction}s_per_s"
