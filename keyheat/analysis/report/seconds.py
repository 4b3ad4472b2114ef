"""What the client saw, second by second: rows side by side, from whichever file of a run has them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from keyheat.analysis.report.run import ReportRun
from keyheat.words import TABLE, Resource, index_of

if TYPE_CHECKING:
    import pandas as pd

WORDS = frozenset({"index", "direction", "reason"})
"""Columns of words."""
Rows = Mapping[str, npt.NDArray[Any]]
"""Rows side by side: an array for each column, words and None in one of objects."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecondsRecord:
    """`seconds` (second, index, direction, attempts, throttled, consumed) and `throttles` (second, index,
    direction, reason, count), each summed up; seconds are epoch seconds. Either is None where unknown."""

    seconds: Rows | None
    throttles: Rows | None

    def range(self) -> tuple[int, int] | None:
        """The first second and the one after the last."""
        known = [rows["second"] for rows in self._known() if len(rows["second"])]
        if not known:
            return None
        return int(min(c.min() for c in known)), int(max(c.max() for c in known)) + 1

    def resources(self) -> list[Resource]:
        """Every resource that was asked for anything."""
        pairs = {
            pair for rows in self._known() for pair in zip(rows["index"], rows["direction"], strict=True)
        }
        return [
            Resource(*pair) for pair in sorted(pairs, key=lambda pair: (pair[0] or "", pair[1] != "write"))
        ]

    def _known(self) -> list[Rows]:
        return [rows for rows in (self.seconds, self.throttles) if rows is not None]


def read_record(run: ReportRun) -> SecondsRecord:
    """The client's record of a run, from whichever file has it."""
    return SecondsRecord(seconds=_seconds(run), throttles=_throttles(run))


def rows_of(rows: Rows, resource: Resource) -> Rows:
    """The rows of one resource."""
    mine = (rows["index"] == resource.index) & (rows["direction"] == resource.direction)
    return {name: column[mine] for name, column in rows.items()}


def _seconds(run: ReportRun) -> Rows | None:
    if run.seconds is not None:
        amounts = {"attempts": "attempts", "throttled": "throttled", "consumed_units": "consumed"}
        return _of_frame(run.seconds, "second", [], amounts)
    if run.evidence is None or run.evidence.seconds is None:
        return None
    return _summed(
        ("second", "index", "direction"),
        ("attempts", "throttled", "consumed"),
        (
            ((int(row.second.timestamp()), row.index, row.direction.value),
             (row.attempts, row.throttled, row.consumed))
            for row in run.evidence.seconds
        ),
    )  # fmt: skip


def _throttles(run: ReportRun) -> Rows | None:
    if run.throttles is not None:
        return _of_frame(run.throttles, "at", ["reason"], {"count": "count"})
    if run.evidence is None or run.evidence.throttles is None:
        return None
    return _summed(
        ("second", "index", "direction", "reason"),
        ("count",),
        (
            ((int(row.second.timestamp()), row.index, row.direction.value, row.reason), (row.count,))
            for row in run.evidence.throttles
        ),
    )


def _of_frame(rows: "pd.DataFrame", moment: str, further: list[str], amounts: Mapping[str, str]) -> Rows:
    """The amounts of a frame by second, resource, direction and what is `further` told apart, as arrays."""
    second = rows[moment].astype("datetime64[s, UTC]").astype("int64")
    by = ["second", "resource", "direction", *further]
    grouped = rows.assign(second=second).groupby(by, dropna=False, as_index=False)[list(amounts)].sum()
    names = {name: grouped[name].astype(object) for name in ("direction", *further)}
    return {
        "second": grouped["second"].to_numpy(np.int64),
        "index": np.array([index_of(name) for name in grouped["resource"]], dtype=object),
        **{name: column.where(column.notna(), None).to_numpy() for name, column in names.items()},
        **{
            name: grouped[amount].to_numpy(np.float64 if name == "consumed" else np.int64)
            for amount, name in amounts.items()
        },
    }


def of_table(seconds: "pd.DataFrame") -> "pd.DataFrame":
    """The attempts on the table itself: those of an index are among them already."""
    return seconds[seconds["resource"] == TABLE]


def _summed(
    by: Sequence[str], amounts: Sequence[str], rows: Iterable[tuple[tuple[Any, ...], tuple[float, ...]]]
) -> Rows:
    """Rows of a key and its amounts, one for each key."""
    sums: dict[tuple[Any, ...], tuple[float, ...]] = {}
    for key, found in rows:
        before = sums.get(key)
        sums[key] = tuple(map(add, before, found)) if before else found
    names = (*by, *amounts)
    columns = list(zip(*((*key, *found) for key, found in sums.items()), strict=True)) or [()] * len(names)
    return {
        name: np.array(column, dtype=object if name in WORDS else float if name == "consumed" else np.int64)
        for name, column in zip(names, columns, strict=True)
    }
