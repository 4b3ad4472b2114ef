"""Which runs are to be made, before any of them is."""

from pathlib import Path

from keyheat.load.run import launch
from keyheat.scenario.scenario import load_scenario
from keyheat.simulator.jobs import new_folder
from tests.make import SCENARIOS


def test_folders_that_are_named_in_one_second_are_different_ones(tmp_path: Path) -> None:
    named = [new_folder(tmp_path, "hotkey").folder for _ in range(3)]
    assert len(set(named)) == 3
    assert all(one.name.startswith("hotkey-2") and one.is_dir() for one in named)


def test_how_long_it_lasts_is_left_to_the_scenario() -> None:
    """Locust's own option takes whole seconds only."""
    path = SCENARIOS / "hotkey.toml"
    assert "--run-time" not in launch.command(path, load_scenario(path), Path("out"))
