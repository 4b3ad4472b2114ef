"""The types of key attributes, and what a table and its indexes have to agree on: an attribute has one type.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

KeyType = Literal["S", "N", "B"]
IN_WORDS: dict[str, str] = {"S": "a string", "N": "a number", "B": "binary"}
KEYS = (("partition_key", "pk"), ("sort_key", None))


def broken_types(
    path: str, table: Mapping[str, Any], indexes: list[tuple[str, Mapping[str, Any]]]
) -> Iterator[str]:
    """Key attributes with two types, and types of keys that are not there, as `message @ $.path`."""
    types: dict[str, str] = {}
    for where, owner in [(path, table), *indexes]:
        for key, default in KEYS:
            name, kind = owner.get(key, default if owner is table else None), owner.get(f"{key}_type", "S")
            if kind not in IN_WORDS:
                continue  # the field's own check has said so
            if name is None:
                if kind != "S":
                    yield f"{IN_WORDS[kind]} needs a {key} that it is the type of @ {where}.{key}_type"
            elif isinstance(name, str) and types.setdefault(name, kind) != kind:
                said = f"{name!r} is {IN_WORDS[types[name]]} where it is another key"
                yield f"{said}, and {IN_WORDS[kind]} here @ {where}.{key}_type"
