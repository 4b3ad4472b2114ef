"""The runs of a suite, in their order."""

from functools import partial
from pathlib import Path

import pytest

from keyheat.regression.session import plan_runs
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.variants import with_shards
from tests.conftest import Golden
from tests.make import a_shipped
from tests.regression.outcomes import a_suite_case, a_suite_of

FOLDER = Path("runs")
case = partial(a_suite_case, scenario="sharded")


def test_every_case_is_run_once_and_then_again_and_pairs_take_turns(golden: Golden) -> None:
    """Pairs turn round, so that drift meets both sides alike; both of a pair have one seed."""
    thrice = case("a", repetitions=3)
    last = a_shipped("sharded", f"seed={2**63 - 1}")
    suites = {
        "the largest seed": (a_suite_of(case("a", scenario=last, repetitions=2)), None),
        "three cases": (a_suite_of(thrice, case("b"), case("c", repetitions=2)), None),
        "in pairs": (a_suite_of(case("a", repetitions=4), case("b", repetitions=4)), {}),
        "in pairs, of another scenario before": (a_suite_of(thrice), {"a": with_shards(thrice.scenario, 2)}),
    }
    text = ""
    for name, (suite, before) in suites.items():
        text += f"== {name}\n"
        for run in plan_runs(suite, FOLDER, before=before):
            shards = f"seed {run.scenario.seed}, {run.scenario.keys.shards} shards"
            text += f"{run.case.name} {run.repetition} {run.side}: {run.folder}, {shards}\n"
    golden("suite-runs.txt", text)


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
