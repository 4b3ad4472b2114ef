"""What the client saw, second by second: columns side by side, from whichever file of a run has them.

Arrays and no frames: a diagnosis of evidence alone does without pandas.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from keyheat.runs.formats import Evidence
from keyheat.words import Direction, Resource, index_of, label_of

if TYPE_CHECKING:
    import pandas as pd

Rows = Mapping[str, npt.NDArray[Any]]
"""An array for each column; seconds are epoch seconds, resources as labels call them."""
AMOUNTS = ("attempts", "throttled", "consumed_units")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecondsRecord:
    """`seconds` (second, resource, direction, attempts, throttled, consumed_units) and `throttles` (second,
    resource, direction). Either is None where unknown."""

    seconds: Rows | None
    throttles: Rows | None

    def range(self) -> tuple[int, int] | None:
        """The first second and the one after the last."""
        ends = [f(rows["second"]) for rows in self._filled() for f in (np.min, np.max)]
        return (int(min(ends)), int(max(ends)) + 1) if ends else None

    def resources(self) -> list[Resource]:
        """Every resource that was asked for anything, the table first, writes first."""
        pairs = {
            pair for rows in self._filled() for pair in zip(rows["resource"], rows["direction"], strict=True)
        }
        found = [Resource(index_of(name), Direction(side)) for name, side in pairs]
        return sorted(found, key=lambda one: (one.index or "", one.direction != "write"))

    def of(self, resource: Resource) -> Rows | None:
        """The rows of one resource, one for each second; None where no second is recorded."""
        if self.seconds is None:
            return None
        rows = self.seconds
        mine = (rows["resource"] == resource.label_name) & (rows["direction"] == resource.direction)
        second, place = np.unique(rows["second"][mine], return_inverse=True)
        sums = {name: np.bincount(place, rows[name][mine], len(second)) for name in AMOUNTS}
        return {"second": second, **sums}

    def _filled(self) -> list[Rows]:
        return [rows for rows in (self.seconds, self.throttles) if rows is not None and len(rows["second"])]


def read_record(
    evidence: Evidence | None, seconds: "pd.DataFrame | None", throttles: "pd.DataFrame | None"
) -> SecondsRecord:
    """The client's record, from frames or else from the evidence."""
    kept = (evidence.seconds, evidence.throttles) if evidence else (None, None)
    return SecondsRecord(
        seconds=_of_frame(seconds, "second", AMOUNTS)
        if seconds is not None
        else _of_rows(kept[0], lambda row: (row.attempts, row.throttled, row.consumed), AMOUNTS),
        throttles=_of_frame(throttles, "at", ())
        if throttles is not None
        else _of_rows(kept[1], lambda row: (), ()),
    )


def _of_frame(rows: "pd.DataFrame", moment: str, amounts: tuple[str, ...]) -> Rows:
    return {
        "second": rows[moment].astype("datetime64[s, UTC]").astype("int64").to_numpy(),
        **{name: rows[name].to_numpy(object) for name in ("resource", "direction")},
        **{name: rows[name].to_numpy(np.float64, na_value=0.0) for name in amounts},
    }


def _of_rows(rows: Iterable[Any] | None, read: Any, amounts: tuple[str, ...]) -> Rows | None:
    if rows is None:
        return None
    found = list(rows)
    numbers = np.array([read(row) for row in found], np.float64).reshape(len(found), len(amounts))
    return {
        "second": np.array([int(row.second.timestamp()) for row in found], np.int64),
        "resource": np.array([label_of(row.index) for row in found], object),
        "direction": np.array([row.direction.value for row in found], object),
        **{name: numbers[:, place] for place, name in enumerate(amounts)},
    }
