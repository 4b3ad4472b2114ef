"""Each shipped scenario, simulated: its label, and what its plan foretells of what throttles first."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from keyheat.evidence.simulated import evidence_of
from keyheat.model.resources import Cause
from keyheat.plan.plan import predict_throttles
from keyheat.plan.quotas import DEFAULT_QUOTAS
from keyheat.plan.totals import LoadTotals, total_load
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.scenario.variants import without_scaling
from keyheat.simulator.search import outcome_of
from keyheat.simulator.simulate import Simulation, simulate
from tests.agreement import SHORT, verdict
from tests.make import SAMPLED, SCENARIOS

First = tuple[str, str, float] | None
"""The constraint and the resource that throttle first, and the second; None: nothing throttles."""
LATE_S: Final = 5.0
"""A plan leaves chance out: near a limit the first throttle comes some seconds sooner or later."""


def foretold(scenario: Scenario, sent: LoadTotals) -> tuple[First, set[str]]:
    """What throttles first, and all limits that are exceeded."""
    limits = predict_throttles(scenario, sent, quotas=DEFAULT_QUOTAS, scale=scenario.local.scale)
    due = [limit for limit in limits if not (limit.later or limit.behind)]
    first = min(due, key=lambda limit: limit.from_s, default=None)
    found = None if first is None else (first.constraint, first.name, first.from_s)
    return found, {limit.constraint for limit in limits}


def throttled_first(made: Simulation) -> First:
    seconds = [row for row in made.model.decisions() if row["refused"]]
    if not seconds:
        return None
    first_s, counts = min(row["second"] for row in seconds), Counter[tuple[str, str]]()
    for row in seconds:
        name = f"index {row['index']}" if row["index"] else f"table {made.scenario.table.name}"
        for cause, count in row["refused"].items() if row["second"] == first_s else ():
            counts[Cause(cause).constraint, name] += count
    ((constraint, name), _count), *_ = counts.most_common(1)
    return constraint, name, first_s - made.started_s


CONSUMING = {"sharded", "operations", "leaderboard-sharded", "read-cache", "replay", "unique-key"}
"""Scenarios that throttle nothing, and so consume just what is expected."""


@pytest.mark.slow
@pytest.mark.parametrize("path", SAMPLED, ids=lambda path: path.stem)
def test_a_scenario_throttles_as_its_plan_says_and_gets_the_label_that_it_expects(path: Path) -> None:
    stated = load_scenario(path)
    scenario = without_scaling(stated)  # a plan leaves it out
    whole = path.stem in SHORT
    enough = None if whole else lambda client: any(client.throttled.values())
    made = simulate(scenario, folder=SCENARIOS, until=enough)

    sent = total_load(scenario, folder=SCENARIOS, scale=scenario.local.scale)
    (plan, exceeded), run = foretold(scenario, sent), throttled_first(made)
    assert exceeded == ({"table" if path.stem == "auto-scaling-ramp" else stated.expects} - {"none"})
    assert (plan is None) == (run is None), (plan, run)
    if plan is not None and run is not None:
        assert plan[:2] == run[:2]
        assert plan[2] == pytest.approx(run[2], abs=LATE_S)

    if whole:
        found = verdict(evidence_of(made if scenario == stated else simulate(stated, folder=SCENARIOS)))
        assert (found.constraint, found.valid) == (stated.expects, True), found.because

    if path.stem in CONSUMING:
        outcome = outcome_of(made)
        assert outcome.share() == 0
        for key, asked in sent.sides.items():
            consumed = outcome.accepted_per_s[key.index, key.direction] * outcome.seconds
            assert asked.total() == pytest.approx(consumed, rel=0.03, abs=20), key
