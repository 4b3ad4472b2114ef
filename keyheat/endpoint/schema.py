"""What a table looks like to a request: its key attributes and its indexes."""

from dataclasses import dataclass
from typing import Literal

KeyType = Literal["S", "N", "B"]
Projection = Literal["ALL", "KEYS_ONLY", "INCLUDE"]


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """A key attribute's name and its one allowed type."""

    name: str
    type: KeyType


@dataclass(frozen=True, slots=True)
class KeySchema:
    """The partition key and, where there is one, the sort key."""

    partition: KeyAttribute
    sort: KeyAttribute | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSchema:
    """A secondary index: local ones share the table's partition key, partitions and capacity."""

    name: str
    keys: KeySchema
    projection: Projection
    include: frozenset[str] = frozenset()
    local: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """The keys of a table and of all its indexes."""

    name: str
    keys: KeySchema
    indexes: tuple[IndexSchema, ...] = ()
