"""What a run costs at most: by the unit, by the hour begun, once, and what has no price."""

from typing import Any

import pytest

from keyheat.plan.bill import Bill, Line, Tariff, bill_of_run
from keyheat.plan.prices import Prices, WarmPrices, load_prices
from keyheat.plan.totals import total_load
from keyheat.scenario.scenario import Scenario
from tests.make import SCENARIOS, a_shipped, shipped_on_demand

BILLED = ("hotkey", "country-index", "on-demand-switch", "table-per-period-on-demand")


def billed(scenario: Scenario | str, prices: Prices | None = None, **wanted: Any) -> Bill:
    made = a_shipped(scenario) if isinstance(scenario, str) else scenario
    sent = wanted.pop("sent") if "sent" in wanted else total_load(made, folder=SCENARIOS)
    return bill_of_run(made, prices or load_prices(), sent, **wanted)


def line(bill: Bill, words: str) -> Line:
    """The one line that has these words in it."""
    (found,) = [one for one in bill.lines if words in one.what]
    return found


@pytest.mark.parametrize(
    ("name", "words", "quantity", "each"),
    [
        # A table that goes on demand, both ways
        ("on-demand-switch", "40 WCU/s provisioned", 40, 0.00065),
        ("on-demand-switch", "WCU consumed on demand", None, 0.625e-6),
        # Whoever follows a stream
        ("aggregate-stream", "GetRecords", 8 * 5 * (50 + 60), 0.2e-6),
    ],
)
def test_what_is_paid_for(name: str, words: str, quantity: float | None, each: float) -> None:
    found = line(billed(name), words)
    assert found.quantity == quantity or quantity is None
    assert found.dollars == pytest.approx(found.quantity * each)


def test_on_demand_units_are_paid_for_one_by_one_those_of_index_entries_too() -> None:
    bill = billed(shipped_on_demand("country-index"))
    writes, entries = line(bill, "WCU consumed on demand, table"), line(bill, "WCU consumed on demand, index")
    assert writes.quantity == entries.quantity == pytest.approx(147_000)
    reads = line(bill, "RCU consumed on demand, index")
    assert bill.dollars == pytest.approx((2 * 147_000 * 0.625 + reads.quantity * 0.125) / 1e6)


def in_three_regions(scenario: Scenario) -> Scenario:
    regions = {"regions": ("eu-west-1", "us-east-1", "ap-southeast-2")}
    return scenario.model_copy(update={"table": scenario.table.model_copy(update=regions)})


@pytest.mark.parametrize("one", [a_shipped("country-index"), shipped_on_demand("country-index")])
def test_each_region_pays_for_the_capacity_or_the_writes_of_all(one: Scenario) -> None:
    """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/global-tables-billing.html"""
    alone, three = billed(one), billed(in_three_regions(one))
    reads = [each.dollars for each in alone.lines if "RCU consumed" in each.what]  # in one Region only
    assert three.dollars == pytest.approx(3 * alone.dollars - 2 * sum(reads))
    assert three.unpriced == ("transfer to 2 Regions, at most",)
    tariff, of_three = (Tariff.of(each, load_prices()) for each in (one, in_three_regions(one)))
    assert of_three.per_write_unit == 3 * tariff.per_write_unit
    assert of_three.per_read_unit == tariff.per_read_unit


def test_pre_warming_without_a_price_is_said_and_not_taken_for_free() -> None:
    bill = billed("pre-warmed")
    assert bill.unpriced == ("pre-warming to 8,000 WCU/s, table keyheat-pre-warmed",)
    priced = load_prices().model_copy(update={"warm": WarmPrices(write_once=0.001, read_once=0.0002)})
    assert line(billed("pre-warmed", priced), "pre-warming").dollars == pytest.approx(4.0)
    assert billed("pre-warmed", priced).dollars == pytest.approx(bill.dollars + 4.0)


def test_what_is_asked_of_cloudwatch_is_on_the_bill_and_left_out_of_the_sum_without_a_price() -> None:
    assert line(billed("hotkey", metric_requests=4_000), "GetMetricData").dollars == pytest.approx(0.04)
    bill = billed("hotkey", load_prices().model_copy(update={"cloudwatch": None}), metric_requests=4_000)
    assert (bill.dollars, bill.unpriced) == (pytest.approx(2.665), ("CloudWatch GetMetricData",))


def test_a_load_test_that_nobody_knows_is_taken_to_write_with_every_request() -> None:
    bill = billed(a_shipped("country-index", loadtest="mine"))
    assert not bill.known
    assert bill.write_units == 150_000 + 2 * 150_000  # each write may move an entry of the index


@pytest.mark.slow
def test_the_capacity_of_a_table_that_was_there_is_not_the_runs() -> None:
    assert billed("country-index", existing=True).lines == ()
    assert billed("dynamic-sharding", existing=True).dollars == pytest.approx(0, abs=0.001)  # its companion
    there = shipped_on_demand("country-index")
    assert billed(there, existing=True).lines == billed(there).lines
    assert Tariff.of(a_shipped("hotkey"), load_prices(), existing=True).per_hour == 0


def test_cleaning_up_costs_what_writing_did_and_reads_the_whole_table() -> None:
    there, terabytes = shipped_on_demand("country-index"), 10e12
    bill = billed(there, existing=True, clean_up=True, table_bytes=terabytes)
    assert line(bill, "deleting").quantity == pytest.approx(2 * 147_000)
    looked = line(bill, "looking for it")
    assert (looked.quantity, looked.dollars) == (terabytes / 8_192, pytest.approx(152.59, abs=0.01))
    assert billed(there, existing=True, table_bytes=terabytes).lines == billed(there, existing=True).lines
    provisioned = billed("hotkey", existing=True, clean_up=True, table_bytes=terabytes)
    assert provisioned.dollars == 0  # out of what it has provisioned


@pytest.mark.parametrize("name", BILLED)
def test_the_meter_never_shows_more_than_the_bill(name: str) -> None:
    bill = billed(name)
    scenario = a_shipped(name)
    tariff = Tariff.of(scenario, load_prices())
    by_unit = sum((one.dollars or 0) for one in bill.lines if one.unit in ("WCU", "RCU"))
    spent = tariff.dollars(bill.write_units, bill.read_units, scenario.load.duration_s)
    assert tariff.per_hour <= spent
    assert by_unit <= spent + 1e-9
    assert tariff.dollars(0, 0, 1) <= bill.dollars


def test_the_meter_runs_with_the_units_and_with_every_hour() -> None:
    tariff = Tariff.of(shipped_on_demand("hotkey"), load_prices())
    assert tariff.dollars(1e6, 2e6, 60) == pytest.approx(0.625 + 0.25)
    tariff = Tariff.of(a_shipped("hotkey"), load_prices())
    for seconds, hours in ((0, 1), (60, 1), (3_600, 1), (3_601, 2)):
        assert tariff.dollars(1e6, 2e6, seconds) == pytest.approx(hours * 2.665)
