"""What advice would come to: the same demand on the simulator, believed only where it repeats the run."""

from dataclasses import replace

import pytest

from keyheat.analysis.advice.rerun import Rerun, rerun_of
from keyheat.analysis.advice.search import cured
from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.heat import RunHeat
from keyheat.analysis.rules import Thresholds
from keyheat.analysis.timeline import timeline
from keyheat.evidence.simulated import evidence_of
from keyheat.plan.prices import Billing, load_prices
from keyheat.runs.formats import Diagnosis, HotKey, Recommendation
from keyheat.scenario.scenario import Scenario
from keyheat.show.advice import outlook
from keyheat.simulator.simulate import simulate
from keyheat.simulator.traffic import traffic_of
from keyheat.simulator.whatif import shards_enough
from tests.analysis.conftest import advice_case
from tests.make import START, a_scenario, an_evidence


def advice(diagnosis: Diagnosis, action: str) -> Recommendation:
    return next(one for one in diagnosis.recommendations if one.action == action)


def rerun_for(scenario: Scenario, *, by_schedule: bool = False) -> Rerun:
    return Rerun(
        scenario=scenario, traffic=lambda: traffic_of(scenario, seed=scenario.seed),
        by_schedule=by_schedule, measured=None, billing=Billing(load_prices()),
    )  # fmt: skip


@pytest.mark.slow
def test_capacity_for_the_demand_ends_the_throttling(numbers: Thresholds) -> None:
    """By what the client of a simulated run saw, without a metric and without its scenario."""
    table = {"name": "orders", "provisioned": {"read": 5, "write": 40}}
    scenario = a_scenario(table=table, load={"requests_per_s": 2_000, "duration_s": 60})
    evidence = evidence_of(simulate(scenario)).model_copy(update={"series": ()})
    diagnosis = diagnose(evidence, client=None, thresholds=numbers, scenario=None)
    raised = advice(diagnosis, "raise_capacity")
    assert raised.foreseen.throttle_share_before > 0.5
    assert raised.foreseen.throttle_share_after == 0
    assert raised.units is not None
    per_unit = raised.bill.after_dollars_per_month / (raised.units + 5 / 5)  # a read unit costs a fifth
    assert per_unit == pytest.approx(0.00065 * 730, rel=0.02)
    assert raised.bill.after_dollars_per_month > 10 * raised.bill.before_dollars_per_month
    assert "no attempt would be throttled" in outlook(raised)
    late = advice(diagnosis, "auto_scaling").foreseen
    assert late.throttle_share_after == pytest.approx(late.throttle_share_before, abs=0.02)


def test_a_month_is_priced_with_the_indexes_before_anything_is_simulated() -> None:
    pair = {"read": 50, "write": 15}
    index = {"name": "by_day", "partition_key": "d", "provisioned": pair}
    rerun = rerun_for(a_scenario(table={"name": "orders", "provisioned": pair, "indexes": [index]}))
    assert rerun.dollars(None) == pytest.approx(2 * (15 * 0.00065 + 50 * 0.00013) * 730)


@pytest.mark.slow
def test_a_short_run_gets_prefixes_of_an_index_for_ever(
    numbers: Thresholds,
) -> None:
    pair = {"read": 500, "write": 8_000}
    index = {"name": "by-carrier", "partition_key": "carrier", "sort_key": "due", "provisioned": pair}
    scenario = a_scenario(
        table={"name": "shipments", "sort_key": "sk", "provisioned": pair, "indexes": [index]},
        attributes={"carrier": {"values": {"dhl": 95, "ups": 3, "fedex": 2}}},
        load={"users": 10, "duration_s": 20, "item_bytes": 20_000},
        tasks=[{"operation": "put", "per_s": 180}],
    )
    hot = HotKey(key="dhl", share=0.95, throttles=9, units_per_s=3_420.0, direction="write")
    heat = RunHeat("write", (hot,), ())
    of_index = {"resource": "by-carrier", "index_key": "carrier", "warm": 8_000}
    case = advice_case(numbers, demand=None, heat=heat, **of_index)
    rerun = rerun_for(scenario, by_schedule=True)
    rerun = replace(rerun, measured=rerun.simulated().share())  # what the simulator makes of it
    _advised, cure = cured([case], rerun, lambda _limit: None)
    assert [(step.action, step.shards) for step in cure.steps] == [
        ("change_index_key", shards_enough(scenario, "by-carrier"))
    ]


@pytest.mark.parametrize(("attempts", "is_repeated"), [(10_000_000, True), (10_000_001, False)])
def test_an_absurd_demand_is_not_repeated(attempts: int, is_repeated: bool, numbers: Thresholds) -> None:
    row = {"second": START, "direction": "write", "consumed": 0.0, "attempts": attempts}
    small = {"provisioned": {"read": 5, "write": 40}}
    evidence = an_evidence(minutes=1, table=small, seconds=[row | {"throttled": attempts}])
    labels = diagnose(evidence, client=None, thresholds=numbers, scenario=None).labels
    found = rerun_of(
        evidence, timeline(evidence), labels[0], client=None, scenario=None, heats=(),
        billing=Billing(load_prices()),
    )  # fmt: skip
    assert (found is not None) == is_repeated
