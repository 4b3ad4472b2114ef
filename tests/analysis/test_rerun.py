"""A run repeated on the simulator: what is known of it already is not simulated again."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from keyheat.analysis.advice.rerun import Rerun, ScenarioTraffic
from keyheat.plan.prices import Billing, load_prices
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.search import STEADY
from keyheat.simulator.traffic import in_eventual_reads, in_shards
from keyheat.words import WRITE, Direction
from tests.make import a_scenario


def scenario(**changes: Any) -> Scenario:
    raw = {
        "table": {"name": "orders", "provisioned": {"read": 5, "write": 4_000}},
        "keys": {"kind": "hot_key", "share": 0.9}, "load": {"requests_per_s": 2_000, "duration_s": 4},
    }  # fmt: skip
    return a_scenario(**raw | changes)


def rerun(of: Scenario) -> Rerun:
    billing = Billing(load_prices())
    return Rerun(scenario=of, traffic=ScenarioTraffic.of(of), measured=None, billing=billing)


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
        divided(one, 2).simulated(),
        divided(one, 3).simulated(),
        divided(one, 3, Direction.READ).simulated(),
        replace(one, alters=((in_eventual_reads, ()),)).simulated(),
        rerun(scenario(load={"requests_per_s": 1_000, "duration_s": 4})).simulated(),
        rerun(scenario(table={"name": "orders", "provisioned": {"read": 5, "write": 400}})).simulated(),
        rerun(scenario(seed=2)).simulated(),
    ]
    assert len({id(outcome) for outcome in found}) == len(found)


def test_a_load_test_that_was_edited_is_another_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("# the first draft")
    mine = scenario(loadtest=str(file))
    before = ScenarioTraffic.of(mine)
    assert ScenarioTraffic.of(mine) == before
    os.utime(file, ns=(0, 0))
    assert ScenarioTraffic.of(mine) != before
