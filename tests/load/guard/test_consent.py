"""Somebody agrees to a run that is not on this machine, within its budget, or nothing is started."""

import os
from dataclasses import replace

import pytest

from keyheat.load.options import Guards, TableRefused
from keyheat.load.run.consent import Undertaking, agrees
from keyheat.load.run.plan import LoadPlan
from keyheat.load.run.preflight import consented, lasting, planned_bill
from keyheat.load.run.watch import caps_of
from keyheat.load.transport.target import target_at
from keyheat.scenario.scenario import SCENARIOS, load_scenario
from keyheat.scenario.spec.part import BudgetSpec
from tests.make import a_plan

AWS = target_at("https://dynamodb.eu-west-1.amazonaws.com")
LOCAL = target_at("http://127.0.0.1:8000")


def plan_of(name: str = "hotkey", **said: object) -> LoadPlan:
    path = SCENARIOS / f"{name}.toml"
    scenario = load_scenario(path)
    known = {"scenario_path": path, "target": AWS, "duration_s": scenario.load.duration_s}
    return a_plan(scenario, **known | said)


def test_what_is_on_this_machine_asks_nobody_and_elsewhere_the_budget_is_held() -> None:
    small = BudgetSpec(dollars=1e-9, units=1)
    with open(os.devnull, encoding="utf-8") as nobody:  # no terminal
        for target in (None, LOCAL):
            plan = plan_of(target=target, budget=small)
            assert consented(plan, nobody) is plan
        endless = plan_of(yes=True, duration_s=None, budget=BudgetSpec(units=1))
        assert consented(endless, nobody) is endless, "the caps hold while it runs"
        with pytest.raises(TableRefused, match=r"may cost .* --max-dollars"):  # its table's first hour
            consented(replace(endless, budget=small), nobody)


def said_of(plan: LoadPlan, **more: object) -> str:
    return "\n".join(
        Undertaking(
            scenario=plan.scenario, target=AWS, bill=planned_bill(plan), budget=plan.budget,
            duration_s=plan.duration_s, guards=Guards(**more),  # type: ignore[arg-type]
        ).lines()
    )  # fmt: skip


def test_what_is_created_and_deleted_is_said() -> None:
    plan = plan_of(budget=BudgetSpec(dollars=2.0, units=1000, minutes=3))
    said = said_of(plan)
    assert "created if it is not there, and then deleted when the run is over" in said
    assert "it is stopped at 2 dollars or 1,000 units or 3 minutes" in said
    assert "kept, and costs until deleted" in said_of(plan, keep_table=True)


@pytest.mark.parametrize("clean_up", [False, True])
def test_a_table_that_is_there_stays(clean_up: bool) -> None:
    said = said_of(plan_of(), table="orders", clean_up=clean_up)
    assert "loads table orders" in said
    assert f"the items that are written to it are {'deleted' if clean_up else 'kept'}" in said
    assert "created" not in said
    assert "warm throughput may rise with the load; AWS never lowers it" in said
    assert "warm throughput" not in said_of(plan_of())


@pytest.mark.parametrize(
    ("local", "said", "dollars"), [(True, False, None), (True, True, 5.0), (False, False, 5.0)]
)
def test_dollars_count_on_this_machine_only_where_they_are_said(
    local: bool, said: bool, dollars: float | None
) -> None:
    plan = plan_of(max_dollars=5.0 if said else None, budget=BudgetSpec(units=7, minutes=2))
    caps = caps_of(plan, local=local, duration_s=None)
    assert (caps.dollars, caps.units, caps.minutes) == (dollars, 7, 2)


def test_a_run_that_ends_in_time_is_not_stopped_for_its_minutes() -> None:
    plan = plan_of(budget=BudgetSpec(minutes=2))
    assert caps_of(plan, local=False, duration_s=120.0).minutes is None
    assert caps_of(plan, local=False, duration_s=121.0).minutes == 2


def test_a_run_for_another_time_than_the_scenarios_costs_accordingly() -> None:
    plan = plan_of()
    twice = replace(plan, duration_s=2 * plan.scenario.load.duration_s)
    assert planned_bill(twice).write_units == pytest.approx(2 * planned_bill(plan).write_units, rel=0.02)
    assert lasting(plan.scenario, None) is plan.scenario


def test_an_end_of_the_input_is_a_no() -> None:
    def nothing(_question: str) -> str:
        raise EOFError

    assert not agrees(nothing)
