"""What keeps a run from a table, whose it is and how it differs from the scenario's; and `--table T`.

A table that is there and differs from the one that a scenario describes would answer another question.
`--table T` loads one as it is, in place of the scenario's own: nothing is changed there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from keyheat.intake.description import mixed_types, table_of
from keyheat.load.options import Guards, InputError, TableError, TableRefused
from keyheat.load.run.plan import LoadPlan, any_needs, does_not_fit, indexes_of, unsuited
from keyheat.load.tables.control import all_active, auto_scaling_at, creation
from keyheat.load.tables.ownership import (
    Standing,
    Unread,
    live_in,
    look_at_tables,
    refusal,
    refusals,
    unusable,
)
from keyheat.load.transport.target import Target
from keyheat.load.users.items import COUNTER, FILLER, RUN_ATTRIBUTE
from keyheat.runs.table_facts import types_of
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.spec.tables import IndexSpec, TableSpec


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
        texts = [
            "absent" if value is None
            else "present" if isinstance(value, dict)
            else f"{value:,}" if type(value) is int
            else str(value)
            for value in (there, expected)
        ]  # fmt: skip
        yield f"{path} is {texts[0]}, not {texts[1]}"


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
            refused += map(refusal, live_in(table.name, table.tags, now))
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


OURS = {
    FILLER: "what fills our items",
    COUNTER: "what our updates count",
    RUN_ATTRIBUTE: "what marks our items",
}
"""Attributes of the items that we write: none of them can be a key as well."""


def unloadable(description: Mapping[str, Any]) -> Iterator[str]:
    """List what no load test of ours can handle in the table."""
    indexes = description.get("GlobalSecondaryIndexes") or ()
    for index in indexes:
        if mixed_types(index, types_of(description)):
            yield (
                f"its index {index['IndexName']} has a key of attributes of several types, which items of "
                "ours cannot have; load a table without it"
            )
    for attribute, what in OURS.items():
        if attribute in types_of(description):
            yield f"its key {attribute!r} is named as {what}; load a table with another key"


def lacking(users: Sequence[Any], stated: TableSpec, actual: TableSpec) -> Iterator[str]:
    """Yield what the users need and the table that was found lacks; `stated` is the scenario's own table."""
    if actual.sort_key is None and any_needs(users, "needs_sort_key"):
        yield "the table has no sort key, which this load test needs"
    yield from unsuited(users, actual)
    indexes = {index.name: index for index in actual.indexes}
    for name in indexes_of(users):
        expected = next((index for index in stated.indexes if index.name == name), None)
        if expected is not None and name in indexes and _key(indexes[name]) != _key(expected):
            yield f"its index {name} is keyed by {_key(indexes[name])}; this load test reads {_key(expected)}"


def not_spared(users: Iterable[Any], scenario: Scenario) -> Iterator[str]:
    """List what the load would do beside writing and reading the run's own items."""
    for why in dict.fromkeys(getattr(user, "only_ours", "") for user in users):
        if why:
            yield f"this load test loads only tables that it creates: {why}"
    if scenario.timeline:
        yield "the timeline would change the capacity of the table, which stays as it is @ $.timeline"


def _key(index: IndexSpec) -> str:
    pairs = [
        *((name, index.partition_key_type) for name in index.partition_keys),
        *((name, index.sort_key_type) for name in index.sort_keys),
    ]
    return " and ".join(f"{name} ({kind})" for name, kind in pairs)


ANY_RUN = "x" * 12  # as long as the name of a run is


def on_table(scenario: Scenario, target: Target, name: str) -> tuple[Scenario, int]:
    """The scenario with a table that is there in place of its own, whether or not its load test can load it,
    and how many bytes of that are to be looked through where it is cleaned up.

    Raises `TableError` where there is no such table, or none that a scenario can state.
    """
    seen = look_at_tables(target, [name])[name]
    if seen is None:
        raise TableError(f"there is no table {name} at {target.url} ({target.region})")
    try:
        return _in_place(scenario, seen), seen.foreign_bytes
    except ScenarioError as error:
        raise TableError(*(f"--table {name}: {words}" for words in error.errors)) from error


def adapted(plan: LoadPlan, users: Sequence[Any], there: Mapping[str, Standing | None]) -> LoadPlan:
    """The plan for the tables as they are `there`, with that of `--table` in place of the scenario's own.

    Items are marked where the table was not made by a run.
    Companions have no items of ours alone, so they are our own. Raises `InputError`.
    """
    assert plan.target is not None, "tables that are there are somewhere"
    named, scenario, errors = plan.guards.table, plan.scenario, list[str]()
    seen, folder = there[named or scenario.table.name], plan.scenario_path.parent
    marked = seen is not None and seen.foreign and (named is not None or not plan.target.local)
    run_id = ANY_RUN if marked else None
    if named is not None:
        assert seen is not None, "it was checked"
        errors += [*unloadable(seen.description), *not_spared(users, scenario)]
        errors += lacking(users, scenario.table, TableSpec.model_validate(table_of(seen.description)))
        try:
            scenario = _in_place(scenario, seen)
        except ScenarioError as error:
            errors += error.errors
        else:
            errors += (words for user in users if hasattr(user, "lacks") for words in user.lacks(scenario))
            errors += does_not_fit(scenario, folder, run_id=run_id)
    elif marked:
        errors += [*not_spared(users, scenario), *does_not_fit(scenario, folder, run_id=run_id)]
    errors += (
        f"the companion table {spec.name} was not created by a run of ours: its items cannot be told from "
        "others, so give it another name @ $.companions"
        for spec in plan.scenario.companions
        if not plan.target.local and (beside := there[spec.name]) is not None and beside.foreign
    )
    if errors:
        where = f"--table {named}" if named else plan.scenario_shown
        raise InputError(*(f"{where}: {words}" for words in dict.fromkeys(errors)))
    return replace(
        plan,
        scenario=scenario,
        marked=marked,
        table_bytes=seen.foreign_bytes if seen is not None and marked else 0,
        auto_scaling=auto_scaling_at(plan.target, scenario.table) if named else None,
    )


def _in_place(scenario: Scenario, seen: Standing) -> Scenario:
    table = {"table": table_of(seen.description)}
    return scenario_from_dict(scenario.model_dump(mode="json") | table, "adapted")


def existing_fields(plan: LoadPlan) -> dict[str, Any]:
    scaling = {"auto_scaling": plan.auto_scaling.model_dump(mode="json")} if plan.auto_scaling else {}
    marked = {"items_marked": True} if plan.marked else {}
    return {**({"existing": True} if plan.guards.table else {}), **scaling, **marked}
