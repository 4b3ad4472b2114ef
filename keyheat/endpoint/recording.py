"""What clients asked of each table, key by key: what a test asks afterwards of the code that it ran.

Kept by the name of the table, so that it outlives a table that the test deletes. Off unless the endpoint is
started with `--record`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from keyheat.endpoint.itemkeys import key_texts
from keyheat.endpoint.itemstore import Shelf
from keyheat.endpoint.schema import KeySchema
from keyheat.endpoint.tables.catalog import Table
from keyheat.model.resources import Refusal
from keyheat.model.splits import collection_of
from keyheat.model.table import TableModel
from keyheat.model.transactions import IndexWrite, Op
from keyheat.words import Direction

MOST_KEYS = 100_000
"""Partition keys told apart in one kind of request; those that come later are one together."""
OTHERS = b""

Kind = tuple[Direction, str | None, bool, bool]
"""Direction, the index (None: the table), whether a read is eventually consistent, and whether it is an entry
that a write put into the index, admitted or not."""


@dataclass(slots=True)
class PartitionKeyUse:
    """What was asked of one partition key: requests, their units, and how many were refused, by reason."""

    requests: int = 0
    units: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Recording:
    """Everything that was asked of the tables of one name. Keys are the hashes of their positions."""

    uses: dict[Kind, dict[bytes, PartitionKeyUse]] = field(default_factory=dict)

    def add(self, kind: Kind, position: bytes, units: float, refusal: Refusal | None) -> None:
        """One request for one item, or for one page of items."""
        use = _use(self.uses.setdefault(kind, {}), position)
        use.requests += 1
        use.units += units
        if refusal is not None:
            use.refused[refusal.reason] = use.refused.get(refusal.reason, 0) + 1

    def add_write(
        self, position: bytes, units: float, refusal: Refusal | None, entries: Sequence[IndexWrite]
    ) -> None:
        """One write, with its entries in the global indexes."""
        self.add((Direction.WRITE, None, False, False), position, units, refusal)
        for entry in entries:
            self.add((Direction.WRITE, entry.index, False, True), entry.position, entry.units, None)

    def rows(self, table: Table | None) -> Iterator[dict[str, Any]]:
        """One row per kind of request and key, as JSON; a key's `name` is null where no item has it now."""
        for (direction, index, eventual, entry), by_key in self.uses.items():
            about = {"direction": direction.value, "index": index, "eventual": eventual, "entry": entry}
            yield from _key_rows(about, by_key, table)


class RecordingModel(TableModel):
    """A table's model that writes down what it is asked, in the `recording` that it is given once made."""

    __slots__ = ("recording",)

    recording: Recording

    def admit_read(
        self, position: bytes, units: float, now_s: float, *,
        index: str | None = None, eventual: bool = False, connection: int | None = None,
    ) -> Refusal | None:  # fmt: skip
        refusal = super().admit_read(
            position, units, now_s, index=index, eventual=eventual, connection=connection
        )
        self.recording.add((Direction.READ, index, eventual, False), position, units, refusal)
        return refusal

    def admit_write(
        self, position: bytes, units: float, now_s: float, index_writes: Sequence[IndexWrite] = (), *,
        connection: int | None = None,
    ) -> Refusal | None:  # fmt: skip
        refusal = super().admit_write(position, units, now_s, index_writes, connection=connection)
        self.recording.add_write(position, units, refusal, index_writes)
        return refusal

    def admit_together(
        self, ops: Sequence[Op], now_s: float, *, connection: int | None = None
    ) -> list[Refusal | None]:
        answers = super().admit_together(ops, now_s, connection=connection)
        for op, refusal in zip(ops, answers, strict=True):
            if op.direction is Direction.READ:
                self.recording.add(
                    (Direction.READ, op.index, op.eventual, False), op.position, op.units, refusal
                )
            else:
                self.recording.add_write(op.position, op.units, refusal, op.index_writes)
        return answers


def _use(uses: dict[bytes, PartitionKeyUse], position: bytes) -> PartitionKeyUse:
    key = collection_of(position)
    if key not in uses and len(uses) >= MOST_KEYS:
        key = OTHERS
    return uses.setdefault(key, PartitionKeyUse())


def _key_rows(
    about: dict[str, Any], uses: dict[bytes, PartitionKeyUse], table: Table | None
) -> Iterator[dict[str, Any]]:
    keys, shelf = _shelf(table, about["index"])
    for key, use in uses.items():
        yield {
            **about,
            "key": key.hex(),
            "name": None if shelf is None or keys is None else _name(keys, shelf, key),
            "requests": use.requests,
            "units": use.units,
            "refused": use.refused,
        }


def _shelf(table: Table | None, index: str | None) -> tuple[KeySchema | None, Shelf | None]:
    """The items of the table, or the entries of an index; none where they are gone."""
    if table is None:
        return None, None
    if index is None:
        return table.schema.keys, table.items.items
    schema = next((index_schema for index_schema in table.schema.indexes if index_schema.name == index), None)
    return (None, None) if schema is None else (schema.keys, table.items.index(index))


def _name(keys: KeySchema, shelf: Shelf, key: bytes) -> str | None:
    """The partition key that the hash stands for, as the first item that is there says."""
    if key == OTHERS:
        return None
    stored = next(iter(shelf.between(key, key + b"\xff" * 8)), None)
    return None if stored is None else ", ".join(key_texts(keys, stored)[: len(keys.partitions)])
