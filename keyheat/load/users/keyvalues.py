"""Key attributes as they go to the table. Load tests draw keys as text; a table may want another type.

    type   a partition key              a sort key
    S      the text                     the text
    B      the text's UTF-8 bytes       the text's UTF-8 bytes, which are in the same order
    N      38 digits of its SHA-256     its digits, if it is a number or what `next_sort_key` made

Two texts have the same 38 digits about as likely as two random numbers below 4 * 10**37 are equal: among a
billion keys with a probability of about one in 10**20. On a table of somebody else's, partition keys begin
with the run's own prefix (the digits are those of the prefix and the text): no item of theirs is touched.
Sort keys have no prefix, they keep their order.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from keyheat.model.units import binary_bytes, number_bytes, text_bytes
from keyheat.scenario.spec.tables import KeyType, TableSpec

LEAST, ABOVE = 10**37, 10**38  # numbers of 38 digits: as many as DynamoDB keeps
IN_TIME = re.compile(r"(\d{13})-(\d{7,10})-(\d{6,10})", re.ASCII)  # `TableUser.next_sort_key`
DIGITS = re.compile(r"\d{1,38}", re.ASCII)
WEIGHTS = {"S": text_bytes, "N": number_bytes, "B": binary_bytes}

Value = dict[str, str]
"""An attribute's value in DynamoDB's wire form, such as `{"S": "x"}`."""


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """How the values of one key attribute are written."""

    kind: KeyType = "S"
    prefix: str = ""
    ordered: bool = False  # a sort key: what comes later in text comes later in the table

    @property
    def plain(self) -> bool:
        """Whether it is the text itself."""
        return self.kind == "S" and not self.prefix

    def text(self, value: str) -> str:
        """The value as it stands in a request: a number's digits, or base64 of bytes."""
        if self.kind == "S":
            return self.prefix + value
        if self.kind == "B":
            return b64encode((self.prefix + value).encode()).decode()
        return _digits_in_order(value) if self.ordered else _digest_digits(self.prefix + value)

    def weighed(self, value: str) -> tuple[str, int]:
        """The value as it stands in a request, and its bytes in an item."""
        text = self.text(value)
        return text, WEIGHTS[self.kind](text)


TEXT = KeyAttribute()


@dataclass(frozen=True, slots=True)
class KeyValues:
    """The key attributes of a table and of its indexes."""

    partition_key: str
    sort_key: str | None
    attributes: Mapping[str, KeyAttribute]

    @classmethod
    def of_table(cls, table: TableSpec, prefix: str = "") -> "KeyValues":
        """`prefix`: what partition keys of the table and its indexes begin with, on somebody else's table.

        An attribute has one value, wherever it is a key: a sort key of the table stays one in an index.
        """
        heads = {index.partition_key for index in table.indexes} - {table.sort_key} | {table.partition_key}
        return cls(
            table.partition_key,
            table.sort_key,
            {
                name: KeyAttribute(kind, prefix) if name in heads else KeyAttribute(kind, ordered=True)
                for name, kind in table.key_types().items()
            },
        )

    @property
    def plain(self) -> bool:
        """Whether every key is the text itself."""
        return all(one.plain for one in self.attributes.values())

    def attribute(self, name: str) -> KeyAttribute:
        """How an attribute is written; one that is no key is text."""
        return self.attributes.get(name, TEXT)

    def of(self, name: str, value: str) -> Value:
        """The value of an attribute as a request states it."""
        one = self.attribute(name)
        return {one.kind: one.text(value)}

    def key(self, key: str, sort_key: str | None) -> dict[str, Value]:
        """An item's keys as a request names them; `sort_key` is left out where the table has none."""
        named = {self.partition_key: self.of(self.partition_key, key)}
        if self.sort_key is not None:
            assert sort_key is not None, "the table has sort keys"
            named[self.sort_key] = self.of(self.sort_key, sort_key)
        return named

    def name(self, key: str) -> str:
        """A partition key as the table knows it."""
        return self.attribute(self.partition_key).text(key)


PLAIN = KeyValues("", None, {})
"""Of whatever table: all keys are text."""


def _digest_digits(text: str) -> str:
    """38 digits of which the last one is odd, so that every such number weighs the same."""
    number = int.from_bytes(sha256(text.encode()).digest()[:16], "big")
    return str(LEAST + number % (ABOVE - LEAST) | 1)


def _digits_in_order(value: str) -> str:
    """Digits in the order of what `next_sort_key` made, or of numbers; of other text those of its digest."""
    if in_time := IN_TIME.fullmatch(value):
        at_ms, user, written = in_time.groups()
        return f"{at_ms}{user:0>10}{written:0>10}"
    return str(int(value)) if DIGITS.fullmatch(value) else _digest_digits(value)
