"""What the fields of a scenario have to agree on, checked on the raw file beside the fields themselves.

A field that is wrong by itself is left to the field's own check: a rule speaks only of what it can read, so
that a person sees every mistake of a file at once and none of them twice.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from keyheat.scenario.shape import broken_shape
from keyheat.scenario.sizes import broken_sizes
from keyheat.scenario.spec.attributes import broken_attributes
from keyheat.scenario.spec.client import broken_client
from keyheat.scenario.spec.keys import broken_keys, broken_replay, broken_sharding
from keyheat.scenario.spec.load import DURATION_S
from keyheat.scenario.spec.part import listed, part_of
from keyheat.scenario.spec.tables import (
    broken_key_lists,
    broken_regions,
    broken_scaling,
    broken_table_key,
    broken_timeline,
    broken_types,
)
from keyheat.scenario.spec.tasks import broken_tasks

TARGETS = ("requests_per_s", "write_units_per_s", "read_units_per_s")


def broken_rules(raw: Mapping[str, Any]) -> Iterator[str]:
    """Every disagreement between fields, as `message @ $.path`."""
    for path, table in _tables(raw):
        yield from _capacity(path, table)
        yield from _indexes(path, table)
        yield from _scaling(path, table)
    yield from _twice(_tables(raw), "table")
    yield from broken_regions(raw)
    yield from broken_sharding(raw)
    yield from broken_keys(raw)
    yield from broken_replay(raw)
    yield from broken_client(raw)
    yield from broken_timeline(raw, DURATION_S)
    yield from broken_tasks(raw)
    yield from broken_attributes(raw)
    load = part_of(raw, "load")
    yield from _target(load)
    yield from broken_shape(load, DURATION_S)
    yield from broken_sizes(load.get("item_bytes"))


def _scaling(path: str, table: Mapping[str, Any]) -> Iterator[str]:
    for where, owner in [(path, table), *_each_index(path, table)]:
        yield from broken_scaling(where, owner)
        if path != "$.table" and owner.get("auto_scaling") is not None:
            yield f"only the scenario's own table is scaled @ {where}.auto_scaling"


def _tables(raw: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The table and those beside it, each with its path."""
    if isinstance(table := raw.get("table"), Mapping):
        yield "$.table", table
    yield from ((f"$.companions[{number}]", table) for number, table in listed(raw, "companions"))


def _twice(named: Iterable[tuple[str, Mapping[str, Any]]], what: str) -> Iterator[str]:
    seen: set[str] = set()
    for path, table in named:
        if isinstance(name := table.get("name"), str):
            if name in seen:
                yield f"another {what} is named {name!r} too @ {path}.name"
            seen.add(name)


def _target(load: Mapping[str, Any]) -> Iterator[str]:
    """A load has one target, and one in units needs a loop that units can steer."""
    targets = [field for field in TARGETS if load.get(field) is not None]
    for field in targets[1:]:
        yield f"set only one of {', '.join(TARGETS)}; {targets[0]} is set @ $.load.{field}"
    if load.get("arrivals", "closed") == "closed":
        for field in targets:
            if field != "requests_per_s":
                yield f'a target in units needs arrivals = "constant" or "poisson" @ $.load.{field}'


def _capacity(path: str, table: Mapping[str, Any]) -> Iterator[str]:
    mode = table.get("billing_mode", "PROVISIONED")
    indexes = ((where, index) for where, index in _each_index(path, table) if not _local(index))
    for where, owner in [(path, table), *indexes]:
        if mode == "PROVISIONED":
            yield from _provisioned(where, owner)
        elif mode == "PAY_PER_REQUEST" and owner.get("provisioned") is not None:
            yield f"PAY_PER_REQUEST mode has no provisioned capacity @ {where}.provisioned"


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


def _indexes(owner: str, table: Mapping[str, Any]) -> Iterator[str]:
    yield from broken_table_key(owner, table)
    yield from broken_types(owner, table, list(_each_index(owner, table)))
    yield from _twice(_each_index(owner, table), "index")
    for path, index in _each_index(owner, table):
        if index.get("include") and index.get("projection") != "INCLUDE":
            yield f'only projection = "INCLUDE" names attributes @ {path}.include'
        yield from broken_key_lists(path, index)
        if _local(index):
            yield from _local_index(path, index, table)


def _local_index(path: str, index: Mapping[str, Any], table: Mapping[str, Any]) -> Iterator[str]:
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html"""
    if table.get("sort_key") is None:
        yield f"a local index needs a table with a sort_key @ {path}.local"
    if index.get("sort_key") is None:
        yield f"a local index needs its own sort key @ {path}.sort_key"
    if "partition_key" in index and index["partition_key"] != table.get("partition_key", "pk"):
        yield f"a local index has the table's partition key @ {path}.partition_key"
    for capacity in ("provisioned", "max_on_demand", "warm", "auto_scaling"):
        if index.get(capacity) is not None:
            yield f"a local index shares the table's capacity @ {path}.{capacity}"


def _each_index(owner: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from ((f"{owner}.indexes[{number}]", index) for number, index in listed(table, "indexes"))


def _local(index: Mapping[str, Any]) -> bool:
    return index.get("local") is True
