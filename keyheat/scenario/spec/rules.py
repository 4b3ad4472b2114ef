"""What the fields of a scenario have to agree on, beside the fields' own checks.

A file that is wrong somewhere is read as far as it can be (`drafts.py`), so that all of its mistakes are
listed at once, and none of them twice.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from keyheat.scenario.shape import broken_shape
from keyheat.scenario.sizes import broken_sizes
from keyheat.scenario.spec.attributes import broken_attributes
from keyheat.scenario.spec.client import broken_client
from keyheat.scenario.spec.keys import broken_keys, broken_replay, broken_sharding
from keyheat.scenario.spec.load import LoadSpec
from keyheat.scenario.spec.part import numbered
from keyheat.scenario.spec.tables import (
    IndexSpec,
    TableSpec,
    broken_key_lists,
    broken_regions,
    broken_scaling,
    broken_types,
)
from keyheat.scenario.spec.tasks import broken_tasks
from keyheat.scenario.spec.timeline import broken_timeline

TARGETS = ("requests_per_s", "write_units_per_s", "read_units_per_s")


def broken_rules(scenario: Any) -> Iterator[str]:
    """Every disagreement between fields of a scenario, or of a draft of one, as `message @ $.path`."""
    table, keys, load = scenario.table, scenario.keys, scenario.load
    judged = [("$.table", table)] if table is not None else []
    tables = [*judged, *numbered(scenario.companions, "$.companions")]
    yield from chain.from_iterable(_table(path, each) for path, each in tables)
    yield from _twice(tables, "table")
    yield from broken_regions(table, scenario.companions)
    if scenario.dynamic_sharding is not None:
        yield from broken_sharding(scenario.dynamic_sharding, keys, table, scenario.companions)
    if keys is not None:
        yield from broken_keys(keys)
        yield from broken_replay(scenario.loadtest, keys, load)
    yield from broken_client(scenario.client)
    yield from broken_timeline(numbered(scenario.timeline, "$.timeline"), table, load.duration_s)
    yield from broken_tasks(scenario.tasks, scenario.loadtest, table)
    if table is not None:
        yield from broken_attributes(scenario.attributes, table)
    yield from _target(load)
    yield from broken_shape(load.shape, load.duration_s)
    yield from broken_sizes(load.item_bytes)


def _table(path: str, table: TableSpec) -> Iterator[str]:
    """What a table and its indexes disagree with."""
    indexes = numbered(table.indexes, f"{path}.indexes")
    owners: list[tuple[str, TableSpec | IndexSpec]] = [(path, table), *indexes]
    for where, owner in owners:
        if owner is table or not owner.local:  # type: ignore[union-attr]
            yield from _capacity(where, owner, table.billing_mode)
    yield from broken_types(path, table, indexes)
    yield from _twice(indexes, "index")
    for where, index in indexes:
        if index.include and index.projection != "INCLUDE":
            yield f'only projection = "INCLUDE" names attributes @ {where}.include'
        yield from broken_key_lists(where, index)
        if index.local:
            yield from _local_index(where, index, table)
    for where, owner in owners:
        yield from broken_scaling(where, owner)
        if path != "$.table" and owner.auto_scaling is not None:
            yield f"only the scenario's own table is scaled @ {where}.auto_scaling"


def _twice(named: Iterable[tuple[str, TableSpec | IndexSpec]], what: str) -> Iterator[str]:
    seen: set[str] = set()
    for path, owner in named:
        if owner.name is not None and owner.name in seen:
            yield f"another {what} is named {owner.name!r} too @ {path}.name"
        seen.add(owner.name)


def _target(load: LoadSpec) -> Iterator[str]:
    """A load has one target, and one in units needs a loop that units can steer."""
    targets = [field for field in TARGETS if field in load.stated]
    for field in targets[1:]:
        yield f"set only one of {', '.join(TARGETS)}; {targets[0]} is set @ $.load.{field}"
    if load.arrivals == "closed":
        for field in targets:
            if field != "requests_per_s":
                yield f'a target in units needs arrivals = "constant" or "poisson" @ $.load.{field}'


def _capacity(path: str, owner: TableSpec | IndexSpec, mode: str) -> Iterator[str]:
    if mode == "PAY_PER_REQUEST" and owner.provisioned is not None:
        yield f"PAY_PER_REQUEST mode has no provisioned capacity @ {path}.provisioned"
    if mode != "PROVISIONED":
        return
    if owner.provisioned is None:
        yield f"PROVISIONED mode needs provisioned = {{ read = .., write = .. }} @ {path}.provisioned"
    for side in ("read", "write"):
        if owner.provisioned is not None and getattr(owner.provisioned, side) is None:
            yield f"PROVISIONED mode needs it @ {path}.provisioned.{side}"
    if owner.max_on_demand is not None:
        yield f"PROVISIONED mode has no on-demand maximum @ {path}.max_on_demand"


def _local_index(path: str, index: IndexSpec, table: TableSpec) -> Iterator[str]:
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html"""
    if table.sort_key is None:
        yield f"a local index needs a table with a sort_key @ {path}.local"
    if index.sort_key is None:
        yield f"a local index needs its own sort key @ {path}.sort_key"
    if isinstance(index.partition_key, str) and index.partition_key != table.partition_key:
        yield f"a local index has the table's partition key @ {path}.partition_key"
    for capacity in ("provisioned", "max_on_demand", "warm", "auto_scaling"):
        if getattr(index, capacity) is not None:
            yield f"a local index shares the table's capacity @ {path}.{capacity}"
