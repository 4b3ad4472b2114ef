"""A simulation says in its directory that it goes on, and how far it is; then nothing of that is left."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.runfiles import FILES, RUN, read_json
from keyheat.runs.folder import UNDERWAY_NAME, read_underway
from keyheat.scenario.scenario import load_scenario
from keyheat.simulator.folder import SimulationWatch, under_way, write_run
from keyheat.simulator.simulate import simulate
from tests.rehearsal import SCENARIOS

HOTKEY = load_scenario(SCENARIOS / "hotkey.toml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def watch(folder: Path) -> Iterator[SimulationWatch]:
    with under_way(HOTKEY, 1, folder, "hotkey.toml", print) as watch:
        watch.signs.least_s = 0.0  # every second of it, however fast this machine is
        yield watch
        watch.analyzing()


def saw(watch: SimulationWatch, attempts: int, throttled: int, conflicts: int) -> None:
    client: Any = SimpleNamespace(
        attempts={"write": attempts}, throttled={"write": throttled}, conflicts=conflicts
    )
    watch.seen(client)


def test_it_says_that_it_goes_on_and_how_far_it_is(watch: SimulationWatch, folder: Path) -> None:
    manifest = read_json(folder / FILES[RUN], RUN)
    assert (manifest["status"], manifest["target"], manifest["ended_at"]) == ("running", "simulated", None)
    assert read_underway(folder).phase == "simulating"
    saw(watch, 10, 2, 0)
    saw(watch, 30, 12, 1)
    now = read_underway(folder)
    assert (now.elapsed_s, now.duration_s) == (2.0, HOTKEY.load.duration_s)
    assert (now.accepted, now.throttled, now.errors) == (18, 12, 1)
    assert now.seconds == ((8, 2, 0), (10, 10, 1))


def test_thousands_of_seconds_in_one_of_ours_are_not_all_written(
    watch: SimulationWatch, folder: Path
) -> None:
    now_s = [0.0]
    watch.signs.clock, watch.signs.least_s = lambda: now_s[0], 0.5
    for second in range(1, 101):
        now_s[0] = 1e9 + second / 64
        saw(watch, second, 0, 0)
    assert read_underway(folder).elapsed_s == 97
    watch.analyzing()
    assert read_underway(folder).accepted == 100


def test_what_it_wrote_is_a_whole_run_and_no_sign_is_left(folder: Path) -> None:
    made = simulate(HOTKEY, seed=1)
    write_run(made, folder / "alone", scenario_path="hotkey.toml")
    with under_way(HOTKEY, 1, folder, "hotkey.toml", print) as watch:
        write_run(made, folder, scenario_path="hotkey.toml")
        watch.analyzing()
    assert (folder / FILES[RUN]).read_bytes() == (folder / "alone" / FILES[RUN]).read_bytes()
    assert not (folder / UNDERWAY_NAME).exists()


@pytest.mark.parametrize("how", [KeyboardInterrupt, ValueError])
def test_what_was_not_simulated_to_its_end_leaves_nothing(folder: Path, how: type[BaseException]) -> None:
    with pytest.raises(how), under_way(HOTKEY, 1, folder, "hotkey.toml", print):
        raise how
    assert list(folder.iterdir()) == []


def test_a_run_that_cannot_be_analyzed_is_still_a_run(folder: Path) -> None:
    def broken() -> None:
        with under_way(HOTKEY, 1, folder, "hotkey.toml", print) as watch:
            watch.analyzing()
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        broken()
    assert [path.name for path in folder.iterdir()] == [FILES[RUN]]
