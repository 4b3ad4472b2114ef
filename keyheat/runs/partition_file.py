"""`partitions.parquet`: what each partition served and refused, as rows, from the record of the model.

Every partition has a row of nothing in the step in which it came to be, so that one that was never asked for
anything is there too. Where there are too many rows, steps are joined until there are few enough.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from keyheat.model.partition_log import NOTHING, Born, Counts
from keyheat.runfiles import PARTITIONS_SCHEMA

MOST_ROWS: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The partitions of the table (`index` is None) or of an index, as the model's record has them."""

    index: str | None
    step_s: int
    born: Sequence[Born]
    rows: Sequence[tuple[int, int, Counts]]  # second in which a step begins, number, counts

    @classmethod
    def of_plain(cls, index: str | None, said: Mapping[str, Any]) -> "Known":
        """One of `TableModel.partition_record`; else raises `KeyError`, `TypeError` or `ValueError`."""
        return cls(
            index=index,
            step_s=int(said["step_s"]),
            born=tuple(Born(*one) for one in said["born"]),
            rows=tuple((int(row[0]), int(row[1]), _counts(row[2:])) for row in said["rows"]),
        )


def known_of(said: Iterable[Mapping[str, Any]]) -> tuple[Known, ...]:
    """What a model said, read again. Raises `KeyError`, `TypeError` or `ValueError` where it is not."""
    return tuple(Known.of_plain(one["index"], one) for one in said)


def partitions_table(
    resources: Sequence[Known], start_s: float, end_s: float, *, most: int = MOST_ROWS
) -> pa.Table:
    """The rows from `start_s` to `end_s`, epoch seconds; at most `most` and one for each partition."""
    step_s = max((one.step_s for one in resources), default=1)
    while True:
        cells = [(one, _cells(one, step_s, start_s, end_s)) for one in resources]
        if sum(len(found) for _, found in cells) <= most or step_s > end_s - start_s:
            break
        step_s *= 2
    rows = [row for one, found in cells for row in _rows(one, found, step_s, int(start_s))]
    columns = zip(*rows, strict=True) if rows else [()] * len(PARTITIONS_SCHEMA)
    arrays = [
        pa.array(column, pa.int64() if pa.types.is_timestamp(field.type) else field.type).cast(field.type)
        for field, column in zip(PARTITIONS_SCHEMA, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=PARTITIONS_SCHEMA)


def _cells(one: Known, step_s: int, start_s: float, end_s: float) -> dict[tuple[int, int], Counts]:
    """Counts by partition and beginning of the step, in order."""
    merged: dict[tuple[int, int], Counts] = {}
    for second, number, counts in one.rows:
        if second + one.step_s > start_s and second < end_s:
            place = (number, second // step_s * step_s)
            a, b, c, d = merged.get(place, NOTHING)
            merged[place] = (a + counts[0], b + counts[1], c + counts[2], d + counts[3])
    return dict(sorted(merged.items()))


def _rows(
    one: Known, cells: Mapping[tuple[int, int], Counts], step_s: int, start_s: int
) -> Iterator[tuple[Any, ...]]:
    """Rows as the schema has them; refusals, which are means where they were simulated, as whole numbers."""
    there = {(number, max(start_s, int(born.since_s)) // step_s * step_s): NOTHING
             for number, born in enumerate(one.born)}  # fmt: skip
    refused = [(0.0, 0.0)] * len(one.born)
    for (number, second), counts in sorted({**there, **cells}.items()):
        born, (reads, writes) = one.born[number], refused[number]
        refused[number] = (reads + counts[2], writes + counts[3])
        yield (
            second, step_s, one.index, number, born.parent, int(born.since_s), born.from_share,
            counts[0], counts[1],
            round(refused[number][0]) - round(reads), round(refused[number][1]) - round(writes),
        )  # fmt: skip


def _counts(values: Sequence[float]) -> Counts:
    a, b, c, d = map(float, values)
    return a, b, c, d
