"""Stored keys cut to what a rule counts by, and shown as a person would write them."""

from base64 import b64encode
from decimal import Decimal

from keyheat.endpoint.schema import KeySchema, KeyType
from keyheat.endpoint.store.numbers import written
from keyheat.model.keyspace import HASH_BYTES

_LENGTH_BYTES = 2
_COMPLEMENT = bytes(255 - byte for byte in range(256))
_ZERO, _POSITIVE, _BIAS = 0x80, 0xC0, 512
_EXPONENT_END = 3  # the sign and two bytes of exponent, which may be zero


def partition_end(stored: bytes) -> int:
    """Where the partition key's part of a stored key ends."""
    start = HASH_BYTES + _LENGTH_BYTES
    return start + int.from_bytes(stored[HASH_BYTES:start], "big") + 1


def sort_end(keys: KeySchema, stored: bytes) -> int | None:
    """Where the sort key's part ends; None where there is none. An entry goes on with the table's key."""
    start = partition_end(stored)
    if keys.sort is None or len(stored) <= start:
        return None
    if keys.sort.type != "N":
        return stored.index(b"\0\x01", start) + 2
    if stored[start] == _ZERO:
        return start + 1
    end = b"\0" if stored[start] == _POSITIVE else b"\xff"
    return stored.index(end, start + _EXPONENT_END) + 1


def shown(keys: KeySchema, stored: bytes) -> list[str]:
    """The partition key and, where `stored` goes on to it, the sort key, as text; bytes as base64."""
    start, end = HASH_BYTES + _LENGTH_BYTES, partition_end(stored)
    texts = [_text(keys.partition.type, stored[start : end - 1])]
    if keys.sort is not None and len(stored) > end:
        rest = stored[end : sort_end(keys, stored)]
        unescaped = rest if keys.sort.type == "N" else rest[:-2].replace(b"\0\xff", b"\0")
        texts.append(_text(keys.sort.type, unescaped))
    return texts


def _text(kind: KeyType, raw: bytes) -> str:
    if kind == "S":
        return raw.decode()
    return b64encode(raw).decode() if kind == "B" else _number(raw)


def _number(ordered: bytes) -> str:
    """A number from the bytes that compare as numbers do: sign, exponent, pairs of digits."""
    if ordered[0] == _ZERO:
        return "0"
    positive = ordered[0] == _POSITIVE
    magnitude = ordered if positive else ordered.translate(_COMPLEMENT)
    exponent = int.from_bytes(magnitude[1:_EXPONENT_END], "big") - _BIAS
    digits = "".join(f"{pair - 1:02d}" for pair in magnitude[_EXPONENT_END:-1])
    return written(Decimal(f"{'' if positive else '-'}0.{digits}e{exponent}"))
