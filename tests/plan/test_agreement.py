"""A plan foretells what the simulation of each shipped scenario does: what throttles first, and when."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from keyheat.plan.plan import predict_throttles
from keyheat.plan.quotas import DEFAULT_QUOTAS
from keyheat.plan.totals import total_load
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.scenario.variants import without_scaling
from keyheat.simulator.simulate import simulate
from tests.make import SCENARIOS
from tests.small_runs import SAMPLED

First = tuple[str, str, float] | None
"""The constraint and the resource that throttle first, and the second; None: nothing throttles."""
LATE_S: Final = 5.0
"""A plan leaves chance out: near a limit the first throttle comes some seconds sooner or later."""


def foretold(scenario: Scenario) -> tuple[First, set[str]]:
    """What throttles first, and all limits that are exceeded."""
    sent = total_load(scenario, folder=SCENARIOS, scale=scenario.local.scale)
    assert sent is not None
    limits = predict_throttles(scenario, sent, quotas=DEFAULT_QUOTAS, scale=scenario.local.scale)
    due = [limit for limit in limits if not (limit.later or limit.behind)]
    first = min(due, key=lambda limit: limit.from_s, default=None)
    found = None if first is None else (first.constraint, first.name, first.from_s)
    return found, {limit.constraint for limit in limits}


def simulated(scenario: Scenario) -> First:
    made = simulate(scenario, folder=SCENARIOS, until=lambda client: any(client.throttled.values()))
    table, counts = scenario.table.name, Counter[tuple[str, str]]()
    for resource in (None, *made.model.index_names):
        lanes = made.model.resource(resource)
        name = f"table {table}" if resource is None else f"index {resource}"
        for lane in (lanes.write, lanes.read):
            for cause, minutes in lane.meter.throttles_by_minute().items():
                counts[cause.constraint, name] += sum(tally.sum for tally in minutes.values())
    if not counts.total():
        return None
    ((constraint, name), _count), *_ = counts.most_common(1)
    return constraint, name, made.ended_s - made.started_s - 1


@pytest.mark.slow
@pytest.mark.parametrize("path", SAMPLED, ids=lambda path: path.stem)
def test_a_plan_names_the_limit_that_throttles_first_and_when(path: Path) -> None:
    scenario = without_scaling(load_scenario(path))  # a plan leaves it out
    (plan, exceeded), run = foretold(scenario), simulated(scenario)
    expected = "table" if path.stem == "auto-scaling-ramp" else scenario.expects
    assert exceeded == ({expected} - {"none"})
    assert (plan is None) == (run is None), (plan, run)
    if plan is not None and run is not None:
        assert plan[:2] == run[:2]
        assert plan[2] == pytest.approx(run[2], abs=LATE_S)
