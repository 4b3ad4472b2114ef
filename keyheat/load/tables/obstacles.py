"""What keeps a run from a table: whose it is, and how it differs from the scenario's.

A table that is there and differs from the one that a scenario describes would answer another question.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keyheat.intake.description import table_of
from keyheat.load.tables.claims import live_in, refusal
from keyheat.load.tables.description import all_active
from keyheat.load.tables.ownership import (
    Standing,
    TableError,
    TableRefused,
    Unread,
    refusals,
    unusable,
)
from keyheat.scenario.spec.tables import IndexSpec, TableSpec
from keyheat.words import Direction

MODES = {"PROVISIONED": "provisioned mode", "PAY_PER_REQUEST": "on-demand mode"}


def differences(spec: TableSpec, description: Mapping[str, Any]) -> list[str]:
    """Return what is otherwise than the scenario says, one clause each; nothing where it is as described."""
    there = TableSpec.model_validate(table_of(description))
    clauses = list(_differences("its", spec, there, same_mode=spec.billing_mode == there.billing_mode))
    if spec.billing_mode != there.billing_mode:
        clauses.append(f"it is in {MODES[there.billing_mode]}, not in {MODES[spec.billing_mode]}")
    types = there.key_types()
    clauses += [
        f"its key attribute {name} is of type {types[name]}, not {kind}"
        for name, kind in spec.key_types().items()
        if types.get(name, kind) != kind
    ]
    expected, indexes = (
        {(index.name, index.local): index for index in table.indexes} for table in (spec, there)
    )
    for name, local in sorted(expected.keys() ^ indexes.keys()):
        kind = f"{'local' if local else 'global'} index {name}"
        missing = (name, local) in expected
        clauses.append(f"it has no {kind}" if missing else f"it has a {kind}, and the scenario has none")
    for key in sorted(expected.keys() & indexes.keys()):
        clauses += _differences(f"index {key[0]}'s", expected[key], indexes[key], same_mode=True)
    if spec.stream != there.stream:
        clauses.append(f"its stream is {there.stream or 'off'}, not {spec.stream or 'off'}")
    return clauses


def _differences(
    whose: str, spec: TableSpec | IndexSpec, there: TableSpec | IndexSpec, *, same_mode: bool
) -> Iterator[str]:
    """Of a table or an index: its key and projection, and, in the `same_mode`, its capacities."""
    for what, text_of in (("key", _key), ("projection", _projection)):
        if text_of(spec) != text_of(there):
            yield f"{whose} {what} is {text_of(there)}, not {text_of(spec)}"
    for side in Direction:
        for name, what, unset in (
            ("provisioned", f"provisioned {side}s", "none"),
            ("max_on_demand", f"maximum of {side}s on demand", "unlimited"),
        ):
            now, then = (getattr(getattr(resource, name), side, None) for resource in (there, spec))
            if now != then and same_mode:
                words = ", not ".join(unset if units is None else f"{units:,}" for units in (now, then))
                yield f"{whose} {what}: {words}"
        least, warm = (getattr(resource.warm, side, None) for resource in (spec, there))
        if least is not None and warm is not None and warm < least and same_mode:
            yield f"{whose} warm throughput, {side}s: {warm:,}, below {least:,}"


def _key(resource: TableSpec | IndexSpec) -> str:
    if isinstance(resource, IndexSpec):
        return " and ".join((*resource.partition_keys, *resource.sort_keys))
    return " and ".join(filter(None, (resource.partition_key, resource.sort_key)))


def _projection(resource: TableSpec | IndexSpec) -> str:
    return (
        " ".join((resource.projection, *sorted(resource.include)))
        if isinstance(resource, IndexSpec)
        else "ALL"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a person said of tables that are there: which may be loaded, and which is loaded as it is.

    On this machine (`local`) no table is somebody's, so that none is refused there, but for one that another
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
