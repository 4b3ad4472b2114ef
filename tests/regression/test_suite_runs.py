"""The runs of a suite, in their order."""

from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from keyheat.regression.session import plan_runs
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.variants import with_shards
from tests.regression.outcomes import a_suite_case, a_suite_of

FOLDER = Path("runs")
case = partial(a_suite_case, scenario="sharded")


def test_every_case_once_and_then_every_case_again() -> None:
    runs = plan_runs(a_suite_of(case("a", repetitions=3), case("b"), case("c", repetitions=2)), FOLDER)
    assert [(run.case.name, run.repetition) for run in runs] == [
        ("a", 0), ("b", 0), ("c", 0), ("a", 1), ("c", 1), ("a", 2),
    ]  # fmt: skip
    assert [str(run.folder) for run in runs][:4] == ["runs/a/1", "runs/b/1", "runs/c/1", "runs/a/2"]
    assert {run.side for run in runs} == {"after"}


def test_pairs_turn_round_so_that_drift_meets_both_sides_alike() -> None:
    runs = plan_runs(a_suite_of(case("a", repetitions=4), case("b", repetitions=4)), FOLDER, before={})
    sides = [run.side[0] for run in runs if run.case.name == "a"]
    assert "".join(sides) == "baabbaab"
    places = {
        side: [place for place, run in enumerate(runs) if run.side == side] for side in ("before", "after")
    }
    assert sum(places["before"]) == sum(places["after"])
    for first, second in pairwise(runs[::2]):
        assert first.case != second.case  # a pair stays together, and then comes the other case
    assert runs[0].folder == Path("runs/a/1-before")
    assert len({run.folder for run in runs}) == len(runs)


def test_both_of_a_pair_have_the_same_seed_and_each_its_scenario() -> None:
    one = case("a", repetitions=3)
    few = with_shards(one.scenario, 2)
    runs = plan_runs(a_suite_of(one), FOLDER, before={"a": few})
    assert [run.scenario.seed for run in runs] == [1, 1, 2, 2, 3, 3]
    for run in runs:
        assert run.scenario.keys.shards == (2 if run.side == "before" else 20)
        assert run.scenario.model_copy(update={"seed": 1}) == (few if run.side == "before" else one.scenario)


@pytest.mark.parametrize("name", ["sharded", "replay"])
def test_its_scenario_is_written_as_it_is_run(tmp_path: Path, name: str) -> None:
    one = case("a", repetitions=2, scenario=name)
    for run in plan_runs(a_suite_of(one), tmp_path):
        file = run.write()
        assert file == tmp_path / "a" / f"{run.repetition + 1}.json"
        again = load_scenario(file)
        assert again == run.scenario
        if again.keys.trace is not None:
            assert again.keys.trace_path(file.parent).exists()
