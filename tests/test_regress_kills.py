"""kill -9 at any moment of `keyheat regress`, 25 times: the history is whole, and its baseline stays one."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from keyheat.analysis.summarize import read_summary
from keyheat.regression.history import History
from tests.killed_regress import LATEST, MEASURED
from tests.make import a_suite

pytestmark = [pytest.mark.opens, pytest.mark.nightly]

ROOT = Path(__file__).parents[1]
KILLS = 25
REPETITIONS = 2


@pytest.mark.long
def test_kill_9_at_any_moment_25_times(tmp_path: Path) -> None:
    suite, history = tmp_path / "short.toml", tmp_path / "history.sqlite"
    suite.write_text(a_suite("short", "load.duration_s=2"))
    command = [sys.executable, "-m", "tests.killed_regress", suite, history, tmp_path, KILLS]
    made = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    kills = json.loads(made.stdout)
    assert [kill["wrong"] for kill in kills] == ["ok"] * KILLS
    assert all(kill["delay_s"] <= LATEST * kill["whole_s"] for kill in kills)

    with History.open(history) as kept:
        first, last = kept.session(1), kept.last_good("short")
        assert (first.verdict, last is not None) == ("baseline", True)
        sessions = kept.sessions()
        lost = [one for one in sessions if one.verdict is None]
        good = [one for one in sessions if one.good]
        assert len(lost) + len(good) == len(sessions), "each is complete, or said to be lost"
        for one in sessions:
            runs = kept.runs(one)
            assert len(runs) == REPETITIONS if one.good else len(runs) <= REPETITIONS
            for run in runs:  # what the history says of it is what its directory says
                assert read_summary(Path(unquote(urlsplit(run.folder_url).path))) == run.summary
        assert {one.verdict for one in good} == {"baseline", "good"}, "one baseline, and all others as good"
        assert [one.id for one in good if one.verdict == "baseline"] == [1]
        assert last == max(good, key=lambda one: one.id), "only what is complete is held on to"

    assert len(sessions) < KILLS + MEASURED, "some were killed before their session began"
    assert len(lost) > KILLS / 10, "many in the midst of it"
    assert len(good) > MEASURED, "and some when it was over"
