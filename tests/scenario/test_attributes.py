"""Attributes that a scenario describes: what is refused, what items get, and where index entries go."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from keyheat.load.users.items import ItemTemplate
from keyheat.plan.plan import ScenarioPlan, plan_run
from keyheat.plan.prices import load_prices
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.simulator.dryrun import assumptions_of
from keyheat.words import Direction
from tests.make import a_scenario_of_tenants

NOW_S = 1_796_083_200.0
DRAWN = 2_000
VIEWS = """
from locust import task

from keyheat.load.users.user import TableUser


class Visitor(TableUser):
    @task(9)
    def view(self) -> None:
        self.put(self.draw_key(), self.next_sort_key(), attributes={"misspelt": "view"})

    @task(1)
    def leave(self) -> None:
        self.put(self.draw_key(), self.next_sort_key(), attributes={"event_type": None})
"""


@pytest.fixture
def raw() -> dict[str, Any]:
    types = {"view": 50, "click": 20, "buy": 10, "share": 10, "like": 10}
    return a_scenario_of_tenants(
        attributes={
            "event_type": {"values": types},
            "owner": {"copy_of": "partition_key"},
            "day": {"timestamp": "day"},
            "score": {"range": [5, 7]},
        },
        load={"users": 50, "duration_s": 30, "item_bytes": 3_000},
        tasks=[{"operation": "put", "per_s": 1_500}],
    )


def plan_of(raw: dict[str, Any]) -> ScenarioPlan:
    return plan_run(scenario_from_dict(raw, "events.toml"), load_prices(), margin=1.5, folder=Path())


def items_of(raw: dict[str, Any]) -> list[dict[str, dict[str, str]]]:
    items = ItemTemplate(scenario_from_dict(raw, "events.toml"), now_s=lambda: NOW_S)
    rng = Random(7)
    return [orjson.loads(items.item("t1", "s1", rng)) for _ in range(DRAWN)]


def test_items_have_the_values_that_are_described(raw: dict[str, Any]) -> None:
    items = items_of(raw)
    types = Counter(item["event_type"]["S"] for item in items)
    assert types["view"] == pytest.approx(DRAWN / 2, rel=0.1)
    assert types["like"] == pytest.approx(DRAWN / 10, rel=0.3)
    assert {item["owner"]["S"] for item in items} == {"t1"}
    assert {item["day"]["S"] for item in items} == {"2026-12-01"}
    assert {item["score"]["S"] for item in items} == {"5", "6", "7"}


def test_a_count_with_an_exponent_is_zipf(raw: dict[str, Any]) -> None:
    raw["attributes"]["event_type"] = {"count": 50, "exponent": 1.0}
    types = Counter(item["event_type"]["S"] for item in items_of(raw))
    assert types["00"] / types["01"] == pytest.approx(2, rel=0.3)


def test_hot_values_have_their_shares_and_the_others_the_rest(raw: dict[str, Any]) -> None:
    raw["attributes"]["event_type"] = {"count": 12, "hot": [0.5, 0.3]}
    shares = scenario_from_dict(raw, "events.toml").attributes["event_type"].shares
    assert list(shares.values()) == [0.5, 0.3, *[pytest.approx(0.02)] * 10]
    types = Counter(item["event_type"]["S"] for item in items_of(raw))
    assert types["00"] / types.total() == pytest.approx(0.5, abs=0.05)


def test_the_hottest_partition_of_the_index_is_that_of_the_hot_value(raw: dict[str, Any]) -> None:
    plan = plan_of(raw)
    assert plan.assumed == ()
    (index,) = (
        one for side, one in plan.sent.sides.items() if side.index and side.direction is Direction.WRITE
    )
    assert index.hottest.key_per_s == pytest.approx(1_500 * 3 / 2, rel=0.01)


def test_what_nobody_describes_is_assumed_and_said(raw: dict[str, Any]) -> None:
    del raw["attributes"]["event_type"]
    (said,) = plan_of(raw).assumed
    assert said.startswith("Assumed: event_type has 1,000 values, each as often as the others.")
    assert "[attributes.event_type]" in said


@pytest.mark.opens
def test_what_only_some_tasks_put_is_assumed_for_the_others(raw: dict[str, Any], tmp_path: Path) -> None:
    del raw["attributes"]["event_type"], raw["tasks"]
    raw["loadtest"] = "./views.py"
    (tmp_path / "views.py").write_text(VIEWS)
    (said,) = assumptions_of(scenario_from_dict(raw, "views.toml"), tmp_path)
    assert said.startswith("Assumed: event_type has 1,000 values")
