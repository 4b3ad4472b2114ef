"""The command that docs/data/accuracy.json was made with, on fewer scenarios: the goals hold."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from tools.accuracy.__main__ import accuracy
from tools.accuracy.run import outcomes, together
from tools.accuracy.score import BEST
from tools.accuracy.tally import GOALS, score_all

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parents[2] / "docs" / "data" / "accuracy.json"
SEED, COUNT = 105, 28  # each situation of the nominal world is among them, and they are quick
CLEARLY = 0.9  # labels that say they are surer than this are right about nine times in ten, or more
Tool = Callable[..., Any]


@pytest.mark.parametrize("count", [10, pytest.param(COUNT, marks=pytest.mark.nightly)])
def test_the_goals_hold_on_a_small_part(tool: Tool, tmp_path: Path, count: int) -> None:
    written = tmp_path / "accuracy.json"
    part = ("--worlds", "nominal", "--seed", SEED, "--scenarios", count)
    said = tool(accuracy, *part, "--jobs", 1, "--json", "--write", written)
    found = json.loads(said.out)
    assert found["missed_goals"] == [], said.err
    assert said.code == 0
    assert (found["seed"], found["scenarios"], list(found["grades"])) == (SEED, count, list(BEST))
    for score in found["grades"].values():
        spans = sum(cell["spans"] for cell in score["confusion"])
        assert spans == score["right"]["whole"] >= 0.7 * count
        assert sum(one["right"]["whole"] for one in score["rules"]) > 0
    assert json.loads(written.read_text()) == found
    assert found.keys() == json.loads(KEPT.read_text()).keys()


@pytest.mark.nightly
def test_in_wide_worlds_no_goal_is_missed_by_more_than_chance_and_labels_are_as_sure_as_right() -> None:
    """Of so few scenarios a share may be below its goal, and its interval may not."""
    answered, judged = together(outcomes(SEED, range(COUNT)))
    by_best = {score.best: score for score in score_all(answered, judged)}
    for goal in GOALS["wide"]:
        share = getattr(by_best[goal.best], goal.of)
        interval = binomtest(share.part, share.whole).proportion_ci(0.95, method="wilson")
        assert interval.high >= goal.at_least, goal.name
    for best in BEST:
        sure = [label for label in judged if label.best == best and label.confidence >= CLEARLY]
        right = sum(label.right for label in sure)
        assert len(sure) >= 8, best
        assert right >= 0.85 * len(sure), (best, [label for label in sure if not label.right])


def test_one_scenario_is_explained(tool: Tool) -> None:
    said = tool(accuracy, "--seed", SEED, "--only", 1)
    assert said.code == 0
    assert said.says("Scenario 1:")
    assert said.says("What really throttled")
    assert said.says("Labels by CloudWatch's minutes alone")
