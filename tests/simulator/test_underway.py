"""A simulation says in its directory that it goes on; then nothing of that is left."""

from pathlib import Path

import pytest

from keyheat.runfiles import FILES, RUN, read_json
from keyheat.simulator.folder import under_way, write_run
from keyheat.simulator.simulate import simulate
from tests.make import a_shipped

HOTKEY = a_shipped("hotkey")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_it_says_that_it_goes_on(folder: Path) -> None:
    with under_way(HOTKEY, 1, folder, "hotkey.toml"):
        manifest = read_json(folder / FILES[RUN], RUN)
        assert (manifest["status"], manifest["target"]) == ("running", "simulated")
        assert manifest["ended_at"] is None


def test_what_it_wrote_is_a_whole_run_and_no_sign_is_left(folder: Path) -> None:
    made = simulate(HOTKEY, seed=1)
    write_run(made, folder / "alone", scenario_path="hotkey.toml")
    with under_way(HOTKEY, 1, folder, "hotkey.toml") as written:
        write_run(made, folder, scenario_path="hotkey.toml")
        written()
    assert (folder / FILES[RUN]).read_bytes() == (folder / "alone" / FILES[RUN]).read_bytes()


@pytest.mark.parametrize("how", [KeyboardInterrupt, ValueError])
def test_what_was_not_simulated_to_its_end_leaves_nothing(folder: Path, how: type[BaseException]) -> None:
    with pytest.raises(how), under_way(HOTKEY, 1, folder, "hotkey.toml"):
        raise how
    assert list(folder.iterdir()) == []


def test_a_run_that_cannot_be_analyzed_is_still_a_run(folder: Path) -> None:
    def broken() -> None:
        with under_way(HOTKEY, 1, folder, "hotkey.toml") as written:
            written()
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        broken()
    assert [path.name for path in folder.iterdir()] == [FILES[RUN]]
