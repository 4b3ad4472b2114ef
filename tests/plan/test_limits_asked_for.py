"""Which limits are asked for more than they have, before anything is sent."""

from typing import Any

import numpy as np
import pytest

from keyheat.model.behaviour import DEFAULT
from keyheat.plan.plan import ThrottleForecast, exhaustion_s, predict_throttles, provisioned_per_s
from keyheat.plan.quotas import DEFAULT_QUOTAS, Quotas, unknown_quotas
from keyheat.plan.totals import ResourceSide, total_load
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.simulate import simulate
from keyheat.words import Capacity, Direction
from tests.make import SCENARIOS, a_scenario, a_shipped, shipped_on_demand

W = Direction.WRITE


def told(scenario: Scenario, quotas: Quotas = DEFAULT_QUOTAS) -> list[ThrottleForecast]:
    scale = scenario.local.scale
    sent = total_load(scenario, folder=SCENARIOS, scale=scale)
    assert sent is not None
    return list(predict_throttles(scenario, sent, quotas=quotas, scale=scale))


def test_what_is_asked_for_is_that_of_the_peak_and_not_of_the_quiet_after_it() -> None:
    steps = [{"per_s": 100, "for_s": 30}, {"per_s": 0.125, "for_s": 1_000}]
    load = {"duration_s": 1_030, "arrivals": "constant", "shape": {"kind": "steps", "steps": steps}}
    (one,) = told(a_shipped("too-small", load=load))
    assert (one.from_s, one.asked_per_s) == (15, pytest.approx(800))


@pytest.mark.parametrize(
    ("asked", "rates", "second"),
    [
        ([10.0] * 100, [10.0] * 100, None),
        ([302.0, 1.0], [1.0, 1.0], 0),
        ([301.0, 1.0, 1.0, 2.0], [1.0] * 4, 3),
        ([301.0, 0.0, 2.0], [1.0] * 3, None),  # what was saved again in between is there
        ([100.0, 100.0], [np.inf, 1.0], None),
    ],
)
def test_saved_capacity_is_spent(asked: list[float], rates: list[float], second: int | None) -> None:
    from_s = exhaustion_s(np.array(asked), np.array(rates), [300 * rate for rate in rates])
    assert (None if from_s is None or from_s >= len(asked) else from_s) == second


def test_after_a_lowered_capacity_the_load_goes_on_under_that_one() -> None:
    rates = np.array([600.0] * 120 + [300.0] * 780)
    from_s = exhaustion_s(np.full(900, 400.0), rates, [300 * rate for rate in rates])
    assert from_s == 120 + 300 * 300 / 100


def test_capacity_follows_the_timeline_and_ends_with_a_switch() -> None:
    scenario = a_shipped("on-demand-switch")
    rates = provisioned_per_s(scenario, ResourceSide(scenario.table.name, None, W), 120)
    assert (rates[44], rates[45]) == (40, np.inf)
    lowered = a_shipped("scale-down")
    rates = provisioned_per_s(lowered, ResourceSide(lowered.table.name, None, W), 120)
    assert rates[0] > rates[119]


def test_a_partition_that_is_full_only_in_a_longer_load_is_so_when_its_burst_is_spent() -> None:
    load = {"requests_per_s": 1_010, "duration_s": 60, "item_bytes": 1_000, "arrivals": "constant"}
    table = {"name": "orders", "provisioned": {"read": 5, "write": 4_000}}
    (one,) = told(a_scenario(table=table, keys={"values": {"hot": 1}}, load=load))
    burst = DEFAULT.partition_depth_s * 1_000
    assert (one.constraint, one.later, one.from_s) == ("partition", True, pytest.approx(burst / 10))


@pytest.mark.slow
def test_the_quota_of_a_table_counts_its_indexes() -> None:
    scenario = shipped_on_demand("country-index-sharded")
    quotas = Quotas(table=Capacity(40_000, 5_000), account=Capacity(), source="account")
    account = told(scenario, quotas)[-1]
    assert (account.constraint, account.limit_per_s) == ("account", 5_000)
    assert account.asked_per_s == pytest.approx(2 * 2_940)
    assert "account" not in {one.constraint for one in told(scenario, unknown_quotas("no answer"))}


AMPLE = {"read": 100, "write": 40_000}
SMALL_INDEX = ({}, {"read": 5, "write": 5}, {"count": 1_000}, 400)
HOT_VALUE = ({}, {}, {"values": {"hot": 97, "cold": 3}}, 1_400)
SMALL_TABLE = ({"read": 5, "write": 60}, {}, {"count": 1_000}, 200)


def with_index(
    design: tuple[dict[str, int], dict[str, int], dict[str, Any], int], mode: str, seconds: int, scale: float
) -> Scenario:
    """A table with an index, whose capacity is that of the design, provisioned or as an on-demand maximum."""
    of_table, of_index, values, per_s = design
    field = "provisioned" if mode == "PROVISIONED" else "max_on_demand"
    warm = {} if mode == "PROVISIONED" else {"warm": {"read": 12_000, "write": 12_000}}
    index = {"name": "by_a", "partition_key": "a", field: of_index or AMPLE, **warm}
    table = {"name": "orders", "billing_mode": mode, field: of_table or AMPLE, "indexes": [index], **warm}
    return a_scenario(
        table=table,
        keys={"kind": "uniform", "keys": 1_000_000},
        attributes={"a": values},
        load={"users": 20, "duration_s": seconds, "item_bytes": 900},
        local={"scale": scale},
        tasks=[{"operation": "put", "per_s": per_s}],
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "mode", "seconds", "scale"),
    [
        (SMALL_INDEX, "PROVISIONED", 60, 1.0),
        (SMALL_INDEX, "PAY_PER_REQUEST", 20, 0.5),
        (HOT_VALUE, "PROVISIONED", 60, 0.5),
        (HOT_VALUE, "PAY_PER_REQUEST", 60, 1.0),
        (SMALL_TABLE, "PROVISIONED", 150, 1.0),
        ((*SMALL_TABLE[:3], 50), "PROVISIONED", 60, 1.0),
    ],
)
def test_the_first_throttle_is_foretold_exactly(design: Any, mode: str, seconds: int, scale: float) -> None:
    scenario = with_index(design, mode, seconds, scale)
    foretold_s = [one.from_s for one in told(scenario) if not (one.later or one.behind)]
    made = simulate(scenario)
    throttled_s = [row[0] - int(made.started_s) for row in made.client.seconds if row[6]]
    assert min(foretold_s, default=None) == min(throttled_s, default=None)
