"""One budget for all runs of a process: what each leaves to the next, and when nothing is left."""

from dataclasses import replace

import pytest

from keyheat.load.guard.budget import Caps, Spending
from keyheat.load.record.attempt import ConsumedUnits
from keyheat.plan.charges import Tariff
from keyheat.runs.manifest import Rule, Stop

CAPS = Caps(
    units=500, dollars=2.0, minutes=10.0, tariff=Tariff(per_hour=0.5, per_write_unit=0, per_read_unit=0)
)


def test_the_next_run_has_what_is_left() -> None:
    spending = Spending(CAPS)
    spending.note("a", ConsumedUnits(write_units=100), 60.0)
    spending.note("a", ConsumedUnits(write_units=150, read_units=50), 120.0)  # more came back in the end
    spending.note("b", ConsumedUnits(write_units=100), 60.0)
    left = spending.left()
    assert (left.units, left.minutes, left.dollars) == (200, 7.0, 1.0)
    assert "share, 1.00 dollars and 200 units and 7.0 minutes are left" in str(spending.left_text())
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
    for number in range(runs):
        assert spending.refusal() is None
        spending.note(str(number), ConsumedUnits(write_units=units), elapsed_s)
    assert words in str(spending.refusal())


@pytest.mark.parametrize(("rule", "spent"), [("max_units", True), ("throttle_share", False)])
def test_a_cap_that_ended_a_run_is_spent_and_a_rule_is_not(rule: Rule, spent: bool) -> None:
    """A run ends a little below its cap; what is left would make another table for a moment of load."""
    spending = Spending(CAPS)
    spending.note("a", ConsumedUnits(write_units=490), 1.0, Stop(rule=rule, limit=500, seen=490, at_s=1.0))
    assert ("490 of 500 units" in str(spending.refusal())) is spent


def test_a_budget_below_the_first_hour_is_refused_before_anything_is_made() -> None:
    refusal = Spending(replace(CAPS, dollars=0.25)).refusal()
    assert "first hour of its tables costs 0.5 dollars" in str(refusal)
    assert "allow it with --max-dollars 0.51 (" in str(refusal)


def test_the_first_run_has_all_of_it() -> None:
    spending = Spending(CAPS)
    assert (spending.left(), spending.refusal(), spending.left_text()) == (CAPS, None, None)


def test_without_caps_nothing_is_refused() -> None:
    spending = Spending(Caps())
    spending.note("a", ConsumedUnits(write_units=1e12), 1e6)
    assert (spending.refusal(), spending.left_text()) == (None, None)
