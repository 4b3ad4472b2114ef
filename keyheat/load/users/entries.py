"""What writes put into each global index, by the index's own keys: what a request carries tells them.

An update without the index's key changes an entry that is unknown here, and is not counted;
where too much of an index is not, none of its keys are told (`keyheat.load.run.finish`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from keyheat.load.record.attempt import Attempt
from keyheat.load.record.record import Record
from keyheat.load.transport.answer import Answer
from keyheat.load.users.outcomes import consumed
from keyheat.load.users.writes import writes_in
from keyheat.scenario.spec.attributes import combined
from keyheat.scenario.spec.tables import TableSpec

PUTS: Final = ("PutItem", "BatchWriteItem", "TransactWriteItems")


class IndexEntries:
    """Counts the entries that puts make in the global indexes of a table."""

    def __init__(self, table: TableSpec) -> None:
        self._table = table.name
        self._keyed_by = {index.name: index.partition_keys for index in table.indexes if not index.local}
        self._units: dict[str, float] = {}  # of one entry, as the last answers had it

    @classmethod
    def of(cls, table: TableSpec) -> "IndexEntries | None":
        """Those of a table; None if it has no global index."""
        return cls(table) if any(not index.local for index in table.indexes) else None

    def note(self, record: Record, attempt: Attempt, body: bytes, answer: Answer) -> None:
        """Count one answer to a request that puts items."""
        if attempt.operation not in PUTS or not (answer.accepted or answer.throttled):
            return
        items = [
            write.item
            for write in writes_in(attempt.operation, orjson.loads(body))
            if write.kind == "Put" and write.table == self._table
        ]
        keys = {
            index: [_text(item, names) for item in items if item.keys() >= set(names)]
            for index, names in self._keyed_by.items()
        }
        if answer.accepted:
            units = consumed(answer)[1]
            for index, entries in keys.items():
                if entries and units.get(index):
                    each = self._units[index] = units[index] / len(entries)
                    for key in entries:
                        record.entered(attempt, index, key, each)
            return
        for index in {reason.index for reason in answer.reasons if reason.index in keys}:
            for key in keys[index]:
                record.entered(attempt, index, key, self._units.get(index, 1.0), throttled=True)


def _text(item: Mapping[str, Any], names: Sequence[str]) -> str:
    """A key's value as the table knows it, whatever its type; of several attributes their combination."""
    return combined(str(next(iter(item[name].values()))) for name in names)
