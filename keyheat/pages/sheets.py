"""What a chart shows, as columns: second by second, for a CSV or Parquet file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from keyheat.analysis.report.bins import Floats

if TYPE_CHECKING:
    import pyarrow as pa

SheetColumn = Floats | Sequence[str]
MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sheet:
    """Columns of one length by name, units in the names. Numbers that are unknown are NaN, never zero.

    Where it has a `step_s`, row n is the mean from `start_s` + n x `step_s` (epoch) on, and the last row ends
    with `end_s`. Columns named in `moments` are epoch seconds.
    """

    name: str
    columns: Mapping[str, SheetColumn]
    start_s: float = 0.0
    step_s: float | None = None
    end_s: float = 0.0
    moments: frozenset[str] = frozenset()

    @property
    def rows(self) -> int:
        return max((len(column) for column in self.columns.values()), default=0)

    def table(self) -> "pa.Table":
        """The sheet as a table: first when each step begins, where it has steps."""
        import pyarrow as pa

        columns: dict[str, pa.Array] = {}
        if self.step_s is not None:
            columns["from_utc"] = _moments(self.start_s + np.arange(self.rows) * self.step_s)
        for name, column in self.columns.items():
            if name in self.moments:
                columns[name] = _moments(np.asarray(column, np.float64))
            elif _is_words(column):
                columns[name] = pa.array(column, pa.string())
            else:
                columns[name] = pa.array(np.asarray(column, np.float64), from_pandas=True)
        return pa.table(columns)


def _moments(epoch_s: npt.NDArray[Any]) -> "pa.Array":
    import pyarrow as pa

    rounded = np.round(epoch_s * MICROSECONDS).astype(np.int64)
    return pa.array(rounded).cast(pa.timestamp("us", tz="UTC"))


def _is_words(column: SheetColumn) -> bool:
    return len(column) > 0 and isinstance(column[0], str)
