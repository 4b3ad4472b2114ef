"""What a chart shows, as columns: in bins that a person can name, packed into the page, whole in files.

chart ── sheet ──┬── packed into the page: every second, as long as it fits; drawn as finely as can be seen
                 └── a CSV or Parquet file of `keyheat export`

Packed are whole numbers of a small unit, as differences, a few bits each:

    12.5 12.5 12.5 13.0  --unit 0.1-->  125 125 125 130  --differences-->  125 0 0 5  --bytes-->  base64

A difference is a number of seven bits a byte, its sign in the lowest bit; after a 0 stands how many follow.
The script reads it at once and without waiting, so that a page can be printed the moment it is open.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from keyheat.analysis.report.bins import WIDTHS_S, Floats, joined_up

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
    titles: Mapping[str, str] = field(default_factory=dict)  # what people call what a column is of

    @property
    def rows(self) -> int:
        return max((len(column) for column in self.columns.values()), default=0)

    def in_steps_of(self, width_s: float) -> "Sheet":
        """The same in longer steps; `width_s` is a multiple of `step_s`. What is finer already is shorter."""
        if self.step_s is None or width_s <= self.step_s:
            return self
        each = round(width_s / self.step_s)
        joined = {
            name: joined_up(np.asarray(column, np.float64), each) for name, column in self.columns.items()
        }
        return replace(self, columns=joined, step_s=self.step_s * each)

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


FEW = 600
"""So few values stand as they are: people can read them, and there is nothing to be won."""
BUDGET_BYTES = 2_600_000
"""What all columns together may take of a page, beside the 0.7 MB of the library that draws."""
DIGITS = 4
SMALLEST_POWER = -12
"""Of ten: no rate or share that anybody measures is smaller, and it is zero where one is."""


def packed(sheets: Mapping[str, Sheet], budget_bytes: int = BUDGET_BYTES) -> dict[str, Any]:
    """Sheets by the id of their chart, and every column once; in longer steps where it would be too much."""
    finest = min((sheet.step_s for sheet in sheets.values() if sheet.step_s is not None), default=1)
    for width_s in (0, *(width * finest for width in WIDTHS_S[1:])):
        store = _Store()
        found = {id_: _sheet(sheet.in_steps_of(width_s), store) for id_, sheet in sheets.items()}
        if store.size_bytes <= budget_bytes:
            break
    return {"sheets": found, "columns": store.columns}


class _Store:
    """Columns, each of them once, however many charts show it."""

    def __init__(self) -> None:
        self.columns: list[Any] = []
        self.size_bytes = 0
        self._places: dict[object, int] = {}

    def keep(self, column: SheetColumn) -> int:
        """The place of a column."""
        content, key = encoded(column)
        if key not in self._places:
            self._places[key] = len(self.columns)
            self.columns.append(content)
            self.size_bytes += len(str(content))
        return self._places[key]


def _sheet(sheet: Sheet, store: _Store) -> dict[str, Any]:
    said: dict[str, Any] = {
        "name": sheet.name,
        "columns": [[name, store.keep(column)] for name, column in sheet.columns.items()],
    }
    if sheet.step_s is not None:
        said |= {"start_s": sheet.start_s, "step_s": sheet.step_s, "end_s": sheet.end_s, "rows": sheet.rows}
    if sheet.moments:
        said["moments"] = sorted(sheet.moments)
    return said


def encoded(column: SheetColumn) -> tuple[Any, object]:
    """A column as JSON has it, and what tells whether another one is the same."""
    if len(column) and isinstance(column[0], str):
        return _words(column)
    values = np.asarray(column, np.float64)
    unit = _unit(values)
    whole = np.round(np.nan_to_num(values, nan=0.0) / unit).astype(np.int64)
    known = np.isfinite(values)
    if len(values) <= FEW:
        digits = max(0, -round(log10(unit)))
        plain = [
            None if not there else int(value) if value == int(value) else round(value, digits)
            for value, there in zip((whole * unit).tolist(), known.tolist(), strict=True)
        ]
        return plain, tuple(plain)
    gaps = _gaps(known)
    text = b64encode(_bytes(_held(whole, known))).decode("ascii")
    return {"unit": unit, "rows": len(values), "gaps": gaps, "packed": text}, (text, unit, str(gaps))


def _words(column: SheetColumn) -> tuple[Any, object]:
    """Words as they are; of many, each once, and by its place."""
    words = [str(word) for word in column]
    if len(words) <= FEW:
        return words, tuple(words)
    different = sorted(set(words))
    places = {word: place for place, word in enumerate(different)}
    text = b64encode(_bytes(np.array([places[word] for word in words], np.int64))).decode("ascii")
    content = {"unit": 1, "rows": len(words), "gaps": [], "packed": text, "words": different}
    return content, (text, *different)


def _unit(values: Floats) -> float:
    """A power of ten that keeps four digits of the highest value, and whole numbers whole."""
    highest = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 0.0
    known = values[np.isfinite(values)]
    if not highest or (known == np.round(known)).all():
        return 1.0
    return float(10.0 ** min(0, max(SMALLEST_POWER, floor(log10(highest)) + 1 - DIGITS)))


def _gaps(known: npt.NDArray[np.bool_]) -> list[list[int]]:
    """[first, how many] of the values in a row that are unknown."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], known, [True]]).astype(np.int8)))
    return [[int(first), int(past - first)] for first, past in zip(edges[::2], edges[1::2], strict=True)]


def _held(whole: npt.NDArray[np.int64], known: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The last known value in place of the unknown ones, which costs nothing."""
    places = np.maximum.accumulate(np.where(known, np.arange(len(whole)), 0))
    return whole[places]


def _bytes(whole: npt.NDArray[np.int64]) -> bytes:
    """Differences as bytes; runs of zeros as a zero and their length."""
    steps = np.diff(whole, prepend=0)
    same = steps == 0
    begins = np.flatnonzero(same & ~np.concatenate([[False], same[:-1]]))
    ends = np.flatnonzero(same & ~np.concatenate([same[1:], [False]]))
    numbers = (steps << 1) ^ (steps >> 63)
    keep = ~same
    keep[begins] = True
    after = np.flatnonzero(keep)
    with_lengths = np.insert(numbers[after], np.searchsorted(after, begins) + 1, ends - begins)
    return _sevens(with_lengths.astype(np.uint64))


def _sevens(numbers: npt.NDArray[np.uint64]) -> bytes:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    lengths = np.ones(len(numbers), np.int64)
    for bits in range(7, 64, 7):
        lengths += numbers >= np.uint64(1 << bits)
    starts = np.cumsum(lengths) - lengths
    found = np.zeros(int(lengths.sum()), np.uint8)
    for place in range(int(lengths.max(initial=0))):
        has = lengths > place
        part = (numbers[has] >> np.uint64(7 * place)) & np.uint64(0x7F)
        more = np.where(lengths[has] > place + 1, 0x80, 0)
        found[starts[has] + place] = part.astype(np.uint8) | more.astype(np.uint8)
    return found.tobytes()
