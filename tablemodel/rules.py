"""What the fields of a scenario have to agree on, checked on the raw file beside the fields themselves.

A field that is wrong by itself is left to the field's own check: a rule speaks only of what it can read, so
that a person sees every mistake of a file at once and none of them twice.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

_KEYS_OF_KIND = {"uniform": set[str](), "hot_key": {"share"}, "date": {"day_s", "first_day"}}
_NEEDED = {"hot_key": "share", "date": "day_s"}


def broken_rules(raw: Mapping[str, Any]) -> Iterator[str]:
    """Every disagreement between fields, as `message @ $.path`."""
    table, keys = raw.get("table"), raw.get("keys")
    if isinstance(table, Mapping):
        yield from _capacity(table)
        yield from _indexes(table)
    if isinstance(keys, Mapping):
        yield from _keys(keys)


def _capacity(table: Mapping[str, Any]) -> Iterator[str]:
    mode = table.get("billing_mode", "PROVISIONED")
    owners = [("$.table", table), *((path, index) for path, index in _each_index(table) if not _local(index))]
    for path, owner in owners:
        if mode == "PROVISIONED":
            yield from _provisioned(path, owner)
        elif mode == "PAY_PER_REQUEST" and owner.get("provisioned") is not None:
            yield f"PAY_PER_REQUEST mode has no provisioned capacity @ {path}.provisioned"


def _provisioned(path: str, owner: Mapping[str, Any]) -> Iterator[str]:
    pair = owner.get("provisioned")
    if pair is None:
        yield f"PROVISIONED mode needs provisioned = {{ read = .., write = .. }} @ {path}.provisioned"
    elif isinstance(pair, Mapping):
        for side in ("read", "write"):
            if pair.get(side) is None:
                yield f"PROVISIONED mode needs it @ {path}.provisioned.{side}"
    if owner.get("max_on_demand") is not None:
        yield f"PROVISIONED mode has no on-demand maximum @ {path}.max_on_demand"


def _indexes(table: Mapping[str, Any]) -> Iterator[str]:
    seen: set[str] = set()
    for path, index in _each_index(table):
        name = index.get("name")
        if isinstance(name, str):
            if name in seen:
                yield f"another index is named {name!r} too @ {path}.name"
            seen.add(name)
        if index.get("include") and index.get("projection") != "INCLUDE":
            yield f'only projection = "INCLUDE" names attributes @ {path}.include'
        if _local(index):
            yield from _local_index(path, index, table)


def _local_index(path: str, index: Mapping[str, Any], table: Mapping[str, Any]) -> Iterator[str]:
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html"""
    if table.get("sort_key") is None:
        yield f"a local index needs a table with a sort_key @ {path}.local"
    if index.get("sort_key") is None:
        yield f"a local index needs a sort key of its own @ {path}.sort_key"
    if "partition_key" in index and index["partition_key"] != table.get("partition_key", "pk"):
        yield f"a local index has the table's partition key @ {path}.partition_key"
    for capacity in ("provisioned", "max_on_demand", "warm"):
        if index.get(capacity) is not None:
            yield f"a local index shares the table's capacity @ {path}.{capacity}"


def _keys(keys: Mapping[str, Any]) -> Iterator[str]:
    kind = keys.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS_OF_KIND:
        return
    needed = _NEEDED.get(kind)
    if needed is not None and keys.get(needed) is None:
        yield f"kind = {kind!r} needs it @ $.keys.{needed}"
    for field in ("share", "day_s", "first_day"):
        if keys.get(field) is not None and field not in _KEYS_OF_KIND[kind]:
            yield f"no meaning with kind = {kind!r} @ $.keys.{field}"
    if kind == "date" and isinstance(keys.get("first_day"), str):
        yield from _first_day(keys["first_day"])


def _first_day(text: str) -> Iterator[str]:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return
    try:
        date.fromisoformat(text)
    except ValueError as error:
        yield f"not a date, {error}, got {text!r} @ $.keys.first_day"


def _each_index(table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    indexes = table.get("indexes")
    for number, index in enumerate(indexes if isinstance(indexes, list | tuple) else ()):
        if isinstance(index, Mapping):
            yield f"$.table.indexes[{number}]", index


def _local(index: Mapping[str, Any]) -> bool:
    return index.get("local") is True
