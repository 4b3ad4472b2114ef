"""Which runs are to be made, before any of them is."""

from pathlib import Path

import pytest

from keyheat.load.run import launch
from keyheat.scenario.scenario import load_scenario
from keyheat.simulator.jobs import find_scenarios, new_folder
from tests.make import SCENARIOS


def test_a_load_test_that_is_not_there_is_a_mistake_of_the_scenario(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text((SCENARIOS / "hotkey.toml").read_text().replace('loadtest = "hotkey"', 'loadtest = "no"'))
    with pytest.raises(ValueError, match=r"'no'.* there is no no\.py.*hotkey.*\./FILE\.py.* @ \$\.loadtest"):
        find_scenarios([str(path)])


def test_folders_that_are_named_in_one_second_are_different_ones(tmp_path: Path) -> None:
    named = [new_folder(tmp_path, "hotkey").folder for _ in range(3)]
    assert len(set(named)) == 3
    assert all(one.name.startswith("hotkey-2") and one.is_dir() for one in named)


def test_how_long_it_lasts_is_left_to_the_scenario() -> None:
    """Locust's own option takes whole seconds only."""
    path = SCENARIOS / "hotkey.toml"
    assert "--run-time" not in launch.command(path, load_scenario(path), Path("out"))
