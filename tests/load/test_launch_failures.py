"""A load test that breaks: whoever started it hears what it said, and no threshold is blamed."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Barrier

import pytest

from keyheat.cli.main import main
from keyheat.cli.run import tell_once
from keyheat.cli.simulate import How
from keyheat.load.run import launch
from keyheat.load.run.launch import Launched
from keyheat.runfiles import FILES, RUN
from keyheat.runs.progress import LaunchProgress
from tests.conftest import Verb
from tools.samples import make_run

BROKEN = """
arn = "arn:aws:iam::123456789012:user/ann"
raise RuntimeError(f"the file of {arn} is not there: größer →")
"""


@pytest.mark.opens
def test_one_that_cannot_be_imported_is_said_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("keyheat.scenario.scenario.shipped", lambda _name: tmp_path)  # the load tests
    (tmp_path / "hotkey.py").write_text(BROKEN, encoding="utf-8")
    assert main(["run", "hotkey", "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert 'hotkey.py", line 3' in said
    assert "RuntimeError: the file of arn:aws:iam::************:user/ann is not there: größer →" in said
    assert "the load test hotkey ended before it began, with exit code 1" in said
    assert "run.json" not in said
    assert not (tmp_path / "run").exists()


def test_one_that_breaks_broke_no_threshold(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "run"

    def breaks(*_arguments: object) -> list[Launched]:
        manifest = make_run("hotkey", place, seconds=8) / FILES[RUN]
        content = json.loads(manifest.read_bytes())
        manifest.write_text(json.dumps({**content, "status": "running"}))
        return [Launched(1, "MemoryError of something\n", content["run_id"])]

    monkeypatch.setattr(launch, "launch_together", breaks)
    said = verb("run", "hotkey", "--out", place)
    assert said.code == 3
    assert "MemoryError of something" in said.err
    assert "failed during the run" in said.err


@pytest.mark.opens
def test_what_a_load_prints_and_waits_for_is_shown_while_it_waits(tmp_path: Path) -> None:
    """It would wait for ever: only who sees its words ends it."""
    script = """
import pathlib, sys, time
print('{"phase": "preparing"}', flush=True)
print("hello", flush=True)
sys.stderr.buffer.write(b"caf\\xe9 on stderr\\n")
print("keyheat: waiting for something", file=sys.stderr, flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.01)
print('{"phase": "lo', end="", flush=True)
print("and no more", end="", file=sys.stderr, flush=True)
sys.exit(5)
"""
    seen: list[LaunchProgress] = []

    def show(now: LaunchProgress) -> None:
        seen.append(now)
        if "keyheat: waiting for something" in now.lines:
            (tmp_path / "seen").touch()

    (ended,) = launch.launch_together([([sys.executable, "-c", script, str(tmp_path / "seen")], show)])
    assert (ended.code, ended.run_id, {one.phase for one in seen}) == (5, None, {"preparing"})
    lines = [line for one in seen for line in one.lines]
    assert sorted(lines) == ["hello", "keyheat: waiting for something"]
    assert ended.output == "caf\ufffd on stderr\nand no more\n", "the rest; nothing is said twice"


@pytest.mark.opens
def test_loads_beside_each_other_each_have_their_progress_and_their_end() -> None:
    """Each waits until the other has begun, so that one after the other would never end."""
    both = Barrier(2, timeout=60)
    seen: list[list[LaunchProgress]] = [[], []]

    def watch(place: int) -> Callable[[LaunchProgress], None]:
        def show(now: LaunchProgress) -> None:
            seen[place].append(now)
            both.wait()

        return show

    codes = (5, 0)
    ended = launch.launch_together(
        [
            ([sys.executable, "-c", f"import sys; print('hello {code}'); sys.exit({code})"], watch(place))
            for place, code in enumerate(codes)
        ]
    )
    assert tuple(one.code for one in ended) == codes
    assert [one.lines for now in seen for one in now] == [["hello 5"], ["hello 0"]]


def test_a_note_is_said_once_in_a_series(capsys: pytest.CaptureFixture[str]) -> None:
    """Such as what auto scaling may do to the table that each of its runs loads."""
    note, how = "keyheat: note: table orders: auto scaling may change it", How(target="aws")
    for last in ("keyheat: cleaned", "keyheat: not cleaned"):
        tell_once([note, "a line of its own", last], how)
    assert capsys.readouterr().err.splitlines() == [note, "keyheat: cleaned", "keyheat: not cleaned"]
    tell_once([note], How(target="aws"))
    assert capsys.readouterr().err.splitlines() == [note], "the next series says it again"
