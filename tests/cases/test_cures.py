"""Cures of tables whose index has a write buffer: they name the index, and hold after the buffer is full."""

from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.advice.actions import Applied, Setting, apply
from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.diagnosis import diagnosed as of_evidence
from keyheat.analysis.report import evidence_alone
from keyheat.analysis.rules import load_thresholds
from keyheat.evidence.simulated import evidence_of
from keyheat.plan.plan import predict_throttles
from keyheat.plan.quotas import DEFAULT_QUOTAS
from keyheat.plan.totals import total_load
from keyheat.runs.formats import Cure, CureStep, Diagnosis, Foreseen, Recommendation
from keyheat.scenario.scenario import Scenario, load_scenario, scenario_from_dict
from keyheat.scenario.variants import lasting
from keyheat.show.advice import carried_words, cure_of
from keyheat.show.plan_warnings import foretold_sentence
from keyheat.show.run import run_answer
from keyheat.simulator.search import outcome_of
from keyheat.simulator.simulate import simulate
from keyheat.words import WRITE
from tests.make import an_evidence, consumed, throttle_events

CASES = Path(__file__).parent
TEN_MINUTES_S = 600.0


def diagnosed(scenario: Scenario) -> Diagnosis:
    """The diagnosis of one simulated run."""
    evidence = evidence_of(simulate(scenario))
    return diagnose(evidence, client=None, thresholds=load_thresholds(), scenario=scenario)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scaled-table-and-index", "scaled-index", "unscaled-index"])
def test_a_cure_of_one_minute_names_the_index_and_holds_for_ten(name: str) -> None:
    scenario = load_scenario(CASES / f"{name}.toml")
    diagnosis = diagnosed(scenario)
    assert {label.resource for label in diagnosis.labels} == {"table"}
    assert [step.resource for step in diagnosis.cure.steps] == ["table", "by_a"]
    assert list(carried_words(diagnosis)) == [
        "burst and write buffer carried writes of index by_a, for 3 min 19 s at most: "
        "a longer load will be throttled"
    ]
    longer = lasting(scenario, TEN_MINUTES_S)
    cured = apply(diagnosis.cure.steps, longer, Setting(target_utilisation=0.7))
    assert isinstance(cured, Applied)
    assert outcome_of(simulate(cured.scenario, counts_only=True)).limits == ()


def test_plan_and_simulation_have_one_answer_about_the_write_buffer_of_an_index() -> None:
    scenario = load_scenario(CASES / "index-buffer-plan.toml")
    sent = total_load(scenario)
    assert sent is not None
    (limit,) = predict_throttles(scenario, sent, quotas=DEFAULT_QUOTAS)
    made = simulate(scenario)
    throttled_s = [row[0] - int(made.started_s) for row in made.client.seconds if row[6]]
    assert (limit.constraint, limit.name) == ("table", "index by_a")
    assert limit.from_s == min(throttled_s) == 105
    assert "its burst and write buffer can last 1 min 45 s at most" in foretold_sentence(limit)


INDEXED = CASES / "unscaled-index.toml"
AMPLE = {"read": 5, "write": 9_000}


def with_ample_capacity(per_s: int, **changes: Any) -> Scenario:
    """Half a minute of the indexed table with room for everything, but for what is changed."""
    raw = load_scenario(INDEXED).model_dump(mode="json", exclude_none=True)
    raw["table"]["provisioned"] = raw["table"]["indexes"][0]["provisioned"] = AMPLE
    raw["table"] |= changes.pop("table", {})
    raw["load"] |= {"duration_s": 30.0, "requests_per_s": per_s}
    raw["tasks"][0]["per_s"] = per_s
    return scenario_from_dict(raw | changes, "ample")


def test_a_hot_value_that_a_write_buffer_hides_for_the_whole_run_is_advised_about() -> None:
    scenario = with_ample_capacity(1_300, attributes={"a": {"values": {"dhl": 97, "ups": 3}}})
    evidence = evidence_of(simulate(scenario))
    diagnosis = diagnose(evidence, client=None, thresholds=load_thresholds(), scenario=scenario)
    assert (diagnosis.verdict.constraint, diagnosis.labels) == ("none", ())
    assert "change_index_key" in {one.action for one in diagnosis.recommendations if one.resource == "by_a"}
    (carried,) = carried_words(diagnosis)
    assert carried.startswith("burst and write buffer carried writes of index by_a, for 39 s at most")
    assert run_answer(evidence_alone(evidence, diagnosis)).label == "On saved burst", "not a calm green"


def test_a_demand_above_the_maximum_of_auto_scaling_raises_that_first() -> None:
    bounds = {"write": {"min": 1_200, "max": 1_200}}
    scaled = {"provisioned": {"read": 50, "write": 1_200}, "auto_scaling": bounds}
    diagnosis = diagnosed(with_ample_capacity(1_500, table=scaled))
    by_action = {one.action: one for one in diagnosis.recommendations}
    assert by_action["raise_maximum"].units == 2_143
    raised = by_action["raise_minimum"]
    assert (raised.units, raised.max_units) == (2_143, 2_143)
    assert "The maximum of its auto scaling is 1,200 and has to rise as well" in raised.expected
    assert "Between equal bounds nothing scales: a maximum above that leaves it room." in raised.expected
    eased = by_action["raise_capacity"]
    assert "With this alone, auto scaling may lower it again when the load falls." in eased.why
    assert cure_of(diagnosis) == "raise the maximum of auto scaling to 2,143 WCU/s"


def test_a_cure_whose_price_auto_scaling_changes_says_so() -> None:
    step = CureStep(action="raise_minimum", resource="table", direction=WRITE, units=2_143, max_units=2_143)
    cure = Cure(steps=(step,), throttle_share_before=0.4, throttle_share_after=0.0)
    diagnosis = of_evidence(an_evidence(consumed(200, 200, 200), throttle_events(90, 90, 90), minutes=3))
    outlook = Foreseen(throttle_share_before=0.4, throttle_share_after=0.0)
    eases = Recommendation(
        action="raise_capacity", kind="mitigation", why="", expected="", units=2_143, foreseen=outlook
    )
    verdict = diagnosis.verdict.model_copy(update={"constraint": "table", "valid": True})
    told = {"cure": cure, "verdict": verdict, "recommendations": (eases,)}
    run = evidence_alone(an_evidence(), diagnosis.model_copy(update=told))
    facts = {fact.id: fact for fact in run_answer(run).facts}
    assert (facts["cost"].value, facts["cost"].beside) == (
        "Not known",
        ("auto scaling changes the capacity, and the bill with it",),
    )
    assert facts["now"].beside == ("Simulated: no attempt throttled then, while it lasts.",)
