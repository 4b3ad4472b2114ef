"""A history as Apache Otava reads it: one CSV file for each series, and the configuration beside them.

Otava itself is no dependency: what it takes was tried with 0.8, and stands in docs/regression-statistics.md.
"""

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from keyheat.regression.history.records import HistoryPoint
from keyheat.regression.history.trend import write_otava

BEGAN = datetime(2026, 11, 1, 2, tzinfo=UTC)


def a_series(*medians: float) -> list[HistoryPoint]:
    return [
        HistoryPoint(
            session=number,
            started_at=BEGAN + timedelta(days=number),
            verdict="good",
            label=None if number % 2 else 'a "b", c',
            values=(median,),
        )
        for number, median in enumerate(medians)
    ]


def test_each_series_is_a_file_and_a_test(tmp_path: Path) -> None:
    series = {("hotkey", "p99_ms"): a_series(20, 21.5), ("hotkey", "knee_units_per_s"): a_series(1_000)}
    config, first, second = write_otava(tmp_path, "nightly", series)
    read = json.loads(config.read_text())
    assert read["test_groups"] == {"nightly": [first.stem, second.stem]}
    test = read["tests"]["nightly.hotkey.p99_ms"]
    assert test["type"] == "csv"
    assert (tmp_path / test["file"]) == first
    assert test["metrics"] == {"p99_ms": {"column": "p99_ms", "direction": -1}}
    other = read["tests"]["nightly.hotkey.knee_units_per_s"]
    assert other["metrics"]["knee_units_per_s"]["direction"] == 1
    with first.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {
        "time": "2026-11-01T02:00:00+00:00",
        "session": "0",
        "label": 'a "b", c',
        "p99_ms": "20",
    }
    assert {test["time_column"], *test["attributes"], "p99_ms"} == set(rows[0])
    assert rows[1]["label"] == ""


def test_a_series_without_points_is_left_out(tmp_path: Path) -> None:
    assert len(write_otava(tmp_path, "nightly", {("hotkey", "p99_ms"): []})) == 1


def test_names_become_those_of_files_and_stay_apart(tmp_path: Path) -> None:
    point = a_series(1)
    _, file = write_otava(tmp_path, "nightly", {("hot key (aws)", "p99_ms"): point})
    assert file.name == "nightly.hot-key-aws-.p99_ms.csv"
    with pytest.raises(ValueError, match="two cases come to the same file"):
        write_otava(tmp_path, "nightly", {("a b", "p99_ms"): point, ("a/b", "p99_ms"): point})
