"""A budget is held against the bill before a run, and against what came back while it runs."""

from dataclasses import asdict
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.guard.budget import (
    Caps,
    budget_of,
    over_budget,
)
from keyheat.load.guard.options import Guards, InputError
from keyheat.load.guard.watch import LoadWatch
from keyheat.load.record.attempt import ConsumedUnits
from keyheat.load.record.record import Record
from keyheat.plan.bill import Bill
from keyheat.plan.charges import Line, Tariff
from keyheat.plan.prices import load_prices
from keyheat.scenario.spec.part import BudgetSpec

PRICES = load_prices()
BY_UNIT = Tariff(per_hour=0.0, per_write_unit=1e-3, per_read_unit=1e-4)


def bill(dollars: float, units: float) -> Bill:
    return Bill(
        lines=(Line(what="everything", quantity=1, unit="run", each_dollars=dollars),),
        prices=PRICES,
        write_units=units / 2,
        read_units=units / 2,
        hours=1,
        known=True,
        kept_per_hour=0.0,
    )


def test_everything_that_is_too_much_is_said_at_once_with_what_would_allow_it() -> None:
    budget = BudgetSpec(dollars=1.0, units=1000, minutes=2)
    dollars, units, minutes = over_budget(budget, bill(1.234, 5000), 300.0)
    assert "1.234 dollars" in dollars
    assert "--max-dollars 1.24" in dollars
    assert "--max-units 5000" in units
    assert "--max-minutes 5.00" in minutes


def test_the_command_line_goes_first_and_every_mistake_is_said() -> None:
    stated = BudgetSpec(dollars=2.0, units=10)
    assert budget_of(stated, Guards(max_units=5.0)) == BudgetSpec(dollars=2.0, units=5.0)
    with pytest.raises(InputError) as caught:
        budget_of(stated, Guards(max_dollars=-1.0, max_minutes=0.0))
    assert [line.split(":")[0] for line in caught.value.errors] == ["--max-dollars", "--max-minutes"]


@pytest.mark.parametrize(
    ("caps", "rule"),
    [
        (Caps(units=99), "max_units"),
        (Caps(units=100), None),
        (Caps(dollars=0.0549, tariff=BY_UNIT), "max_dollars"),
        (Caps(dollars=0.0551, tariff=BY_UNIT), None),
        (Caps(minutes=29 / 60), "max_minutes"),
        (Caps(minutes=0.5), None),
        (Caps(), None),
    ],
)
def test_a_cap_is_exceeded_by_more_than_it_allows(caps: Caps, rule: str | None) -> None:
    stop = caps.exceeded(ConsumedUnits(50.0, 50.0), 30.0)
    assert (stop and stop.rule) == rule


def test_an_hour_that_has_begun_is_paid_for_before_and_after_the_load_too() -> None:
    caps = Caps(dollars=1.5, tariff=Tariff(per_hour=1.0, per_write_unit=0.0, per_read_unit=0.0))
    assert caps.exceeded(ConsumedUnits(), 2600.0) is None
    stop = caps.exceeded(ConsumedUnits(), 2800.0)
    assert stop is not None
    assert stop.seen == 2.0


def test_caps_survive_the_wire() -> None:
    caps = Caps(dollars=1.0, minutes=1.0, tariff=BY_UNIT)
    assert Caps.from_wire(asdict(caps)) == caps


def test_a_plan_within_its_budget_goes_on() -> None:
    budget = BudgetSpec(dollars=1.0, units=1000, minutes=2)
    assert list(over_budget(budget, bill(1.0, 1000), 120.0)) == []


@given(st.floats(0.001, 1e5))
def test_what_is_suggested_is_enough(dollars: float) -> None:
    (line,) = over_budget(BudgetSpec(dollars=dollars * 0.999), bill(dollars, 0), 1.0)
    suggested = float(line.split("--max-dollars ")[1].split()[0])
    assert list(over_budget(BudgetSpec(dollars=suggested), bill(dollars, 0), 1.0)) == []


@pytest.mark.parametrize(("consumed", "rule"), [((499.0, 0.0), "max_dollars"), ((0.0, 998.0), "max_units")])
def test_the_cap_that_is_nearest_is_the_one_that_is_named(consumed: tuple[float, float], rule: str) -> None:
    caps = Caps(units=1_000.0, dollars=1.0, tariff=Tariff(per_hour=0, per_write_unit=2e-3, per_read_unit=0))
    record = Record(consumed=ConsumedUnits(*consumed))
    watch = LoadWatch(caps, SimpleNamespace(clock=lambda: 1.0, record=record), lambda: None)
    watch.used_up()
    assert watch.stopped is not None
    assert watch.stopped.rule == rule
