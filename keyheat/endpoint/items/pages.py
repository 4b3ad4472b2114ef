"""One page of a Query or a Scan: the records looked at, and how it is answered.

A page ends at the limit or before 1 MB, counted over what was looked at, before any filter.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.schema import IndexSchema, KeyAttribute, KeySchema
from keyheat.endpoint.store.itemkeys import NOT_THE_SCHEMA, attributes, key_of
from keyheat.endpoint.store.shelf import SIZE_BYTES, Shelf, size_of
from keyheat.endpoint.store.values import Item
from keyheat.model.limits import PAGE_BYTES

STARTING_KEY = "The provided starting key is invalid"


@dataclass(frozen=True, slots=True)
class Page:
    """Records in order, their size together, and whether there may be more after them."""

    records: list[bytes]
    total_bytes: int
    first: bytes | None
    more: bool


def read_page(shelf: Shelf, keys: Iterable[bytes], limit: int | None) -> Page:
    """Look at records until the limit or 1 MB is reached."""
    records: list[bytes] = []
    total, first = 0, None
    for key in keys:
        record = shelf[key]
        size = size_of(record)
        if total + size > PAGE_BYTES and records:
            return Page(records, total, first, True)
        if first is None:
            first = key
        records.append(record)
        total += size
        if len(records) == limit:
            return Page(records, total, first, True)
    return Page(records, total, first, False)


def joined(records: Sequence[bytes]) -> bytes:
    """The JSON list of items, without a look inside them."""
    return b"[" + b",".join([record[SIZE_BYTES:] for record in records]) + b"]"


def start_attributes(keys: KeySchema, index: IndexSchema | None) -> dict[str, KeyAttribute]:
    """The attributes that say where a page ended: the table's keys, and the index's."""
    named = attributes(keys) + (() if index is None else attributes(index.keys))
    return {attribute.name: attribute for attribute in named}


def last_evaluated(record: bytes, keys: KeySchema, index: IndexSchema | None) -> bytes:
    """LastEvaluatedKey as JSON."""
    item = orjson.loads(record[SIZE_BYTES:])
    return orjson.dumps({name: item[name] for name in start_attributes(keys, index)})


def starting_key(given: Item, keys: KeySchema, index: IndexSchema | None) -> bytes:
    """The stored key that a page goes on after. Raises ValidationException for a key of another schema."""
    wanted = start_attributes(keys, index)
    if given.keys() != wanted.keys():
        raise validation_error(STARTING_KEY if index else f"{STARTING_KEY}: {NOT_THE_SCHEMA}")
    for name, attribute in wanted.items():
        if not given[name].get(attribute.type):
            raise validation_error(f"{STARTING_KEY}: {NOT_THE_SCHEMA}")
    primary = key_of(keys, given)[0]
    return primary if index is None else key_of(index.keys, given)[0] + primary
