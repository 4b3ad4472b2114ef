"""The frames of a run as files: every second, units in the names, digests of keys unless values were kept."""

import csv
import json

import pytest

import keyheat
from keyheat.analysis.exports import write_exports

pytestmark = pytest.mark.slow


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_frame_is_a_file_with_every_row(verb, samples, tmp_path):
    said = verb("report", samples["hotkey"], "--csv", tmp_path)
    names = {"seconds", "throttles", "minutes", "latency", "keys", "labels", "partitions"}
    assert {path.stem for path in tmp_path.iterdir()} == names
    seconds = rows_of(tmp_path / "seconds.csv")
    run = keyheat.load_run(samples["hotkey"])
    assert said.says(f"seconds.csv: {len(run.seconds):,} rows")
    assert len(seconds) == len(run.seconds)
    assert seconds[0]["second"] == "2026-11-20T12:00:00.000Z"
    assert sum(int(row["throttled"]) for row in seconds) == run.seconds["throttled"].sum()
    windows = [row["window"] for row in rows_of(tmp_path / "keys.csv")]
    assert "" in windows, "of the whole run: no window, and not one at zero"


def test_values_of_keys_are_written_only_if_asked(sample, tmp_path):
    folder = sample()
    path = folder / "keys.json"
    content = json.loads(path.read_text())
    for loads in content["overall"].values():
        for load in loads:
            load["shown"] = "=customer-7"
    path.write_text(json.dumps(content))
    for written, _ in write_exports(folder, tmp_path / "digests"):
        assert "customer-7" not in written.read_text()
    write_exports(folder, tmp_path / "shown", show_keys=True)
    assert "'=customer-7" in {row["shown"] for row in rows_of(tmp_path / "shown" / "keys.csv")}


def test_values_that_were_not_recorded_are_refused(verb, samples, tmp_path):
    refused = verb("report", samples["hotkey"], "--csv", tmp_path / "x", "--show-keys")
    assert refused.code == 2
    assert "has digests of keys only" in refused.err
    assert "if it is started with --show-keys" in " ".join(refused.err.split())
    assert not (tmp_path / "x").exists()
