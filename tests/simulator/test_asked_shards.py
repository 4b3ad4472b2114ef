"""`keys.shards` is honoured by what spreads keys, divided on the way by a simulation, refused by the rest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.scenario.scenario import ScenarioError, load_scenario
from keyheat.simulator.search import outcome_of
from keyheat.simulator.simulate import simulate
from keyheat.simulator.traffic import check_shards, spreads_itself
from tests.make import SCENARIOS, a_scenario, a_shipped

pytestmark = pytest.mark.slow

TASKS: dict[str, Any] = {
    "table": {"name": "orders", "sort_key": "sk", "provisioned": {"read": 1_000, "write": 4_000}},
    "keys": {"kind": "hot_key", "share": 0.9},
    "load": {"duration_s": 30},
    "tasks": [{"operation": "put", "per_s": 2_000}, {"operation": "query", "per_s": 10}],
}


def test_tasks_send_to_as_many_shards_as_are_asked_for() -> None:
    one, eight = a_scenario(**TASKS), a_scenario(**TASKS | {"keys": {**TASKS["keys"], "shards": 8}})
    check_shards(eight)
    assert spreads_itself(eight)
    before, after = (outcome_of(simulate(scenario)) for scenario in (one, eight))
    assert before.share() > 0.2
    assert after.share() < before.share() / 10


def test_a_load_test_that_spreads_no_key_refuses_them(verb: Callable[..., Any]) -> None:
    hot = a_shipped("hotkey")
    check_shards(hot)
    sharded = hot.model_copy(update={"keys": hot.keys.model_copy(update={"shards": 4})})
    with pytest.raises(
        ScenarioError, match=r"spreads no key, so 4 shards change nothing .* @ \$.keys.shards"
    ):
        check_shards(sharded)
    for words in (("plan", "hotkey"), ("run", "hotkey", "--out", "nowhere")):
        said = verb(*words, "--set", "keys.shards=4")
        assert said.code == 2, said.out
        assert "spreads no key" in said.err
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_scenario_of_ours_that_asks_for_shards_gets_them(path: Path) -> None:
    check_shards(load_scenario(path), path.parent)
