"""A run under way says so in its directory, once a second, and no longer once it has ended."""

import os

import pytest

from keyheat.load.run.progress import RunProgress
from keyheat.runfiles import FileProblem
from keyheat.runs.folder import SHOWN_S, UNDERWAY_NAME, read_underway
from keyheat.runs.signs import Signs

COUNTS = [12.0, 7.0, 4.0, 1.0, 9.5]  # attempts, accepted, throttled, errors, units


@pytest.fixture
def said():
    return []


@pytest.fixture
def progress(tmp_path, said):
    progress = RunProgress(as_json=True)
    progress.begun(Signs(tmp_path, 60.0, said.append))
    return progress


def test_each_second_and_each_phase_is_a_sign_of_life(progress, tmp_path, capsys):
    assert read_underway(tmp_path).phase == "preparing"
    progress.phase("loading", "loading")
    for elapsed_s in (1.0, 2.0):
        progress.second(elapsed_s, COUNTS)
    now = read_underway(tmp_path)
    assert (now.phase, now.elapsed_s, now.duration_s) == ("loading", 2.0, 60.0)
    assert (now.accepted, now.throttled, now.errors) == (14, 8, 2)
    assert now.seconds == ((7, 4, 1), (7, 4, 1))
    assert now.pid == os.getpid()
    assert '"accepted_per_s":7' in capsys.readouterr().out


def test_it_stays_small_however_long_the_run_is(progress, tmp_path):
    for second in range(500):
        progress.second(second, [9e6] * 5)
    assert len(read_underway(tmp_path).seconds) == SHOWN_S
    assert (tmp_path / UNDERWAY_NAME).stat().st_size < 2_500


def test_a_run_that_has_ended_says_nothing(progress, tmp_path):
    progress.over()
    progress.phase("preparing", "the next run")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileProblem, match="missing"):
        read_underway(tmp_path)


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path, said):
    progress = RunProgress(as_json=True)
    progress.begun(Signs(tmp_path / "gone", None, said.append))
    progress.second(1.0, COUNTS)
    assert len(said) == 1
    assert "No such file" in said[0]
