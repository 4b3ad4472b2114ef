"""A budget is held against the bill before a run, and against what came back while it runs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.load.guard.budget import (
    LOST_S,
    Caps,
    ConsumptionMeter,
    MeteredProcess,
    WrongBudget,
    budget_of,
    over_budget,
)
from keyheat.load.record.attempt import ConsumedUnits
from keyheat.plan.bill import Bill
from keyheat.plan.charges import Line, Tariff
from keyheat.plan.prices import load_prices
from keyheat.scenario.spec.part import BudgetSpec

BY_UNIT = Tariff(per_hour=0.0, per_write_unit=1e-3, per_read_unit=1e-4)


def bill(dollars: float, units: float) -> Bill:
    return Bill(
        lines=(Line(what="everything", quantity=1, unit="run", each_dollars=dollars),),
        prices=load_prices(),
        write_units=units / 2,
        read_units=units / 2,
        hours=1,
        known=True,
        other_mode=None,
        kept_per_hour=0.0,
    )


def test_a_plan_within_its_budget_goes_on() -> None:
    budget = BudgetSpec(dollars=1.0, units=1000, minutes=2)
    assert list(over_budget(budget, bill(1.0, 1000), 120.0)) == []


def test_everything_that_is_too_much_is_said_at_once_with_what_would_allow_it() -> None:
    budget = BudgetSpec(dollars=1.0, units=1000, minutes=2)
    dollars, units, minutes = over_budget(budget, bill(1.234, 5000), 300.0)
    assert "1.234 dollars" in dollars
    assert "--max-dollars 1.24" in dollars
    assert "--max-units 5000" in units
    assert "--max-minutes 5.00" in minutes


@given(st.floats(0.001, 1e5))
def test_what_is_suggested_is_enough(dollars: float) -> None:
    (line,) = over_budget(BudgetSpec(dollars=dollars * 0.999), bill(dollars, 0), 1.0)
    suggested = float(line.split("--max-dollars ")[1].split()[0])
    assert list(over_budget(BudgetSpec(dollars=suggested), bill(dollars, 0), 1.0)) == []


def test_the_command_line_goes_first_and_every_mistake_is_said() -> None:
    stated = BudgetSpec(dollars=2.0, units=10)
    assert budget_of(stated, {"dollars": None, "units": 5.0}) == BudgetSpec(dollars=2.0, units=5.0)
    with pytest.raises(WrongBudget) as caught:
        budget_of(stated, {"dollars": -1.0, "minutes": 0.0})
    assert [line.split(":")[0] for line in caught.value.errors] == ["--max-dollars", "--max-minutes"]


@pytest.mark.parametrize(
    ("caps", "rule"),
    [
        (Caps(units=99), "max_units"),
        (Caps(units=100), None),
        (Caps(dollars=0.0549, tariff=BY_UNIT), "max_dollars"),
        (Caps(dollars=0.0551, tariff=BY_UNIT), None),
        (Caps(seconds=29), "max_minutes"),
        (Caps(seconds=30), None),
        (Caps(), None),
    ],
)
def test_a_cap_is_exceeded_by_more_than_it_allows(caps: Caps, rule: str | None) -> None:
    stop = caps.exceeded(ConsumedUnits(50.0, 50.0, 10), 30.0)
    assert (stop and stop.rule) == rule
    assert caps.any == (caps != Caps())


def test_an_hour_that_has_begun_is_paid_for_before_and_after_the_load_too() -> None:
    caps = Caps(dollars=1.5, tariff=Tariff(per_hour=1.0, per_write_unit=0.0, per_read_unit=0.0))
    assert caps.exceeded(ConsumedUnits(), 2600.0) is None
    stop = caps.exceeded(ConsumedUnits(), 2800.0)
    assert stop is not None
    assert stop.seen == 2.0


def test_caps_survive_the_wire() -> None:
    caps = Caps(dollars=1.0, seconds=60.0, tariff=BY_UNIT)
    assert Caps.from_wire(caps.to_wire()) == caps


def test_as_it_ended_says_what_came_back_in_the_end() -> None:
    caps = Caps(units=100.0)
    stop = caps.exceeded(ConsumedUnits(101.0, 0.0, 1), 10.0)
    assert stop is not None
    ended = caps.as_it_ended(stop, ConsumedUnits(98.0, 1.0, 99), 10.4)
    assert (ended.seen, ended.at_s, ended.limit) == (99.0, 10.0, 100.0)


def pieces(
    name: str, per_s: float, until: int, *, in_flight: int = 0, done: bool = False
) -> list[MeteredProcess]:
    """A source that consumes evenly, two units with each answer, and tells of it once a second."""
    return [
        MeteredProcess(
            name, float(s), ConsumedUnits(per_s * s, 0.0, int(per_s * s / 2)), in_flight, done and s == until
        )
        for s in range(until + 1)
    ]


def meter_of(*sources: list[MeteredProcess]) -> ConsumptionMeter:
    meter = ConsumptionMeter()
    for one in sources:
        for source in one:
            meter.read([source])
    return meter


def test_between_two_pieces_it_goes_on_as_before() -> None:
    meter = meter_of(pieces("a", 1000.0, 5), pieces("b", 500.0, 5))
    assert meter.expected(5.0).units == 7500
    assert meter.expected(5.8).units == pytest.approx(8700)


def test_the_first_piece_of_a_worker_tells_of_a_second() -> None:
    assert meter_of(pieces("a", 1000.0, 1)[1:]).expected(1.5).units == pytest.approx(1500)


def test_what_is_in_flight_costs_what_answers_cost() -> None:
    assert meter_of(pieces("a", 1000.0, 5, in_flight=7)).expected(5.0).units == pytest.approx(5014)


def test_a_source_that_is_done_or_lost_consumes_no_more() -> None:
    assert meter_of(pieces("a", 1000.0, 5, in_flight=7, done=True)).expected(9.0).units == 5000
    assert meter_of(pieces("a", 1000.0, 5)).expected(5.0 + LOST_S + 0.1).units == 5000


def test_what_is_known_already_changes_nothing() -> None:
    meter = meter_of(pieces("a", 1000.0, 5), pieces("a", 1000.0, 5))
    assert meter.expected(6.0).units == pytest.approx(6000)


@given(st.lists(st.floats(0.01, 0.9), min_size=2, max_size=40), st.floats(10, 1e5))
def test_looks_at_odd_times_see_the_same_rate(gaps: list[float], per_s: float) -> None:
    meter, at_s = ConsumptionMeter(), 0.0
    for gap in gaps:
        meter.read([MeteredProcess("here", at_s, ConsumedUnits(0.0, per_s * at_s, int(at_s * 100)), 0)])
        at_s += gap
    assert meter.expected(at_s).units == pytest.approx(per_s * at_s, rel=1e-6)
    totals = [meter.expected(at_s + step).units for step in (0.0, 0.5, 1.0)]
    assert all(later >= earlier for earlier, later in pairwise(totals))
