"""One page of a Query or a Scan: the records looked at, what is answered of them, where the next begins.

A page ends at the limit or before 1 MB, counted over what was looked at, before any filter.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.expressions.compiler import Projection
from keyheat.endpoint.expressions.parsing import PROJECTION
from keyheat.endpoint.itemkeys import NOT_THE_SCHEMA, key_of
from keyheat.endpoint.itemstore import SIZE_BYTES, Shelf, projected_names, size_of
from keyheat.endpoint.schema import IndexSchema, KeySchema, KeySchemaElement
from keyheat.endpoint.values import INVALID, Item
from keyheat.model.limits import PAGE_BYTES

STARTING_KEY = "The provided starting key is invalid"


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Records in order, their size together, and whether there may be more after them."""

    records: list[bytes]
    total_bytes: int
    first: bytes | None
    more: bool


def read_page(shelf: Shelf, keys: Iterable[bytes], limit: int | None) -> RecordPage:
    """Look at records until the limit or 1 MB is reached."""
    records: list[bytes] = []
    total, first = 0, None
    for key in keys:
        record = shelf[key]
        size = size_of(record)
        if total + size > PAGE_BYTES and records:
            return RecordPage(records, total, first, True)
        if first is None:
            first = key
        records.append(record)
        total += size
        if len(records) == limit:
            return RecordPage(records, total, first, True)
    return RecordPage(records, total, first, False)


def joined(records: Sequence[bytes]) -> bytes:
    """The JSON list of items, without a look inside them."""
    return b"[" + b",".join([record[SIZE_BYTES:] for record in records]) + b"]"


def start_attributes(keys: KeySchema, index: IndexSchema | None) -> dict[str, KeySchemaElement]:
    """The attributes that say where a page ended: the table's keys, and the index's."""
    named = keys.attributes + (() if index is None else index.keys.attributes)
    return {attribute.name: attribute for attribute in named}


def starting_key(given: Item, keys: KeySchema, index: IndexSchema | None) -> bytes:
    """The stored key that a page goes on after. Raises ValidationException for a key of another schema."""
    expected = start_attributes(keys, index)
    if given.keys() != expected.keys():
        raise validation_error(STARTING_KEY if index else f"{STARTING_KEY}: {NOT_THE_SCHEMA}")
    for name, attribute in expected.items():
        if not given[name].get(attribute.type):
            raise validation_error(f"{STARTING_KEY}: {NOT_THE_SCHEMA}")
    primary = key_of(keys, given)[0]
    return primary if index is None else key_of(index.keys, given)[0] + primary


@dataclass(frozen=True, slots=True)
class Selection:
    """What is answered; `fetches`: a local index lacks some of it, so the table is read as well."""

    count_only: bool
    projection: Projection | None
    fetches: bool


def selection_of(
    request: dict[str, Any], keys: KeySchema, index: IndexSchema | None, projection: Projection | None
) -> Selection:
    """What the request selects. Raises ValidationException for a combination that DynamoDB does not take."""
    select, by = request.get("Select"), "AttributesToGet" if request.get("AttributesToGet") else PROJECTION
    _check_select(select, index, projection, by)
    lacking = _lacking(keys, index, projection)
    if lacking and index is not None and not index.local:
        raise validation_error(
            INVALID + f"Global secondary index {index.name} does not project [{', '.join(sorted(lacking))}]"
        )
    everything = select == "ALL_ATTRIBUTES" and index is not None and index.projection != "ALL"
    return Selection(select == "COUNT", projection, bool(lacking) or everything)


def _check_select(
    select: str | None, index: IndexSchema | None, projection: Projection | None, by: str
) -> None:
    if select == "SPECIFIC_ATTRIBUTES" and projection is None:
        raise validation_error(
            "One or more parameter values were invalid: Must specify the AttributesToGet or "
            "ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if projection is not None and select not in (None, "SPECIFIC_ATTRIBUTES"):
        what = "only the Count" if select == "COUNT" else select
        raise validation_error(f"Cannot specify the {by} when choosing to get {what}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and index is None:
        raise validation_error(
            INVALID + "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )
    if select == "ALL_ATTRIBUTES" and index is not None and not index.local and index.projection != "ALL":
        raise validation_error(
            INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index "
            f"{index.name} because its projection type is not ALL"
        )


def _lacking(keys: KeySchema, index: IndexSchema | None, projection: Projection | None) -> frozenset[str]:
    """Attributes that are to be answered and that the index does not have; a filter does not see those."""
    if index is None or index.projection == "ALL":
        return frozenset()
    expected: frozenset[str] = frozenset() if projection is None else projection.names
    primary = frozenset(attribute.name for attribute in keys.attributes)
    return expected - projected_names(primary, index)
