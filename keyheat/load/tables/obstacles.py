"""What keeps a run from a table: whose it is, and how it differs from the scenario's.

A table that is there and differs from the one that a scenario describes would answer another question.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from keyheat.intake.description import table_of
from keyheat.load.options import Guards
from keyheat.load.tables.claims import live_in, refusal
from keyheat.load.tables.control import creation
from keyheat.load.tables.description import all_active
from keyheat.load.tables.ownership import (
    Standing,
    TableError,
    TableRefused,
    Unread,
    refusals,
    unusable,
)
from keyheat.scenario.spec.tables import TableSpec


def differences(spec: TableSpec, description: Mapping[str, Any]) -> list[str]:
    """List the parameters of CreateTable that would be others; nothing where the table is as described."""
    there = TableSpec.model_validate(table_of(description))
    return list(_unlike("", _by_name(creation(there)), _by_name(creation(spec))))


def _by_name(value: Any) -> Any:
    """Attributes and indexes by their names, since they have no order."""
    if isinstance(value, dict):
        return {name: _by_name(member) for name, member in value.items()}
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], str):
        return " ".join(sorted(value))
    return {entry.get("IndexName") or entry["AttributeName"]: _by_name(entry) for entry in value}


def _unlike(path: str, there: Any, expected: Any) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(expected, dict):
        for name in sorted(there.keys() | expected.keys()):
            yield from _unlike(f"{path}.{name}" if path else name, there.get(name), expected.get(name))
    elif "WarmThroughput" in path:  # the scenario states the least, and AWS tells it of every table
        if isinstance(there, int) and isinstance(expected, int) and there < expected:
            yield f"{path} is {there:,}, below {expected:,}"
    elif there != expected:
        yield f"{path} is {_value_text(there)}, not {_value_text(expected)}"


def _value_text(value: Any) -> str:
    if value is None or isinstance(value, dict):
        return "absent" if value is None else "present"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def check_tables(
    tables: Iterable[tuple[TableSpec, Standing | None]], guards: Guards, now: datetime, *, local: bool
) -> None:
    """Check tables, each as it is there or None, against the guards and the scenario.

    On this machine (`local`) tables have no owner. Raises `TableRefused` or `TableError` with everything
    that is in the way.
    """
    refused, wrong = list[str](), list[str]()
    for spec, table in tables:
        wrong += obstacles(spec, table.description if table else None, guards)
        if table is None:
            continue
        refused += [] if local else refusals(table, guards.allow_table, guards.allow_protected)
        if not (isinstance(table.tags, Unread) or guards.share):
            refused += (refusal(table.name, claim) for claim in live_in(table.tags, now))
    if refused:
        raise TableRefused(*refused, *wrong)
    if wrong:
        raise TableError(*wrong)


def obstacles(spec: TableSpec, description: Mapping[str, Any] | None, guards: Guards) -> Iterator[str]:
    """Yield why the table cannot be loaded as the scenario says, regardless of its owner."""
    as_it_is = spec.name == guards.table
    if description is None:
        if as_it_is:
            yield f"table {spec.name} is not there, and --table {spec.name} loads only one that is"
    elif (why := unusable(description)) is not None:
        yield f"table {spec.name} cannot be loaded: {why}"
    elif (
        not as_it_is
        and all_active(description)  # what is being changed is compared when it has changed
        and (clauses := "; ".join(differences(spec, description)))
    ):
        yield (
            f"table {spec.name} is there, but not as the scenario describes it: {clauses}. "
            f"Load it as it is with --table {spec.name}, or delete it, and the run makes it anew"
        )
