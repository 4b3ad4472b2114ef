"""What the client of a simulated run saw: rows per second, throttle rows with a count, and the uses of keys.

It is small however many requests a second has, and says of them what the record of a load generator says.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from keyheat.model.resources import Refusal
from keyheat.runfiles import SECONDS_SCHEMA
from keyheat.simulator.flow import Answer, Flow
from keyheat.simulator.keyuses import KeyHistory, digest_of
from keyheat.words import Direction

ROWS_OF_KEYS = 5
"""Throttle rows of one flow, second and reason that name a key; one more stands for all other keys."""
NOTABLE_SHARE = 0.02
"""Part of the throttles from which a key gets a row of its own."""


@dataclass(slots=True)
class Rows:
    """Columns of equal length that are only appended to: floats and whole numbers packed, words numbered."""

    kinds: str
    """A letter for each column: q whole number, d float, w word or None."""
    columns: "list[array[Any]]" = field(init=False)
    words: list[str | None] = field(default_factory=list)
    _numbers: dict[str | None, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.columns = [array("H" if kind == "w" else kind) for kind in self.kinds]

    def __len__(self) -> int:
        return len(self.columns[0])

    def add(self, *values: Any) -> None:
        """Append one row."""
        for kind, column, value in zip(self.kinds, self.columns, values, strict=True):
            column.append(self._number(value) if kind == "w" else value)

    def column(self, number: int) -> list[Any]:
        """The values of one column."""
        values = self.columns[number].tolist()
        return [self.words[value] for value in values] if self.kinds[number] == "w" else values

    def _number(self, word: str | None) -> int:
        number = self._numbers.get(word)
        if number is None:
            number = self._numbers[word] = len(self.words)
            self.words.append(word)
        return number


class ClientRecord:
    """Everything that one client saw of the table that is judged, and counts of the tables beside it.

    `seconds` has the columns of `seconds.parquet`. `throttles` has, for each second: second, index,
    direction, reason, operation, key (a digest; None: one of the keys that are not hot), units of each
    attempt, and how many attempts.
    """

    __slots__ = ("beside", "keys", "seconds", "throttles")

    def __init__(self) -> None:
        self.seconds = Rows("qwwwqqqqd")
        self.throttles = Rows("qwwwwwdq")
        self.keys = {direction: KeyHistory() for direction in Direction}
        self.beside: dict[tuple[str, str], float] = {}  # (table, what): attempts, accepted, throttled, units

    def saw(self, second: int, answers: Sequence[Answer]) -> None:
        """Record one second's answers; those to somebody else's flows are left out."""
        rows: dict[tuple[str | None, str, str | None], list[float]] = {}
        for answer in answers:
            if not answer.flow.ours:
                continue
            if answer.flow.table is not None:
                self._beside(answer.flow.table, answer)
                continue
            _count(rows, answer)
            self._throttles(second, answer)
            self.keys[answer.flow.direction].add(second, answer)
        for (index, direction, operation), counts in rows.items():
            whole = [int(count) for count in counts[:4]]
            self.seconds.add(second, index, direction, operation, *whole, counts[4])

    def end(self) -> None:
        """The run is over: windows that are still open are closed."""
        for history in self.keys.values():
            history.close()

    def seconds_table(self) -> pa.Table:
        """The rows as they stand in `seconds.parquet`."""
        columns = [self.seconds.column(number) for number in range(len(SECONDS_SCHEMA))]
        return pa.table(
            [pa.array(values, kind.type) for values, kind in zip(columns, SECONDS_SCHEMA, strict=True)],
            schema=SECONDS_SCHEMA,
        )

    def _beside(self, table: str, answer: Answer) -> None:
        counts = {
            "accepted": answer.accepted,
            "throttled": answer.attempts - answer.accepted,
            f"{answer.flow.direction}_units": answer.units + sum(answer.index_units.values()),
        }
        for what, count in counts.items():
            if count:
                self.beside[table, what] = self.beside.get((table, what), 0.0) + count

    def _throttles(self, second: int, answer: Answer) -> None:
        flow = answer.flow
        for (index, cause), count in answer.refused.items():
            refusal = Refusal(index, flow.direction, cause)
            told = _told(flow, refusal)
            units = flow.units + sum(entry.units for entry in flow.index_writes)
            left = count
            uses = answer.uses
            if uses is not None:
                for name, some in uses.throttled(refusal, count, ROWS_OF_KEYS, NOTABLE_SHARE):
                    self.throttles.add(second, *told, flow.operation, digest_of(name), units, some)
                    left -= some
            if left:
                self.throttles.add(second, *told, flow.operation, None, units, left)


def _told(flow: Flow, refusal: Refusal) -> tuple[str | None, str, str | None]:
    """Index, direction and reason as the client is told them: of an item of several, nobody says why."""
    if flow.items > 1:
        return None, flow.direction.value, None
    return refusal.index, flow.direction.value, refusal.reason


def _count(rows: dict[tuple[str | None, str, str | None], list[float]], answer: Answer) -> None:
    flow = answer.flow
    throttled = answer.attempts - answer.accepted
    own = answer.units if flow.index is None else 0.0
    of_table = (None, flow.direction.value, flow.operation)
    _add(rows, of_table, answer.attempts, answer.accepted, throttled, own)
    indexes = dict(answer.index_units)
    if flow.index is not None:
        indexes[flow.index] = answer.units
    for name, units in indexes.items():
        if answer.accepted:
            _add(rows, (name, flow.direction.value, None), answer.accepted, answer.accepted, 0, units)
    for (index, cause), count in answer.refused.items():
        refuser, _direction, _reason = _told(flow, Refusal(index, flow.direction, cause))
        if refuser is not None:
            _add(rows, (refuser, flow.direction.value, None), count, 0, count, 0.0)


def _add(
    rows: dict[tuple[str | None, str, str | None], list[float]],
    row: tuple[str | None, str, str | None],
    attempts: int,
    accepted: int,
    throttled: int,
    units: float,
) -> None:
    counts = rows.setdefault(row, [0, 0, 0, 0, 0.0])
    for place, more in enumerate((attempts, accepted, throttled, 0, units)):
        counts[place] += more
