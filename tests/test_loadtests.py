"""`keyheat loadtests`: what is shipped, said and copied."""

import json
from pathlib import Path

import pytest

from keyheat.scenario.scenario import load_scenario
from tests.conftest import ROOT, Verb

NAMES = sorted(path.stem for path in (ROOT / "loadtests").glob("[!_]*.py"))


def test_each_is_listed_with_its_question_and_its_scenarios(verb: Verb) -> None:
    told = {one["name"]: one for one in json.loads(verb("loadtests", "--json").out)["data"]["loadtests"]}
    assert sorted(told) == NAMES
    shown = verb("loadtests")
    for one in told.values():
        assert "?" in one["question"]
        assert shown.says(one["question"])
        assert one["scenarios"]
        for path in one["scenarios"]:
            assert load_scenario(Path(path)).loadtest == one["name"]
    scenarios = {path for one in told.values() for path in one["scenarios"]}
    assert len(scenarios) == len(list((ROOT / "configs" / "scenarios").glob("*.toml")))


@pytest.mark.parametrize("name", ["hotkey", "replay", "table-per-period"])
def test_a_copy_is_whole_and_replaces_nothing(verb: Verb, tmp_path: Path, name: str) -> None:
    """A scenario's trace comes with it."""
    written = json.loads(verb("loadtests", "copy", name, tmp_path / "mine", "--json").out)["data"]["files"]
    copies = {Path(path) for path in written}
    assert copies == set((tmp_path / "mine").iterdir())
    code = tmp_path / "mine" / f"{name.replace('-', '_')}.py"
    assert code.read_text() == (ROOT / "loadtests" / code.name).read_text()
    scenarios = [load_scenario(path) for path in copies if path.suffix == ".toml"]
    assert scenarios
    for path in copies - {code}:
        path.write_text("mine now")
    again = verb("loadtests", "copy", name, tmp_path / "mine")
    assert (again.code, again.out) == (2, "")
    assert "files exist: " in again.line
    assert all(path.read_text() == "mine now" for path in copies - {code})


def test_a_name_that_there_is_none_of_is_said(verb: Verb, tmp_path: Path) -> None:
    said = verb("loadtests", "copy", "hotkeys", tmp_path)
    assert said.code == 2
    assert "no load test 'hotkeys'" in said.line
    assert "hotkey" in said.line
    assert list(tmp_path.iterdir()) == []
