"""A budget is held against the bill before a run, and against what came back while it runs.

All runs of a process share one: what each leaves to the next, and when nothing is left.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.options import Guards, InputError
from keyheat.load.record.attempt import ConsumedUnits
from keyheat.load.run.consent import budget_of, over_budget
from keyheat.load.run.watch import Caps, Spending
from keyheat.plan.bill import Bill, Line, Tariff
from keyheat.plan.prices import load_prices
from keyheat.runs.manifest import Rule, Stop
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
        (Caps(dollars=0.0639, tariff=BY_UNIT), "max_dollars"),
        (Caps(dollars=0.0641, tariff=BY_UNIT), None),
        (Caps(minutes=29 / 60), "max_minutes"),
        (Caps(minutes=0.5), None),
        (Caps(), None),
    ],
)
def test_a_cap_is_exceeded_by_more_than_it_allows(caps: Caps, rule: str | None) -> None:
    stop = caps.exceeded(ConsumedUnits(write_units=60.0, read_units=40.0), 30.0)
    assert (stop and stop.rule) == rule


def test_an_hour_that_has_begun_is_paid_for_before_and_after_the_load_too() -> None:
    caps = Caps(dollars=1.5, tariff=Tariff(per_hour=1.0, per_write_unit=0.0, per_read_unit=0.0))
    assert caps.exceeded(ConsumedUnits(), 2600.0) is None
    stop = caps.exceeded(ConsumedUnits(), 2800.0)
    assert stop is not None
    assert stop.seen == 2.0


@given(st.floats(0.001, 1e5))
def test_what_is_suggested_is_enough(dollars: float) -> None:
    (line,) = over_budget(BudgetSpec(dollars=dollars * 0.999), bill(dollars, 0), 1.0)
    suggested = float(line.split("--max-dollars ")[1].split()[0])
    assert list(over_budget(BudgetSpec(dollars=suggested), bill(dollars, 0), 1.0)) == []


CAPS = Caps(
    units=500, dollars=2.0, minutes=10.0, tariff=Tariff(per_hour=0.5, per_write_unit=0, per_read_unit=0)
)


def test_the_first_run_has_all_of_it_and_the_next_what_is_left() -> None:
    spending = Spending(CAPS)
    assert (spending.left(), spending.refusal()) == (CAPS, None)
    spending.note(ConsumedUnits(write_units=150, read_units=50), 120.0)
    spending.note(ConsumedUnits(write_units=100), 60.0)
    left = spending.left()
    assert (left.units, left.minutes, left.dollars) == (200, 7.0, 1.0)
    assert spending.refusal() is None


@pytest.mark.parametrize(
    ("units", "elapsed_s", "runs", "words"),
    [
        (501, 1.0, 1, "501 of 500 units: start Locust again for a new one, --max-units says"),
        (1, 601.0, 1, "10 of 10 minutes: start Locust again for a new one, --max-minutes"),
        (1, 1.0, 4, "2.00 of 2.00 dollars: start Locust again for a new one, --max-dollars says"),
    ],
)
def test_nothing_is_started_once_a_cap_is_reached(
    units: float, elapsed_s: float, runs: int, words: str
) -> None:
    spending = Spending(CAPS)
    for _ in range(runs):
        assert spending.refusal() is None
        spending.note(ConsumedUnits(write_units=units), elapsed_s)
    assert words in str(spending.refusal())


@pytest.mark.parametrize(("rule", "spent"), [("max_units", True), ("throttle_share", False)])
def test_a_cap_that_ended_a_run_is_spent_and_a_rule_is_not(rule: Rule, spent: bool) -> None:
    """A run ends a little below its cap; what is left would make another table for a moment of load."""
    spending = Spending(CAPS)
    spending.note(ConsumedUnits(write_units=490), 1.0, Stop(rule=rule, limit=500, seen=490, at_s=1.0))
    assert ("490 of 500 units" in str(spending.refusal())) is spent


def test_a_budget_below_the_first_hour_is_refused_before_anything_is_made() -> None:
    refusal = Spending(replace(CAPS, dollars=0.25)).refusal()
    assert "first hour of its tables costs 0.5 dollars" in str(refusal)
    assert "allow it with --max-dollars 0.51 (" in str(refusal)
