"""What a load test needs of a table that is there already, and what such a table is spared."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import IN_WORDS, IndexSpec, TableSpec


def lacking(users: Sequence[Any], stated: TableSpec, found: TableSpec) -> Iterator[str]:
    """What the users need and the table that was found lacks; `stated` is the scenario's own table."""
    if found.sort_key is None and _any(users, "needs_sort_key"):
        yield "the table has no sort key, which this load test needs"
    yield from unsuited(users, found)
    there = {index.name: index for index in found.indexes}
    for name in _indexes_of(users):
        wanted = next((index for index in stated.indexes if index.name == name), None)
        if wanted is not None and name in there and _key(there[name]) != _key(wanted):
            yield f"its index {name} is keyed by {_key(there[name])}; this load test reads {_key(wanted)}"


def unsuited(users: Sequence[Any], table: TableSpec) -> Iterator[str]:
    """What of a table the users cannot do with, whoever's it is; as `message @ $.path`."""
    if table.sort_key is not None and _any(users, "needs_no_sort_key"):
        yield f"this load test finds items by one key, without {table.sort_key!r} @ $.table.sort_key"
    if table.sort_key is not None and table.sort_key_type != "S" and _any(users, "needs_text_sort_key"):
        kind = IN_WORDS[table.sort_key_type]
        yield f"this load test reads what begins with some text, and it is {kind} @ $.table.sort_key_type"
    there = sorted(index.name for index in table.indexes)
    for name in _indexes_of(users):
        if name not in there:
            listed = ", ".join(there) or "none"
            yield f"there is no index {name}, which this load test reads, but {listed} @ $.table.indexes"


def not_spared(users: Iterable[Any], scenario: Scenario) -> Iterator[str]:
    """What would be done to the table beside writing and reading items of the run's own."""
    for why in dict.fromkeys(getattr(user, "only_ours", "") for user in users):
        if why:
            yield f"this load test is for tables of its own: {why}"
    if scenario.timeline:
        yield "the timeline would change the capacity of the table, which stays as it is @ $.timeline"
    sharding = scenario.dynamic_sharding
    if sharding is not None and sharding.max_write_units is not None:
        yield (
            "the table's capacity would be raised, and it stays as it is @ $.dynamic_sharding.max_write_units"
        )


def _any(users: Iterable[Any], name: str) -> bool:
    return any(getattr(user, name, False) for user in users)


def _indexes_of(users: Iterable[Any]) -> Iterable[str]:
    return dict.fromkeys(name for user in users for name in getattr(user, "needs_indexes", ()))


def _key(index: IndexSpec) -> str:
    """The key of an index, with the types of its attributes."""
    pairs = [(index.partition_key, index.partition_key_type), (index.sort_key, index.sort_key_type)]
    return " and ".join(f"{name} ({kind})" for name, kind in pairs if name is not None)
