"""What keeps a run from a table: whose it is, and how it differs from the scenario's.

A table that is there and differs from the one that a scenario describes would answer another question.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keyheat.intake.description import table_of
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a person said of tables that are there: which may be loaded, and which is loaded as it is.

    On this machine (`local`) tables have no owner, so none is refused there, except one that another
    run is loading: that one is refused everywhere, unless it is said to be shared.
    """

    local: bool
    foreign: Collection[str] = ()
    protected: Collection[str] = ()
    existing: str | None = None
    share: bool = False


def check_tables(
    tables: Iterable[tuple[TableSpec, Standing | None]], allowed: Allowed, now: datetime
) -> None:
    """Hold tables, each as it is there or None, against what is allowed and described.

    Raises `TableRefused` or `TableError` with everything that is in the way.
    """
    refused, wrong = list[str](), list[str]()
    for spec, table in tables:
        wrong += obstacles(spec, table.description if table else None, allowed)
        refused += _refusals(table, allowed, now) if table else []
    if refused:
        raise TableRefused(*refused, *wrong)
    if wrong:
        raise TableError(*wrong)


def _refusals(table: Standing, allowed: Allowed, now: datetime) -> list[str]:
    """Return why a table that is there must not be loaded: for whose it is, and for who is loading it."""
    lines = [] if allowed.local else refusals(table, allowed.foreign, allowed.protected)
    if isinstance(table.tags, Unread) or allowed.share:
        return lines
    return [*lines, *(refusal(table.name, claim) for claim in live_in(table.tags, now))]


def obstacles(spec: TableSpec, description: Mapping[str, Any] | None, allowed: Allowed) -> list[str]:
    """Return why the table cannot be loaded as the scenario says, regardless of its owner."""
    why = _obstacle(spec, description, as_it_is=spec.name == allowed.existing)
    return [f"table {spec.name} {why}"] if why else []


def _obstacle(spec: TableSpec, description: Mapping[str, Any] | None, *, as_it_is: bool) -> str | None:
    if description is None:
        return f"is not there, and --table {spec.name} loads only one that is" if as_it_is else None
    if (why := unusable(description)) is not None:
        return f"cannot be loaded: {why}"
    if as_it_is or not all_active(description):
        return None  # what is being changed is compared when it has changed
    clauses = "; ".join(differences(spec, description))
    return clauses and (
        f"is there, but not as the scenario describes it: {clauses}. "
        f"Load it as it is with --table {spec.name}, or delete it, and the run makes it anew"
    )
