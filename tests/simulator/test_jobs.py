"""Which runs are to be made, before any of them is."""

from pathlib import Path

import pytest

from keyheat.load.run import launch
from keyheat.scenario.scenario import load_scenario
from keyheat.simulator.jobs import find_scenarios, new_folder
from keyheat.simulator.traffic import asks_for_shards
from tests.make import SCENARIOS, a_shipped

TAKES = {
    "sharded": True,  # its users ask for it
    "dynamic-sharding-fixed": True,  # the users that it is made of do
    "audit-log": False,  # its reader could ask for it, and does not
    "hotkey": False,
}


@pytest.mark.parametrize("name", TAKES)
def test_who_takes_a_number_of_shards(name: str) -> None:
    assert asks_for_shards(a_shipped(name)) is TAKES[name]


def test_a_load_test_that_takes_none_is_not_fooled_by_a_scenario_that_states_it(tmp_path: Path) -> None:
    text = (SCENARIOS / "hotkey.toml").read_text().replace("[keys]", "[keys]\nshards = 4")
    (tmp_path / "stated.toml").write_text(text)
    assert not asks_for_shards(load_scenario(tmp_path / "stated.toml"))


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
