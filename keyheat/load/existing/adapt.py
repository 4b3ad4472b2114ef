"""`--table T`: the plan with the table as it is in place of the scenario's own; nothing is changed there.

All that stands in the way is said at once. Whether the table may be loaded at all is asked afterwards, by
`keyheat.load.tables.checking`, as of every other table.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.existing.described import reactions, table_of, unloadable
from keyheat.load.existing.needs import lacking, not_spared
from keyheat.load.existing.scaling import AutoScaling, auto_scaling_of
from keyheat.load.run.options import InputError, Plan, does_not_fit
from keyheat.load.tables.errors import TableError
from keyheat.load.tables.ownership import foreign, standing, unusable
from keyheat.load.tables.waiting import described
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.spec.tables import TableSpec

ATTEMPTS = 4
ANY_RUN = "x" * 12  # as long as the name of a run is


@dataclass(frozen=True, slots=True)
class Seen:
    """A table that is there: DescribeTable's answer, and whether somebody else created it."""

    description: Mapping[str, Any]
    foreign: bool

    @property
    def foreign_bytes(self) -> int:
        """How much there is to look through for items of ours: nothing in a table that is ours as a whole."""
        return int(self.description.get("TableSizeBytes") or 0) if self.foreign else 0


def on_table(scenario: Scenario, target: Target, name: str) -> tuple[Scenario, int]:
    """The scenario with a table that is there in place of its own, whether or not its load test can load it,
    and how many bytes of that are to be looked through where it is cleaned up.

    Raises `TableError` where there is no such table, or none that a scenario can state.
    """
    seen = look_at(target, name)
    if seen is None:
        raise TableError(_not_there(target, name))
    try:
        return _in_place(scenario, seen), seen.foreign_bytes
    except ScenarioError as error:
        raise TableError(*(f"--table {name}: {words}" for words in error.errors)) from error


def adapted(plan: Plan, users: Sequence[Any]) -> Plan:
    """The plan for the table that `--table` names. Raises `InputError` or `TableError`."""
    assert plan.existing is not None, "asked for with --table only"
    if plan.target is None:
        raise InputError(
            [
                f"--table {plan.existing} loads a table that is there, and the endpoint that a run starts by "
                "itself has none: say where it is, with --target aws or --target URL"
            ]
        )
    seen = look_at(plan.target, plan.existing)
    if seen is None:
        raise InputError([_not_there(plan.target, plan.existing)])
    if why := unusable(seen.description):
        raise TableError(f"table {plan.existing} cannot be loaded: {why}")
    scenario = _with_table(plan, seen, users)
    scaling = auto_scaling_of(plan.target, scenario.table)
    notes = (*reactions(seen.description), *scaling.in_words())
    return replace(
        plan,
        scenario=scenario,
        marked=seen.foreign,
        table_bytes=seen.foreign_bytes,
        auto_scaling=scaling,
        notes=notes,
    )


def look_at(target: Target, name: str) -> Seen | None:
    """The table as it is; None where there is none. What cannot be seen to be ours is somebody else's."""
    try:
        with closing(make_client(target, attempts=ATTEMPTS)) as client:
            description = described(client, name)
            if description is None:
                return None
            if "TableArn" not in description:  # an endpoint that knows no tags either
                return Seen(description, True)
            return Seen(description, foreign(standing(client, description).tags) is not None)
    except (ClientError, BotoCoreError) as error:
        raise TableError(f"table {name} at {target.url}: {error}") from error


def marked_if_foreign(plan: Plan, users: Sequence[Any]) -> Plan:
    """The plan, with its items marked where the scenario's table is there and is somebody else's.

    Companions have no items of ours alone, so they are our own. Raises `InputError`.
    """
    if plan.target is None or plan.target.local:
        return plan
    marked, table_bytes = plan.marked, plan.table_bytes
    if plan.existing is None and (seen := look_at(plan.target, plan.scenario.table.name)) is not None:
        marked, table_bytes = seen.foreign, seen.foreign_bytes
    errors = [
        f"the companion table {table.name} was not created by a run of ours: its items cannot be told from "
        "others, so give it another name @ $.companions"
        for table in plan.scenario.companions
        if (beside := look_at(plan.target, table.name)) is not None and beside.foreign
    ]
    if marked and plan.existing is None:
        errors += not_spared(users, plan.scenario)
        errors += does_not_fit(plan.scenario, plan.scenario_path.parent, run_id=ANY_RUN)
    if errors:
        raise InputError([f"{plan.scenario_shown}: {words}" for words in dict.fromkeys(errors)])
    return replace(plan, marked=marked, table_bytes=table_bytes)


def _with_table(plan: Plan, seen: Seen, users: Sequence[Any]) -> Scenario:
    """The scenario with the table as it is; its companions and everything else stay. Raises `InputError`."""
    scenario = None
    errors = [*unloadable(seen.description), *not_spared(users, plan.scenario)]
    there = TableSpec.model_validate(table_of(seen.description))
    errors += lacking(users, plan.scenario.table, there)
    try:
        scenario = _in_place(plan.scenario, seen)
    except ScenarioError as error:
        errors += error.errors
    else:
        errors += (words for user in users if hasattr(user, "lacks") for words in user.lacks(scenario))
        errors += does_not_fit(scenario, plan.scenario_path.parent, run_id=ANY_RUN if seen.foreign else None)
    if errors or scenario is None:
        raise InputError([f"--table {plan.existing}: {words}" for words in dict.fromkeys(errors)])
    return scenario


def _in_place(scenario: Scenario, seen: Seen) -> Scenario:
    table = {"table": table_of(seen.description)}
    return scenario_from_dict(scenario.model_dump(mode="json") | table, "adapted")


def _not_there(target: Target, name: str) -> str:
    return f"there is no table {name} at {target.url} ({target.region})"


def noted(plan: Plan) -> dict[str, Any]:
    """What `run.json` says of it."""
    scaling = plan.auto_scaling or AutoScaling()
    own: dict[str, Any] = {}
    if plan.existing:
        own = {"existing": True, "auto_scaling": scaling.to_json(), "table_notes": list(plan.notes)}
    return {**own, **({"items_marked": True} if plan.marked else {})}
