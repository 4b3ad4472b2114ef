"""Every throttled attempt, one row each, in columns: a million of them take about 50 MB.

Words that repeat (reasons, operations, index names) are kept once and rows hold their number; of a partition
key only 64 bits of its SHA-256 are kept.
"""

from array import array
from typing import Any

import numpy as np
import pyarrow as pa

from keyheat.parquet import THROTTLES_SCHEMA

NUMBERS = {"at": "q", "key": "Q", "units": "d", "late_us": "q", "service_us": "q"}
WORDS = ("index", "direction", "reason", "operation")


class ThrottleRows:
    """Rows of throttled attempts. `add` appends one; `merge` appends another's."""

    __slots__ = ("_number_of", "columns", "words")

    def __init__(self) -> None:
        self.columns: dict[str, array[Any]] = {
            name: array(NUMBERS.get(name, "H")) for name in (*NUMBERS, *WORDS)
        }
        self.words: list[str | None] = []
        self._number_of: dict[str | None, int] = {}

    def __len__(self) -> int:
        return len(self.columns["at"])

    def add(
        self,
        *,
        at_us: int,
        key: int,
        units: float,
        late_us: int,
        service_us: int,
        index: str | None,
        direction: str,
        reason: str | None,
        operation: str,
    ) -> None:
        """Append one row; times are epoch and plain microseconds, `key` the number of the key's digest."""
        columns = self.columns
        columns["at"].append(at_us)
        columns["key"].append(key)
        columns["units"].append(units)
        columns["late_us"].append(late_us)
        columns["service_us"].append(service_us)
        columns["index"].append(self._number(index))
        columns["direction"].append(self._number(direction))
        columns["reason"].append(self._number(reason))
        columns["operation"].append(self._number(operation))

    def _number(self, word: str | None) -> int:
        number = self._number_of.get(word)
        if number is None:
            number = self._number_of[word] = len(self.words)
            self.words.append(word)
        return number

    def merge(self, other: "ThrottleRows") -> None:
        """Append all rows of another one."""
        numbers = np.array([self._number(word) for word in other.words], dtype=np.uint16)
        for name, column in other.columns.items():
            if name in WORDS:
                renumbered = numbers[np.frombuffer(column, dtype=np.uint16)] if len(column) else numbers[:0]
                self.columns[name].frombytes(renumbered.tobytes())
            else:
                self.columns[name].extend(column)

    def by_reason(self) -> dict[str, int]:
        """How many rows there are for each of DynamoDB's reasons; `unstated` where it gave none."""
        counts = np.bincount(
            np.frombuffer(self.columns["reason"], dtype=np.uint16), minlength=len(self.words)
        )
        named = zip(self.words, counts.tolist(), strict=True)
        return {word or "unstated": count for word, count in named if count}

    def to_wire(self) -> dict[str, Any]:
        """Plain values, as they travel from a worker to the master."""
        return {"words": self.words, **{name: column.tobytes() for name, column in self.columns.items()}}

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "ThrottleRows":
        """What `to_wire` made."""
        rows = cls()
        for word in wire["words"]:
            rows._number(word)
        for name, column in rows.columns.items():
            column.frombytes(wire[name])
        return rows

    def table(self) -> pa.Table:
        """The rows as they stand in `throttles.parquet`, in the order in which they were sent."""
        order = np.argsort(np.frombuffer(self.columns["at"], dtype=np.int64), kind="stable")
        return pa.table({field.name: self._column(field, order) for field in THROTTLES_SCHEMA})

    def _column(self, field: pa.Field, order: np.ndarray[Any, Any]) -> pa.Array:
        if field.name == "count":
            return pa.repeat(pa.scalar(1, field.type), len(order))
        column = self.columns[field.name]
        values = np.frombuffer(column, dtype=column.typecode)[order]
        if field.name == "key":
            shown, places = np.unique(values, return_inverse=True)
            names = pa.array([f"sha256:{int(digest):016x}" for digest in shown], pa.string())
            return names.take(pa.array(places))
        if field.name in WORDS:
            return pa.array(self.words, pa.string()).take(pa.array(values))
        return pa.array(values).cast(field.type)
