"""Nobody is told somebody else's verdict: a run has its folder alone, or says that it has not."""

from pathlib import Path

import pytest

from keyheat.runs.claims import hold
from tests.conftest import Verb
from tests.load.conftest import SHORT
from tests.make import a_scenario_file


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A short one, in the folder where everything happens."""
    monkeypatch.chdir(tmp_path)
    return a_scenario_file(tmp_path, SHORT, load={"users": 5, "requests_per_s": 50, "duration_s": 1})


@pytest.mark.parametrize(
    "command",
    [
        "simulate short", "simulate short hotkey", "demo", "whatif short load",
        pytest.param("run short", marks=pytest.mark.opens),
    ],
)  # fmt: skip
def test_nothing_is_made_where_something_is_being_made(verb: Verb, scenario: Path, command: str) -> None:
    with hold(Path("runs")):
        said = verb(*command.replace("short", scenario.name).split(), "--out", "runs")
    assert said.code == 2
    assert "runs: another run is being made there now; give another folder (--out)\n" in said.err
    assert not Path("runs").exists()
