"""The setup of a run is known before it is made: what the run then finds is what was foreseen."""

from pathlib import Path

import pytest

from keyheat.analysis.summarize import read_summary
from keyheat.analysis.summary import RunSummary
from keyheat.cli.conclude import How
from keyheat.cli.run import make_run
from keyheat.regression.baseline import foreseen
from keyheat.regression.comparability import differences
from keyheat.regression.outcome import Gate
from keyheat.runs.manifest import Machine
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import overridden
from keyheat.simulator.jobs import Job, find_scenario

HERE = {"cores": 2, "memory_bytes": 8 << 30, "cpu": "a CPU"}
ELSEWHERE = {"cores": 4, "memory_bytes": 8 << 30, "cpu": "a CPU"}
NOISY = {"case": [Gate(measure="p99_ms")]}


def made(name: str, folder: Path) -> tuple[RunSummary, Scenario]:
    """A short simulated run, and its scenario."""
    scenario, path = find_scenario(name)
    scenario = overridden(scenario, ["load.duration_s=2"], name)
    make_run(Job(scenario, path, folder), How(target="simulated", report=False, quiet=True))
    return read_summary(folder), scenario


@pytest.mark.slow
@pytest.mark.parametrize("name", ["too-small", "country-index-sharded", "table-per-period-on-demand"])
def test_a_simulated_run_finds_what_was_foreseen(tmp_path: Path, name: str) -> None:
    found, scenario = made(name, tmp_path)
    assert foreseen(found, scenario, "simulated", HERE, existing=False).setup == found.setup


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunSummary, Scenario]:
    return made("too-small", tmp_path_factory.mktemp("run"))


def on(found: RunSummary, **setup: object) -> RunSummary:
    """The run as if it had been made somewhere else."""
    from keyheat.analysis.setup import in_words

    here = in_words(Machine.model_validate(HERE))
    known = {"machine": here, "machine_says": here, **setup}
    return found.model_copy(update={"setup": found.setup.model_copy(update=known)})


@pytest.mark.parametrize(
    ("settings", "target", "machine", "existing", "what"),
    [
        ([], "local", ELSEWHERE, False, {"machine"}),
        (["table.provisioned.write=77"], "local", HERE, False, {"machine"}),
        (["table.provisioned.write=77"], "local", HERE, True, {"machine"}),
        (["load.requests_per_s=11"], "local", HERE, False, {"machine", "scenario"}),
        (["local.scale=0.5"], "local", HERE, False, {"machine", "scale"}),
        (["seed=99", 'question="Is it?"'], "local", ELSEWHERE, False, {"machine"}),
        ([], "aws", HERE, False, {"machine", "target"}),
    ],
)
def test_what_differs_is_foreseen(run, settings, target, machine, existing, what):  # type: ignore[no-untyped-def]
    """The machine always does here: the digest of another one's words is another one."""
    found, scenario = run
    before = on(found, target="local")
    changed = overridden(scenario, settings, "changed")
    after = foreseen(before, changed, target, machine, existing=existing)
    found_there = differences({"case": [before]}, {"case": [after]}, NOISY)
    assert {one.what for one in found_there} == what


def test_what_only_the_run_finds_out_is_taken_to_be_as_it_was(run) -> None:  # type: ignore[no-untyped-def]
    found, scenario = run
    before = on(found, target="http://127.0.0.1:8000", region="eu-west-1", table={"provisioned.write": 400.0})
    after = foreseen(before, scenario, "http://127.0.0.1:9000/", HERE, existing=False).setup
    assert (after.target, after.region) == (before.setup.target, "eu-west-1")
    assert set(after.table) == {"provisioned.write"}
