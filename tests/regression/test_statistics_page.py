"""docs/regression-statistics.md: its commands are ones that we have, and its numbers those of the code."""

import re
from pathlib import Path

import pytest

from benchmarks import _pool, month, regression
from benchmarks._nights import MONTH
from keyheat.analysis.measures import MEASURES
from keyheat.regression import change_points

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/regression-statistics.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line]
BENCHMARKS = {
    "python -m benchmarks.intervals",
    "python -m benchmarks.regression",
    "python -m benchmarks.regression pool",
    "python -m benchmarks.regression collect reports/out/noise 180",
    "python -m benchmarks.regression pool reports/out/noise",
    "python -m benchmarks.month",
    "python -m benchmarks.month 1 3",
    "python -m benchmarks.month local",
}


def test_its_benchmarks_are_there() -> None:
    assert {command for command in COMMANDS if command.startswith("python")} == BENCHMARKS
    said = regression.__doc__ or ""
    for kind in ("collect DIR [N]", "pool [DIR|FILE]"):
        assert f"python -m benchmarks.regression {kind}" in said
    assert (ROOT / regression.RECORDED).is_file()


def test_its_months_are_those_that_are_played() -> None:
    for command in ("", " 1 20", " local"):
        assert f"python -m benchmarks.month{command} " in f"{month.__doc__} "
    assert (MONTH.nights, MONTH.repetitions, MONTH.spread) == (30, 3, 0.03)
    assert list(MONTH.changes) == [9, 15, 22]


@pytest.mark.parametrize("measure", sorted(set(re.findall(r"^\| `([a-z0-9_.]+)` \|", PAGE, re.MULTILINE))))
def test_measures_that_it_names_are_in_the_catalogue(measure: str) -> None:
    assert measure in MEASURES


def test_the_rules_that_it_states_are_those_of_the_code() -> None:
    assert change_points.SIGNIFICANCE == 0.01, "one shuffled series in a hundred"
    assert (change_points.FAR, change_points.LEAST) == (4.0, 3), "four deviations, three sessions"


def test_the_recorded_runs_are_as_many_as_it_says() -> None:
    runs, _ = _pool.pool(ROOT / regression.RECORDED)
    same, less = len(runs["same", "hotkey"]), len(runs["less", "hotkey"])
    assert f"{same + less} valid runs of 6 s of `hotkey`" in PAGE
    assert f"{same} alike and {less} whose hot key" in PAGE
