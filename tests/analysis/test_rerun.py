"""A run repeated on the simulator: what advice would come to, and what is known of it already.

Tests of what a replay shows are in `tests/cases/test_tried_cures.py`.
"""

import os
import shutil
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.advice.demand import Scheduled, on_burst
from keyheat.analysis.advice.rerun import Rerun, rerun_of
from keyheat.analysis.advice.search import cured
from keyheat.analysis.heat import RunHeat
from keyheat.analysis.timeline import timeline
from keyheat.plan.prices import Billing, load_prices
from keyheat.runs.formats import HotKey
from keyheat.scenario.scenario import Scenario
from keyheat.shipped import shipped
from keyheat.simulator.search import STEADY
from keyheat.simulator.traffic import in_eventual_reads, in_shards
from keyheat.simulator.whatif import shards_enough
from keyheat.words import READ, WRITE, Direction
from tests.analysis.conftest import advice_case, diagnosed
from tests.make import START, a_scenario, an_evidence

BILLING = Billing(load_prices())


def scenario(**changes: Any) -> Scenario:
    raw = {
        "table": {"name": "orders", "provisioned": {"read": 5, "write": 4_000}},
        "keys": {"kind": "hot_key", "share": 0.9}, "load": {"requests_per_s": 2_000, "duration_s": 4},
    }  # fmt: skip
    return a_scenario(**raw | changes)


def rerun(of: Scenario) -> Rerun:
    return Rerun(scenario=of, measured=None, billing=BILLING, target_utilisation=0.7)


def divided(one: Rerun, count: int, direction: Direction = WRITE) -> Rerun:
    return replace(one, alters=((in_shards, (count, direction, None)),))


def test_the_same_run_is_simulated_once_whatever_it_is_called() -> None:
    first, renamed = (rerun(scenario(name=name, question=name)) for name in ("hot", "before-1"))
    assert first.simulated() is renamed.simulated()
    shards = [divided(one, 4) for one in (first, renamed)]
    assert shards[0].simulated() is shards[1].simulated()
    assert shards[0].simulated().share() < first.simulated().share()


def test_whatever_makes_a_difference_is_simulated_by_itself() -> None:
    one = rerun(scenario())
    found = [
        one.simulated(),
        one.simulated(STEADY),
        one.simulated(most_s=3),
        divided(one, 2).simulated(),
        divided(one, 3).simulated(),
        divided(one, 3, READ).simulated(),
        replace(one, alters=((in_eventual_reads, ()),)).simulated(),
        rerun(scenario(load={"requests_per_s": 1_000, "duration_s": 4})).simulated(),
        rerun(scenario(table={"name": "orders", "provisioned": {"read": 5, "write": 400}})).simulated(),
        rerun(scenario(seed=2)).simulated(),
    ]
    assert len({id(outcome) for outcome in found}) == len(found)


def test_a_load_test_that_was_edited_is_another_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    shutil.copy(shipped("loadtests") / "hotkey.py", file)
    mine = rerun(scenario(loadtest=str(file)))
    before = mine.simulated()
    assert mine.simulated() is before
    os.utime(file, ns=(0, 0))
    assert mine.simulated() is not before


def test_a_month_is_priced_with_the_indexes_before_anything_is_simulated() -> None:
    pair = {"read": 50, "write": 15}
    index = {"name": "by_day", "partition_key": "d", "provisioned": pair}
    one = rerun(a_scenario(table={"name": "orders", "provisioned": pair, "indexes": [index]}))
    assert one.dollars(None) == pytest.approx(2 * (15 * 0.00065 + 50 * 0.00013) * 730)


@pytest.mark.slow
def test_a_short_run_gets_prefixes_of_an_index_for_ever() -> None:
    pair = {"read": 500, "write": 8_000}
    index = {"name": "by-carrier", "partition_key": "carrier", "sort_key": "due", "provisioned": pair}
    shipments = a_scenario(
        table={"name": "shipments", "sort_key": "sk", "provisioned": pair, "indexes": [index]},
        attributes={"carrier": {"values": {"dhl": 95, "ups": 3, "fedex": 2}}},
        load={"users": 10, "duration_s": 20, "item_bytes": 20_000},
        tasks=[{"operation": "put", "per_s": 180}],
    )
    hot = HotKey(key="dhl", share=0.95, throttles=9, units_per_s=3_420.0, direction="write")
    of_index = {"resource": "by-carrier", "index_key": "carrier", "warm": 8_000}
    case = advice_case(demand=None, heat=RunHeat("write", (hot,), ()), **of_index)
    one = rerun(shipments)
    one = replace(one, measured=one.simulated().share())  # what the simulator makes of it
    _advised, cure = cured([case], one, lambda _limit: None)
    assert [(step.action, step.shards) for step in cure.steps] == [
        ("change_index_key", shards_enough(shipments, "by-carrier"))
    ]


@pytest.mark.parametrize(("attempts", "is_repeated"), [(10_000_000, True), (10_000_001, False)])
def test_an_absurd_demand_is_not_repeated(attempts: int, is_repeated: bool) -> None:
    row = {"second": START, "direction": "write", "consumed": 0.0, "attempts": attempts}
    small = {"provisioned": {"read": 5, "write": 40}}
    evidence = an_evidence(minutes=1, table=small, seconds=[row | {"throttled": attempts}])
    labels = diagnosed(evidence).labels
    found = rerun_of(
        evidence, timeline(evidence), labels[0], client=None, scenario=None, heats=(), billing=BILLING,
        target_utilisation=0.7,
    )  # fmt: skip
    assert (found is not None) == is_repeated


HAS = {"read": 100, "write": 3_000}
INDEX = {"name": "by-depot", "partition_key": "depot", "provisioned": HAS}


@pytest.mark.parametrize(
    ("hottest_per_s", "key_per_s", "buffer_full_s", "is_exceeded"),
    [
        (1_080, 925, 222.0, True),  # keys that share a partition fill its buffer
        (1_080, 925, None, False),  # they are parted before it is full
        (1_200, 1_150, None, True),  # one key is never parted
    ],
)
def test_a_partition_of_an_index_is_exceeded_while_its_buffer_fills(
    hottest_per_s: float, key_per_s: float, buffer_full_s: float | None, is_exceeded: bool
) -> None:
    needs = Scheduled(
        per_s=1_600, by_second=[1_600.0], partition_per_s=1_000, partitions=3,
        hottest_per_s=hottest_per_s, key_per_s=key_per_s, buffer_full_s=buffer_full_s,
    )  # fmt: skip
    table = {"name": "scans", "provisioned": HAS, "indexes": [INDEX]}
    carried = on_burst(a_scenario(table=table), {("by-depot", WRITE): needs})
    assert carried == ({("partition", "by-depot", WRITE): buffer_full_s or inf} if is_exceeded else {})
