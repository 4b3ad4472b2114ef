"""What the fields of a scenario have to agree on, beside the fields' own checks.

A file that is wrong somewhere is read as far as it can be (`mistakes.py`), so that all of its mistakes are
listed at once, and none of them twice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from math import inf
from pathlib import Path
from typing import Any

from keyheat.scenario.shape import broken_shape
from keyheat.scenario.sizes import broken_sizes
from keyheat.scenario.spec.attributes import broken_attributes
from keyheat.scenario.spec.keys import KeysSpec, broken_keys, broken_sharding
from keyheat.scenario.spec.part import numbered
from keyheat.scenario.spec.tables import (
    ChangeSpec,
    IndexSpec,
    TableSpec,
    broken_key_lists,
    broken_regions,
    broken_scaling,
    broken_types,
)
from keyheat.scenario.spec.tasks import LoadSpec, broken_client, broken_tasks

Step = tuple[str, ChangeSpec]
"""A step of a timeline, with its path in the file."""
CHANGES = ("billing_mode", "provisioned", "max_on_demand", "warm")
ON_DEMAND = "PAY_PER_REQUEST"


def broken_timeline(steps: Sequence[Step], table: TableSpec | None, duration_s: float) -> Iterator[str]:
    """Every step that cannot be, as `message @ $.path`."""
    before_s = -inf
    for path, step in steps:
        if step.at_s is None:
            continue  # the field's own check has said so
        if step.at_s < before_s:
            yield f"the steps are in order of time, and the one before is at {before_s:g} s @ {path}.at_s"
        if step.at_s >= duration_s:
            yield f"the load ends after {duration_s:g} s @ {path}.at_s"
        before_s = max(before_s, step.at_s)
    if table is None:
        return
    indexes = [index for _path, index in numbered(table.indexes, "") if isinstance(index.name, str)]
    local = {index.name: index.local for index in indexes}
    modes: list[str] = [table.billing_mode]
    for _at_s, same in groupby(steps, key=lambda entry: entry[1].at_s):
        yield from _broken_request(list(same), modes, local)
    if table.auto_scaling is not None and set(modes) == {ON_DEMAND}:
        yield "PAY_PER_REQUEST mode has no capacity to scale @ $.table.auto_scaling"


def _broken_request(steps: Sequence[Step], modes: list[str], local: Mapping[str, bool]) -> Iterator[str]:
    """What is wrong with the steps of one moment; a new mode of the table is added to `modes`.

    `local` says of each index whether it is a local one.
    """
    yield from _broken_switch(steps, modes, [name for name, is_local in local.items() if not is_local])
    path_of: dict[str | None, str] = {}
    for path, step in steps:
        if step.index in path_of:
            yield f"{path_of[step.index]} is of the same moment: say both in one step @ {path}"
        path_of[step.index] = path
        if not step.stated & {*CHANGES}:
            yield f"say what to change: {', '.join(CHANGES)} @ {path}"
        elif step.index is not None and local.get(step.index, True):
            yield f"{_no_index(step.index, local)} @ {path}.index"
        elif step.provisioned is not None and modes[-1] == ON_DEMAND:
            yield f"{ON_DEMAND} mode by then, without provisioned capacity @ {path}.provisioned"
        elif step.max_on_demand is not None and modes[-1] != ON_DEMAND:
            yield f"PROVISIONED mode by then, without an on-demand maximum @ {path}.max_on_demand"


def _broken_switch(steps: Sequence[Step], modes: list[str], indexes: Sequence[str]) -> Iterator[str]:
    for path, step in steps:
        if step.billing_mode not in ("PROVISIONED", ON_DEMAND):
            continue
        if step.index is not None:
            yield f"it is that of the table and all its indexes: leave index out @ {path}.billing_mode"
        elif step.billing_mode == modes[-1]:
            yield f"the table is in {modes[-1]} mode already @ {path}.billing_mode"
        else:
            modes.append(step.billing_mode)
            if step.billing_mode == "PROVISIONED":
                yield from _lacking(path, steps, indexes)


def _lacking(path: str, steps: Sequence[Step], indexes: Sequence[str]) -> Iterator[str]:
    """The capacities that a switch to provisioned mode does not name."""
    pairs = {step.index: step.provisioned for _path, step in reversed(steps)}
    for name in (None, *sorted(indexes)):
        lacking = [side for side in ("read", "write") if getattr(pairs.get(name), side, None) is None]
        if lacking:
            where = "" if name is None else f" of index {name!r}, in a step of the same at_s"
            yield f"PROVISIONED mode needs provisioned.{' and .'.join(lacking)}{where} @ {path}"


def _no_index(name: str, local: Mapping[str, bool]) -> str:
    if local.get(name):
        return f"{name!r} is a local index, which shares the table's capacity"
    there = ", ".join(repr(each) for each, is_local in sorted(local.items()) if not is_local)
    return f"there is no global index {name!r}; global indexes: {there or 'none'}"


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


def broken_replay(loadtest: str, keys: KeysSpec, load: LoadSpec) -> Iterator[str]:
    """A trace's times need its rows, and leave nothing to say of how much is sent."""
    replay = Path(str(loadtest)).stem == "replay"  # ours, or a copy of it
    replays, timed = keys.kind == "replay", load.arrivals == "trace"
    if replay and not replays:
        yield "loadtest = 'replay' needs kind = 'replay', and a trace @ $.keys.kind"
    if replay and not timed:
        yield "loadtest = 'replay' needs arrivals = 'trace': rows are sent at their times @ $.load.arrivals"
    elif timed and not replay:
        yield "only loadtest = 'replay' sends at the times of a trace @ $.load.arrivals"
    if timed:
        for field in ("requests_per_s", "write_units_per_s", "read_units_per_s", "shape"):
            if field in load.stated:
                yield f"no meaning with arrivals = 'trace', which says when @ $.load.{field}"
    elif keys.speed is not None and replays:
        yield "no meaning without arrivals = 'trace' @ $.keys.speed"
