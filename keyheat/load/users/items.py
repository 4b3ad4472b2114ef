"""Items as they are written: as many bytes as the scenario says, keys of the table's types, marks.

The JSON of an item is joined from fragments that never change and from a key, a sort key and filler that do,
which is many times cheaper than building a dictionary. Load tests draw keys as text; in the table they are:

    type   a partition key              a sort key
    S      the text                     the text
    B      the text's UTF-8 bytes       the text's UTF-8 bytes, which are in the same order
    N      38 digits of its SHA-256     its digits, if it is a number or what `next_sort_key` made

Two texts have the same 38 digits about as likely as two random numbers below 4 * 10**37 are equal: among a
billion keys with a probability of about one in 10**20.

On an existing table each item names its run, and partition keys begin with the run's own prefix (the digits
are those of prefix and text): a write meets no item but one of the run's own. Writes need no condition
therefore, which a batch cannot have. Sort keys have no prefix, they keep their order.
"""

import re
from base64 import b64encode
from bisect import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import accumulate
from random import Random
from time import time
from typing import Any

import orjson

from keyheat.model.units import binary_bytes, number_bytes, text_bytes
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.keys import AttributeSpec
from keyheat.scenario.spec.tables import KeyType, TableSpec

RUN_ATTRIBUTE, FILLER = "keyheat_run", "filler"
COUNTER = "changes"  # what updates add to
LEAST, ABOVE = 10**37, 10**38  # numbers of 38 digits: as many as DynamoDB keeps
IN_TIME = re.compile(r"(\d{13})-(\d{7,10})-(\d{6,10})", re.ASCII)  # `TableUser.next_sort_key`
DIGITS = re.compile(r"\d{1,38}", re.ASCII)
WEIGHTS = {"S": text_bytes, "N": number_bytes, "B": binary_bytes}

Value = dict[str, str]
"""An attribute's value in DynamoDB's wire form, such as `{"S": "x"}`."""


def text_of(value: Mapping[str, Any]) -> str:
    """A key's value, of whatever type it is."""
    return str(next(iter(value.values())))


@dataclass(frozen=True, slots=True)
class KeyEncoding:
    """How the values of one key attribute are written."""

    kind: KeyType = "S"
    prefix: str = ""
    ordered: bool = False  # a sort key: what comes later in text comes later in the table

    @property
    def plain(self) -> bool:
        return self.kind == "S" and not self.prefix

    def text(self, value: str) -> str:
        """The value as it stands in a request: a number's digits, or base64 of bytes."""
        if self.kind == "S":
            return self.prefix + value
        if self.kind == "B":
            return b64encode((self.prefix + value).encode()).decode()
        # In the order of what `next_sort_key` made, or of numbers; of other text the digits of its digest.
        if self.ordered and (in_time := IN_TIME.fullmatch(value)):
            at_ms, user, written = in_time.groups()
            return f"{at_ms}{user:0>10}{written:0>10}"
        if self.ordered and DIGITS.fullmatch(value):
            return str(int(value))
        return _digest_digits(value if self.ordered else self.prefix + value)

    def weighed(self, value: str) -> tuple[str, int]:
        """The value as it stands in a request, and its bytes in an item."""
        text = self.text(value)
        return text, WEIGHTS[self.kind](text)


TEXT = KeyEncoding()


@dataclass(frozen=True, slots=True)
class KeyValues:
    """The key attributes of a table and of its indexes."""

    partition_key: str
    sort_key: str | None
    attributes: Mapping[str, KeyEncoding]

    @classmethod
    def of_table(cls, table: TableSpec, prefix: str = "") -> "KeyValues":
        """`prefix`: of the partition keys of the table and its indexes, on an existing table.

        An attribute has one value, wherever it is a key: a sort key of the table stays one in an index.
        """
        heads = {index.partition_key for index in table.indexes} - {table.sort_key} | {table.partition_key}
        return cls(
            table.partition_key,
            table.sort_key,
            {
                name: KeyEncoding(kind, prefix) if name in heads else KeyEncoding(kind, ordered=True)
                for name, kind in table.key_types().items()
            },
        )

    @property
    def plain(self) -> bool:
        return all(encoding.plain for encoding in self.attributes.values())

    def attribute(self, name: str) -> KeyEncoding:
        """Return how an attribute is written; one that is no key is text."""
        return self.attributes.get(name, TEXT)

    def of(self, name: str, value: str) -> Value:
        """The value of an attribute as a request states it."""
        encoding = self.attribute(name)
        return {encoding.kind: encoding.text(value)}

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


PLAIN = KeyValues("", None, {})  # of whatever table: all keys are text


def _digest_digits(text: str) -> str:
    """38 digits of which the last one is odd, so that every such number weighs the same."""
    number = int.from_bytes(sha256(text.encode()).digest()[:16], "big")
    return str(LEAST + number % (ABOVE - LEAST) | 1)


def prefix_of(run_id: str) -> str:
    """Return what the partition keys of a run begin with, on a table that no run of ours created."""
    return f"keyheat-{run_id}-"


def marked(update: Mapping[str, Any], run_id: str | None) -> dict[str, Any]:
    """An UpdateItem that marks the item as the run's as well; as it is where `run_id` is None."""
    if run_id is None:
        return dict(update)
    expression, names = update["UpdateExpression"], update.get("ExpressionAttributeNames", {})
    mark = "SET #keyheat_run = :keyheat_run"
    rest = f", {expression[4:]}" if expression.startswith("SET ") else f" {expression}"
    return {
        **update,
        "UpdateExpression": mark + rest,
        "ExpressionAttributeNames": {**names, "#keyheat_run": RUN_ATTRIBUTE},
        "ExpressionAttributeValues": {**update["ExpressionAttributeValues"], ":keyheat_run": {"S": run_id}},
    }


Attributes = Mapping[str, str | float | None]
"""Attributes that a load test chooses; None: the item has none of that name (a sparse index)."""
NONE: Attributes = {}
Part = tuple[bytes, int]
"""An attribute as it stands in the JSON of an item, and its bytes."""
Clock = Callable[[], float]


class AttributeValues:
    """One attribute that a scenario describes: its values, made ready once, or what they follow from."""

    def __init__(self, spec: AttributeSpec, to_part: Callable[[str], Part]) -> None:
        shares = spec.shares or {}
        self._spec, self._to_part = spec, to_part
        self._texts, self._parts = tuple(shares), tuple(map(to_part, shares))
        weights = list(shares.values())  # nothing is accumulated where all values are had equally often
        self._until = () if len(set(weights)) <= 1 else tuple(accumulate(weights))

    def draw(self, rng: Random, key: str, sort_key: str, now_s: Clock) -> Part:
        if self._parts:
            return self._parts[self._number(rng)]
        return self._to_part(self.draw_text(rng, key, sort_key, now_s))

    def draw_text(self, rng: Random, key: str, sort_key: str, now_s: Clock) -> str:
        """A value as items have it, such as one to ask an index for."""
        if self._texts:
            return self._texts[self._number(rng)]
        shard = rng.randrange(self._spec.shards) if self._spec.shards > 1 else 0
        return self._following(key, sort_key, now_s, shard)

    def greatest_bytes(self, key: str, sort_key: str) -> int:
        """The bytes of the largest value, of an item with these keys."""
        if self._parts:
            return max(size for _, size in self._parts)
        last = self._spec.shards - 1  # which has the longest name
        return self._to_part(self._following(key, sort_key, lambda: 0.0, last))[1]

    def _number(self, rng: Random) -> int:
        if not self._until:
            return rng.randrange(len(self._texts))
        return min(bisect(self._until, rng.random() * self._until[-1]), len(self._texts) - 1)

    def _following(self, key: str, sort_key: str, now_s: Clock, shard: int) -> str:
        if self._spec.timestamp is not None:
            return self._spec.at(now_s(), shard)
        return key if self._spec.copy_of == "partition_key" else sort_key


class ItemTooSmall(ValueError):
    """The item's size has no room for its own keys."""


class ItemTemplate:
    """Makes the items of one scenario, and the bodies of PutItem.

    `run_id`: on an existing table, the run that prefixes keys and that every item names.
    """

    def __init__(self, scenario: Scenario, run_id: str | None = None, *, now_s: Clock = time) -> None:
        table = scenario.table
        self.run_id = run_id
        self.values = KeyValues.of_table(table, prefix_of(run_id) if run_id else "")
        self._plain = self.values.plain
        self._partition = self.values.attribute(table.partition_key)
        self._sort = self.values.attribute(table.sort_key or "")
        self._now_s = now_s
        self._values = {
            name: AttributeValues(spec, partial(self._part, name))
            for name, spec in scenario.attribute_values.items()
        }
        self._size = scenario.load.item_size()
        self._fixed_bytes = self._size.least if self._size.least == self._size.most else None
        keys = [name for name in (table.partition_key, table.sort_key) if name]
        self._names_bytes = sum(text_bytes(name) for name in (*keys, FILLER))
        self._filler = b"x" * self._size.most
        self._filler_head = b'},"filler":{"S":"'
        if run_id is not None:
            mark = b'},"%b":{"S":"%b"' % (RUN_ATTRIBUTE.encode(), run_id.encode())
            self._filler_head = mark + self._filler_head
            self._names_bytes += text_bytes(RUN_ATTRIBUTE) + text_bytes(run_id)
        self._head = b'{%b:{"%b":' % (orjson.dumps(table.partition_key), self._partition.kind.encode())
        capacity = b"INDEXES" if table.indexes else b"TOTAL"
        self._put_head = b'{"TableName":%b,"ReturnConsumedCapacity":"%b","Item":%b' % (
            orjson.dumps(table.name), capacity, self._head,
        )  # fmt: skip
        self._sort_head = b""
        if table.sort_key:
            self._sort_head = b'},%b:{"%b":' % (orjson.dumps(table.sort_key), self._sort.kind.encode())

    def draw_size(self, rng: Random) -> int:
        return self._fixed_bytes or self._size.draw(rng)

    def draw_value(self, name: str, key: str, rng: Random) -> str:
        """A value that items have of an attribute, such as one that an index is keyed by."""
        return self._values[name].draw_text(rng, key, key, self._now_s)

    def put(
        self, key: str, sort_key: str, rng: Random, size: int | None = None, attributes: Attributes = NONE
    ) -> bytes:
        """The body of a PutItem of an item as `item` makes it. Raises `ItemTooSmall`."""
        return self._joined(self._put_head, b'"}}}', key, sort_key, rng, size, attributes)

    def item(
        self, key: str, sort_key: str, rng: Random, size: int | None = None, attributes: Attributes = NONE
    ) -> bytes:
        """The JSON of an item of exactly `size` bytes, or of a size that is drawn.

        `sort_key` is left out where the table has none. An attribute that the scenario describes, or that an
        index is keyed by, has one of its values unless `attributes` gives it one. Raises `ItemTooSmall`.
        """
        return self._joined(self._head, b'"}}', key, sort_key, rng, size, attributes)

    def least_bytes(self, key: str, sort_key: str | None) -> int:
        """Return how many bytes an item with these keys has at least: one byte fills it."""
        used = self._used(key, sort_key or "")
        return used + sum(values.greatest_bytes(key, sort_key or "") for values in self._values.values()) + 1

    def filler(self, key: str, sort_key: str, size: int) -> str:
        """What fills an item with these keys up to a size; random attributes of indexes not counted."""
        return "x" * max(1, size - self._used(key, sort_key))

    def _used(self, key: str, sort_key: str) -> int:
        """Bytes of an item's names, keys and mark."""
        of_sort_key = self._sort.weighed(sort_key)[1] if self._sort_head else 0
        return self._names_bytes + self._partition.weighed(key)[1] + of_sort_key

    def _joined(
        self, head: bytes, tail: bytes, key: str, sort_key: str, rng: Random, size: int | None,
        attributes: Attributes,
    ) -> bytes:  # fmt: skip
        drawn = key, sort_key
        if self._plain:
            used = self._names_bytes + text_bytes(key)
        else:
            key, weight = self._partition.weighed(key)
            used = self._names_bytes + weight
        pieces = [head, orjson.dumps(key)]
        if self._sort_head:
            sort_key, weight = (
                (sort_key, text_bytes(sort_key)) if self._plain else self._sort.weighed(sort_key)
            )
            pieces += (self._sort_head, orjson.dumps(sort_key))
            used += weight
        for name, values in self._values.items():
            if name not in attributes:  # those that the load test has not chosen
                fragment, weight = values.draw(rng, *drawn, self._now_s)
                pieces.append(fragment)
                used += weight
        for name, value in attributes.items():
            if value is not None:
                fragment, weight = self._part(name, value)
                pieces.append(fragment)
                used += weight
        room = (size or self.draw_size(rng)) - used
        if room <= 0:
            raise ItemTooSmall(f"an item with the key {key!r} needs more than the item_bytes of the load")
        if room > len(self._filler):  # a trace may ask for more than the scenario's own sizes do
            self._filler = b"x" * room
        pieces += (self._filler_head, self._filler[:room], tail)
        return b"".join(pieces)

    def _part(self, name: str, value: str | float) -> Part:
        """One attribute in the JSON of an item, and its bytes; a number is of type N, or of its key's."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        text: Any = str(value) if is_number else value
        if is_number and name not in self.values.attributes:
            kind, weight = "N", number_bytes(text)
        else:
            encoding = self.values.attribute(name)
            kind = encoding.kind
            text, weight = encoding.weighed(text)
        fragment = b'},%b:{"%b":%b' % (orjson.dumps(name), kind.encode(), orjson.dumps(text))
        return fragment, text_bytes(name) + weight
