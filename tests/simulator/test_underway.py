"""A simulation says in its directory that it goes on; then nothing of that is left."""

from pathlib import Path

import pytest

from keyheat.runfiles import FILES, RUN, read_json
from keyheat.simulator.folder import under_way, write_run
from keyheat.simulator.jobs import new_folder
from keyheat.simulator.simulate import simulate
from tests.make import a_shipped

HOTKEY = a_shipped("hotkey")


def test_folders_that_are_named_in_one_second_are_different_ones(tmp_path: Path) -> None:
    named = [new_folder(tmp_path, "hotkey").folder for _ in range(3)]
    assert len(set(named)) == 3
    assert all(one.name.startswith("hotkey-2") and one.is_dir() for one in named)


def test_it_says_that_it_goes_on_and_then_is_a_whole_run(tmp_path: Path) -> None:
    made = simulate(HOTKEY, seed=1)
    write_run(made, tmp_path / "alone", scenario_path="hotkey.toml")
    with under_way(HOTKEY, 1, tmp_path, "hotkey.toml") as written:
        manifest = read_json(tmp_path / FILES[RUN], RUN)
        assert (manifest["status"], manifest["target"]) == ("running", "simulated")
        assert manifest["ended_at"] is None
        write_run(made, tmp_path, scenario_path="hotkey.toml")
        written()
    assert (tmp_path / FILES[RUN]).read_bytes() == (tmp_path / "alone" / FILES[RUN]).read_bytes()


@pytest.mark.parametrize("how", [KeyboardInterrupt, ValueError])
def test_what_was_not_simulated_to_its_end_leaves_nothing(tmp_path: Path, how: type[BaseException]) -> None:
    with pytest.raises(how), under_way(HOTKEY, 1, tmp_path, "hotkey.toml"):
        raise how
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_cannot_be_analyzed_is_still_a_run(tmp_path: Path) -> None:
    def broken() -> None:
        with under_way(HOTKEY, 1, tmp_path, "hotkey.toml") as written:
            written()
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        broken()
    assert [path.name for path in tmp_path.iterdir()] == [FILES[RUN]]
