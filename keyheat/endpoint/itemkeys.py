"""Keys as bytes in DynamoDB's order, and DynamoDB's errors for invalid keys.

A stored key is the hash of the partition key, then the partition key, then the sort key. So a store that is
ordered by it holds partitions in hash order, as a scan walks them, and each in the order of its sort key.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.schema import IndexSchema, KeySchema, KeySchemaElement, KeyType
from keyheat.endpoint.values import INVALID, Item, number_of, raw_bytes, type_of
from keyheat.model.limits import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from keyheat.model.splits import HASH_BYTES, position

NOT_THE_SCHEMA = "The provided key element does not match the schema"
EMPTY = (
    "One or more parameter values are not valid. "
    "The AttributeValue for a key attribute cannot contain an empty {kind} value. Key: {name}"
)
EMPTY_INDEX_KEY = (
    "One or more parameter values are not valid. "
    "A value specified for a secondary index key is not supported. "
    "The AttributeValue for a key attribute cannot contain an empty {kind} value. "
    "IndexName: {index}, IndexKey: {name}"
)
_ESCAPED_ZERO = b"\0\xff"
_END = b"\0\x01"
_LENGTH_BYTES = 2
WORDS = {"S": "string", "B": "binary"}

Key = tuple[bytes, bytes]
"""A stored key, unique in its table or index, and its position, which says what partition it is on."""


def sort_bytes(value: dict[str, Any], *, end: bool = True) -> bytes:
    """Bytes of a sort key that compare as the keys do and end themselves; `end=False`: of a prefix of it."""
    raw = raw_bytes(value)
    if "N" in value:
        return raw
    if b"\0" in raw:
        raw = raw.replace(b"\0", _ESCAPED_ZERO)
    return raw + _END if end else raw


def after(prefix: bytes) -> bytes:
    """The least bytes above everything that begins with `prefix`."""
    body = prefix.rstrip(b"\xff")
    return body[:-1] + bytes((body[-1] + 1,))


def partition_prefix(*partition: dict[str, Any]) -> bytes:
    """What the stored keys of one partition key begin with; it has a value for each of its attributes."""
    raw = raw_bytes(partition[0]) if len(partition) == 1 else _together(partition)
    return position(raw)[:HASH_BYTES] + len(raw).to_bytes(2, "big") + raw + b"\x01"


def key_of(keys: KeySchema, item: Item) -> Key:
    """The key of an item whose key attributes have been checked."""
    value = item[keys.partition.name]
    raw = value["S"].encode() if "S" in value else raw_bytes(value)
    sort = b"" if keys.sort is None else sort_bytes(item[keys.sort.name])
    if keys.more_partition:
        raw = _together([item[attribute.name] for attribute in keys.partitions])
    for attribute in keys.more_sort:
        sort += sort_bytes(item[attribute.name])
    at = position(raw, sort)
    return b"".join((at[:HASH_BYTES], len(raw).to_bytes(2, "big"), raw, b"\x01", sort)), at


def _together(values: Sequence[dict[str, Any]]) -> bytes:
    """The bytes of a partition key of several attributes, which are hashed together."""
    raws = [raw_bytes(value) for value in values]
    return b"".join(len(raw).to_bytes(_LENGTH_BYTES, "big") + raw for raw in raws)


def entry_key_of(index: IndexSchema, item: Item, primary: bytes) -> Key | None:
    """The key of an item's entry in an index; None where the item lacks one of the index's keys.

    Entries of equal index keys differ by the table's key, which comes last.
    """
    keys = index.keys
    if keys.partition.name not in item or (keys.sort is not None and keys.sort.name not in item):
        return None
    if any(attribute.name not in item for attribute in (*keys.more_partition, *keys.more_sort)):
        return None
    stored, at = key_of(keys, item)
    return stored + primary, at


def checked_item_key(keys: KeySchema, item: Item) -> Key:
    """The key of an item to be put. Raises ValidationException if it lacks one or has one of another type."""
    for attribute in keys.attributes:
        value = item.get(attribute.name)
        if value is None:
            raise validation_error(INVALID + f"Missing the key {attribute.name} in the item")
        if attribute.type not in value:
            raise validation_error(
                f"{INVALID}Type mismatch for key {attribute.name} "
                f"expected: {attribute.type} actual: {type_of(value)}"
            )
    return _measured(keys, item)


def checked_key(keys: KeySchema, key: Item) -> Key:
    """The key that a request names: the key attributes and nothing else. Raises ValidationException."""
    key_attributes = keys.attributes
    if len(key) != len(key_attributes):
        raise validation_error(NOT_THE_SCHEMA)
    for attribute in key_attributes:
        value = key.get(attribute.name)
        if value is None or attribute.type not in value:
            raise validation_error(NOT_THE_SCHEMA)
    return _measured(keys, key)


def check_index_keys(indexes: tuple[IndexSchema, ...], item: Item) -> None:
    """Raises ValidationException if an attribute that is the key of an index could not be one."""
    for index in indexes:
        for attribute in index.keys.attributes:
            value = item.get(attribute.name)
            if value is None:
                continue
            if attribute.type not in value:
                raise validation_error(
                    INVALID + f"Type mismatch for Index Key {attribute.name} Expected: {attribute.type} "
                    f"Actual: {type_of(value)} IndexName: {index.name}"
                )
            if not value[attribute.type]:
                kind = WORDS[attribute.type]
                raise validation_error(
                    EMPTY_INDEX_KEY.format(kind=kind, index=index.name, name=attribute.name)
                )
        _check_lengths(index.keys, item)


def _measured(keys: KeySchema, item: Item) -> Key:
    for attribute in keys.attributes:
        if not item[attribute.name][attribute.type]:
            raise validation_error(EMPTY.format(kind=WORDS[attribute.type], name=attribute.name))
    key = key_of(keys, item)
    if len(key[0]) > SORT_KEY_BYTES:
        _check_lengths(keys, item)
    return key


def _check_lengths(keys: KeySchema, item: Item) -> None:
    if _bytes_of(keys.partitions, item) > PARTITION_KEY_BYTES:
        raise validation_error(
            INVALID + f"Size of hashkey has exceeded the maximum size limit of{PARTITION_KEY_BYTES} bytes"
        )
    if _bytes_of(keys.sorts, item) > SORT_KEY_BYTES:
        raise validation_error(
            INVALID
            + f"Aggregated size of all range keys has exceeded the size limit of {SORT_KEY_BYTES} bytes"
        )


def _bytes_of(key: Sequence[KeySchemaElement], item: Item) -> int:
    return sum(len(raw_bytes(item[attribute.name])) for attribute in key if attribute.name in item)


def partition_end(stored: bytes) -> int:
    start = HASH_BYTES + _LENGTH_BYTES
    return start + int.from_bytes(stored[HASH_BYTES:start], "big") + 1


def key_texts(keys: KeySchema, stored: bytes) -> list[str]:
    """The attributes of the partition key of a stored key as text; bytes are shown as base64."""
    raw = stored[HASH_BYTES + _LENGTH_BYTES : partition_end(stored) - 1]
    raws = _apart(raw) if keys.more_partition else [raw]
    return [_text(attribute.type, raw) for attribute, raw in zip(keys.partitions, raws, strict=True)]


def _apart(together: bytes) -> list[bytes]:
    """The values of a partition key of several attributes."""
    raws, start = [], 0
    while start < len(together):
        first = start + _LENGTH_BYTES
        start = first + int.from_bytes(together[start:first], "big")
        raws.append(together[first:start])
    return raws


def _text(kind: KeyType, raw: bytes) -> str:
    if kind == "S":
        return raw.decode()
    return b64encode(raw).decode() if kind == "B" else number_of(raw)
