"""docs/regress.md: its commands run, and its tables are those of the code."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from keyheat.analysis.measures import MEASURES
from keyheat.cli.main import cli
from keyheat.metrics import prometheus_text
from keyheat.regression.exports.metrics import metrics
from keyheat.regression.outcome import EXIT_CODES
from tests.regression.outcomes import REGRESSED

Verb = Callable[..., Any]
PAGE = (Path(__file__).parents[1] / "docs" / "regress.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
SMALL = """
format = "keyheat.suite/1"
name = "{name}"
question = "Is it as good as it was?"
repetitions = 2

[[gates]]
measure = "labels"

[[gates]]
measure = "{measure}"

[[cases]]
scenario = "too-small"
expects = "table"
set = ["load.duration_s=3", "table.provisioned.write=2", "keys.keys=10"]
"""
MEASURE = {"smoke": "units_per_operation.write", "nightly": "throttle_share"}


@pytest.fixture
def small_suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Suites of the same names, which take a moment; the real `smoke` is run with the README's commands."""
    for name, measure in MEASURE.items():
        (tmp_path / f"{name}.toml").write_text(SMALL.format(name=name, measure=measure))
    monkeypatch.setattr("keyheat.regression.suite.SUITES", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "step.md")
    monkeypatch.delenv("KEYHEAT_HISTORY", raising=False)


@pytest.mark.slow
@pytest.mark.usefixtures("small_suites")
def test_the_commands_of_the_page_run(verb: Verb) -> None:
    said = {}
    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        assert program == "keyheat"
        said[command] = verb(*arguments)
        assert said[command].code == 0, said[command].err
    assert "is as good as it was: all 2 gates held." in said["keyheat regress smoke"].out
    for written in ("junit.xml", "comment.md", "keyheat.prom", "regression.json", "step.md"):
        assert Path(written).stat().st_size > 0


def test_every_option_of_the_page_is_one_and_those_of_exports_are_all_there() -> None:
    verb = cli.get_command(click.Context(cli), "regress")
    assert verb is not None
    known = {word for parameter in verb.params for word in parameter.opts}
    told = set(re.findall(r"--[a-z][a-z-]+", re.sub(r"`(?:curl|keyheat report)[^`]*`", "", PAGE)))
    assert told <= known
    assert {"--export", "--json", "--github"} <= told


def test_the_exit_codes_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| (\d+) \|[^|]*\| ([^|]*) \|$", PAGE, re.MULTILINE)
    told = {(verdict, int(code)) for code, said in rows for verdict in re.findall(r"`(\w+)`", said)}
    assert told == set(EXIT_CODES.items())


def test_the_metrics_are_those_that_are_written() -> None:
    """A measure of its own name stands for each of them."""
    written = set(
        re.findall(r"^# TYPE (\w+) gauge$", prometheus_text(metrics(REGRESSED)).decode(), re.MULTILINE)
    )
    of_measures = {f"keyheat_measure_{name.replace('.', '_')}" for name in MEASURES}
    told = set(re.findall(r"`(keyheat_(?:regress|gate)_\w+)`", PAGE))
    assert told == written - of_measures
