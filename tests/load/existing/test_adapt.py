"""`--table T`: the plan is that of the table as it is, or everything that stands in the way is said."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.options import Guards, InputError, TableRefused
from keyheat.load.run.plan import LoadPlan, does_not_fit
from keyheat.load.run.preflight import consented, preflight
from keyheat.load.tables.control import creation
from keyheat.load.tables.existing import adapted, existing_fields
from keyheat.load.tables.ownership import look_at_tables
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target, target_at
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.scenario.spec.tables import TableSpec
from tests.make import a_plan, a_scenario
from tests.outside import elsewhere

pytestmark = pytest.mark.opens

THEIRS = {
    "name": "theirs",
    "partition_key": "customer",
    "partition_key_type": "N",
    "sort_key": "at",
    "sort_key_type": "N",
    "provisioned": {"read": 50, "write": 70},
    "stream": "KEYS_ONLY",
}
MINE = {"name": "mine", "provisioned": {"read": 5, "write": 7}}


class Writer:
    needs_sort_key = True


class Watcher:
    needs_text_sort_key = True
    needs_indexes = ("by-day",)
    only_ours = "it reads the whole table"


@pytest.fixture(scope="module")
def there() -> Iterator[Target]:
    """An endpoint with a table of somebody's, one of a run's, and one that is small."""
    with pytest.MonkeyPatch.context() as patch, EndpointProcess.start() as process:
        patch.setenv("AWS_ACCESS_KEY_ID", "AKID")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        target = target_at(process.url)
        client = make_client(target)
        client.create_table(**creation(TableSpec.model_validate(THEIRS)))
        client.create_table(**creation(TableSpec.model_validate({**MINE, "name": "other"})))
        ours = {**creation(TableSpec.model_validate(MINE)), "Tags": [{"Key": "keyheat", "Value": "run-1"}]}
        client.create_table(**ours)
        client.close()
        yield target


@pytest.fixture(name="elsewhere")
def its_target(there: Target) -> Target:
    target = target_at(elsewhere(there.url))
    assert not target.local
    return target


def scenario_of(**fields: Any) -> Scenario:
    return a_scenario(**{"table": MINE, "load": {"duration_s": 60, "item_bytes": 500}} | fields)


def plan_of(target: Target | None, existing: str | None, **fields: Any) -> LoadPlan:
    return a_plan(scenario_of(**fields), target=target, table=existing)


def adapt(plan: LoadPlan, *users: Any) -> LoadPlan:
    assert plan.target is not None
    names = [plan.guards.table or plan.scenario.table.name, *(spec.name for spec in plan.scenario.companions)]
    return adapted(plan, users, look_at_tables(plan.target, names))


def errors_of(plan: LoadPlan, *users: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        adapt(plan, *users)
    return caught.value.errors


def test_the_scenario_has_the_table_as_it_is(there: Target) -> None:
    plan = adapt(plan_of(there, "theirs"), Writer)
    table = plan.scenario.table
    assert (table.name, table.partition_key_type, table.sort_key) == ("theirs", "N", "at")
    assert (table.stream, table.on_end, plan.marked) == ("KEYS_ONLY", "keep", True)
    assert plan.scenario.load == scenario_of().load
    said = existing_fields(plan)
    assert (said["existing"], said["items_marked"], said["auto_scaling"]["scaled"]) == (True, True, [])
    assert said["auto_scaling"]["why"]
    assert scenario_from_dict(plan.scenario.model_dump(mode="json"), "run.json") == plan.scenario


def test_a_table_needs_a_place_where_it_is(there: Target) -> None:
    with pytest.raises(InputError, match="--target aws or --target URL"):
        preflight(plan_of(None, "theirs"))
    with pytest.raises(InputError, match="table nobodys is not there"):
        preflight(plan_of(there, "nobodys"))


def test_everything_that_is_in_the_way_is_said_at_once(there: Target) -> None:
    timeline = [{"at_s": 5, "index": "by-day", "provisioned": {"write": 9}}]
    indexed = {**MINE, "indexes": [{**MINE, "name": "by-day", "partition_key": "day"}]}
    said = errors_of(plan_of(there, "theirs", table=indexed, timeline=timeline), Watcher)
    assert all(words.startswith("--table theirs: ") for words in said)
    for part in ("reads the whole table", "$.timeline", "begins with some text", "reads index by-day"):
        assert any(part in words for words in said), part


def test_items_have_room_for_their_mark(there: Target) -> None:
    tight: dict[str, Any] = {
        "keys": {"kind": "uniform", "prefix": "x" * 30},
        "load": {"duration_s": 60, "item_bytes": 100},
    }
    assert list(does_not_fit(scenario_of(**tight), Path())) == []
    (small,) = errors_of(plan_of(there, "other", **tight))
    assert "$.load.item_bytes" in small


def test_a_table_of_somebody_elses_still_has_to_be_allowed(elsewhere: Target) -> None:
    plan = plan_of(elsewhere, "theirs")
    with pytest.raises(TableRefused, match="--allow-table theirs"):
        preflight(plan, [Writer])
    ready = preflight(replace(plan, guards=Guards(table="theirs", allow_table=("theirs",))), [Writer])
    assert (ready.marked, ready.scenario.table.name) == (True, "theirs")
    assert preflight(plan_of(elsewhere, "mine"), []).marked is False


def test_what_is_looked_through_to_clean_up_counts_against_the_budget(
    there: Target, elsewhere: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten terabytes of somebody else's cost far more to look through than the run does."""
    big = {**THEIRS, "name": "big", "billing_mode": "PAY_PER_REQUEST", "provisioned": None}
    with closing(make_client(there)) as client:
        client.create_table(**creation(TableSpec.model_validate(big)))
        description = client.describe_table(TableName="big")["Table"] | {"TableSizeBytes": 10**13}
    monkeypatch.setattr("keyheat.load.tables.ownership.describe_table", lambda _client, _name: description)
    named = plan_of(elsewhere, "big")
    ready = replace(adapt(named, Writer), duration_s=60.0, guards=Guards(table="big", yes=True))
    assert consented(ready) is ready
    with pytest.raises(TableRefused, match=r"it may cost 15\d\.\d dollars .*--max-dollars 15\d"):
        consented(replace(ready, guards=Guards(table="big", yes=True, clean_up=True)))
    by_name = adapt(plan_of(elsewhere, None, table={**MINE, "name": "big"}))
    assert (by_name.marked, by_name.table_bytes) == (True, 10**13)


def test_an_allowed_table_of_the_scenarios_name_is_marked_too(elsewhere: Target) -> None:
    named = plan_of(elsewhere, None, table={**MINE, "name": "other"})
    assert adapt(named).marked is True
    with pytest.raises(InputError, match="reads the whole table"):
        adapt(named, Watcher)
    assert adapt(plan_of(elsewhere, None), Watcher).marked is False
    beside = {"name": "theirs", "provisioned": {"read": 1, "write": 1}}
    with pytest.raises(InputError, match="companion table theirs"):
        adapt(plan_of(elsewhere, None, companions=[beside]))
