"""What a run costs at most: by the unit, by the hour begun, once, and what has no price."""

from typing import Any

import pytest

from keyheat.plan.bill import Bill, bill_of_run
from keyheat.plan.charges import Line, Tariff, hours_begun
from keyheat.plan.prices import Prices, load_prices
from keyheat.scenario.scenario import Scenario
from tests.make import SCENARIOS, a_shipped, shipped_on_demand

BILLED = ("hotkey", "country-index", "on-demand-switch", "table-per-period-on-demand")


def billed(scenario: Scenario | str, prices: Prices | None = None, **wanted: Any) -> Bill:
    made = a_shipped(scenario) if isinstance(scenario, str) else scenario
    return bill_of_run(made, prices or load_prices(), folder=SCENARIOS, **wanted)


def line(bill: Bill, words: str) -> Line:
    """The one line that has these words in it."""
    (found,) = [one for one in bill.lines if words in one.what]
    return found


def test_provisioned_capacity_is_paid_for_the_hour_that_has_begun() -> None:
    bill = billed("hotkey")
    assert bill.hours == 1
    assert bill.dollars == pytest.approx(4_000 * 0.00065 + 500 * 0.00013)
    assert (bill.write_units, bill.read_units, bill.known) == (100_000, 0, True)


@pytest.mark.parametrize(("seconds", "hours"), [(0, 1), (3_600, 1), (3_601, 2), (7_200, 2)])
def test_hours_that_have_begun_count_whole(seconds: float, hours: int) -> None:
    assert hours_begun(seconds) == hours


@pytest.mark.slow
def test_a_load_of_an_hour_takes_a_second_one_for_what_is_around_it() -> None:
    assert billed("auto-scaling-ramp").hours == 2


def test_an_index_is_paid_for_beside_its_table() -> None:
    bill = billed("country-index")
    assert line(bill, "4,000 WCU/s provisioned, index by-country").dollars == pytest.approx(2.6)
    assert (
        bill.write_units
        == 2 * line(billed(shipped_on_demand("country-index")), "WCU consumed on demand, table").quantity
    )


def test_on_demand_units_are_paid_for_one_by_one_those_of_index_entries_too() -> None:
    bill = billed(shipped_on_demand("country-index"))
    writes, entries = line(bill, "WCU consumed on demand, table"), line(bill, "WCU consumed on demand, index")
    assert writes.quantity == entries.quantity == pytest.approx(147_000)
    reads = line(bill, "RCU consumed on demand, index")
    assert bill.dollars == pytest.approx((2 * 147_000 * 0.625 + reads.quantity * 0.125) / 1e6)


def test_a_transaction_costs_twice() -> None:
    assert billed("aggregate-transaction").write_units == 2 * 2 * 50_000  # the order and its total


def test_a_companion_is_paid_for_in_its_own_mode() -> None:
    bill = billed("table-per-period-on-demand")
    assert line(bill, "16,000 WCU/s provisioned, table keyheat-events-2026-11").dollars == pytest.approx(10.4)
    written = line(bill, "WCU consumed on demand, table keyheat-events-2026-12")
    assert written.dollars == pytest.approx(written.quantity * 0.625e-6)


def test_a_table_that_goes_on_demand_is_paid_for_both_ways() -> None:
    whats = [one.what for one in billed("on-demand-switch").lines]
    assert whats[0].startswith("40 WCU/s provisioned")
    assert any(what.startswith("WCU consumed on demand") for what in whats)


def test_pre_warming_without_a_price_is_said_and_not_taken_for_free() -> None:
    bill = billed("pre-warmed")
    assert bill.unpriced == ("pre-warming to 8,000 WCU/s, table keyheat-pre-warmed",)
    assert line(bill, "pre-warming").quantity == 4_000  # beyond what an on-demand table starts with
    priced = load_prices().model_copy(update={"warm": _warm(0.001, 0.0002)})
    assert line(billed("pre-warmed", priced), "pre-warming").dollars == pytest.approx(4.0)
    assert billed("pre-warmed", priced).dollars == pytest.approx(bill.dollars + 4.0)


def _warm(write: float, read: float) -> Any:
    from keyheat.plan.prices import WarmPrices

    return WarmPrices(write_once=write, read_once=read)


def test_what_is_asked_of_cloudwatch_is_on_the_bill() -> None:
    bill = billed("hotkey", metric_requests=4_000)
    assert line(bill, "GetMetricData").dollars == pytest.approx(0.04)


def test_whoever_follows_a_stream_pays_for_it() -> None:
    reads = line(billed("aggregate-stream"), "GetRecords")
    assert reads.quantity == 8 * 5 * (50 + 60)
    assert reads.dollars == pytest.approx(reads.quantity * 0.2e-6)


def test_a_list_without_a_price_leaves_it_out_of_the_sum() -> None:
    bare = load_prices().model_copy(update={"cloudwatch": None})
    bill = billed("hotkey", bare, metric_requests=4_000)
    assert bill.dollars == pytest.approx(2.665)
    assert bill.unpriced == ("CloudWatch GetMetricData",)


def test_a_load_test_that_nobody_knows_is_taken_to_write_with_every_request() -> None:
    bill = billed(a_shipped("country-index", loadtest="mine"))
    assert not bill.known
    assert bill.write_units == 150_000 + 2 * 150_000  # each write may move an entry of the index


def test_a_table_that_is_kept_goes_on_costing() -> None:
    assert billed("hotkey").kept_per_hour == 0
    assert billed(a_shipped("hotkey", table={"on_end": "keep"})).kept_per_hour == pytest.approx(2.665)


@pytest.mark.slow
def test_the_capacity_of_a_table_that_was_there_is_not_the_runs() -> None:
    assert billed("country-index", existing=True).lines == ()
    assert billed("dynamic-sharding", existing=True).dollars == pytest.approx(0, abs=0.001)  # its companion
    there = shipped_on_demand("country-index")
    assert billed(there, existing=True).lines == billed(there).lines
    assert Tariff.of(a_shipped("hotkey"), load_prices(), existing=True).per_hour == 0


def test_what_dynamic_sharding_may_ask_for_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It raises the table's capacity while it loads, and the budget holds over that."""
    monkeypatch.setattr("keyheat.plan.bill.total_load", lambda *_args, **_more: None)  # it depends on answers
    raising = a_shipped("dynamic-sharding", dynamic_sharding={"max_write_units": 40_000})
    bill = billed(raising)
    assert line(bill, "WCU/s provisioned").dollars == pytest.approx(40_000 * 0.00065)
    assert Tariff.of(raising, load_prices()).per_hour == pytest.approx(
        sum(one.dollars or 0 for one in bill.lines if "provisioned" in one.what)
    )
    assert line(billed("dynamic-sharding"), "WCU/s provisioned").quantity < 40_000


def test_cleaning_up_costs_what_writing_did() -> None:
    deleted = line(billed(shipped_on_demand("country-index"), existing=True, clean_up=True), "deleting")
    assert deleted.quantity == pytest.approx(2 * 147_000)
    assert billed("hotkey", existing=True, clean_up=True).dollars == 0  # out of what it has provisioned


def test_cleaning_up_reads_the_whole_table() -> None:
    there = shipped_on_demand("country-index")
    terabytes = 10e12
    bill = billed(there, existing=True, clean_up=True, table_bytes=terabytes)
    looked = line(bill, "looking for it")
    assert looked.quantity == pytest.approx(terabytes / 8_192)
    assert looked.dollars == pytest.approx(152.59, abs=0.01)
    assert billed(there, existing=True, table_bytes=terabytes).lines == billed(there, existing=True).lines
    provisioned = billed("hotkey", existing=True, clean_up=True, table_bytes=terabytes)
    assert provisioned.dollars == 0


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
    assert tariff.dollars(1e6, 2e6, 60) == pytest.approx(2.665)
    assert tariff.dollars(1e6, 2e6, 3_601) == pytest.approx(2 * 2.665)
