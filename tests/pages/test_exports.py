"""The frames of a run as files: every second, units in the names, digests of keys unless values were kept."""

import csv
import json

import pytest
from click.testing import CliRunner

import keyheat
from keyheat.analysis.exports import KeysNotRecorded, write_exports
from keyheat.cli.pages import report


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_frame_is_a_file_with_every_row(samples, tmp_path):
    written = dict(write_exports(samples["hotkey"], tmp_path))
    names = {"seconds", "throttles", "minutes", "latency", "keys", "labels", "partitions"}
    assert {path.stem for path in written} == names
    seconds = rows_of(tmp_path / "seconds.csv")
    run = keyheat.load_run(samples["hotkey"])
    assert written[tmp_path / "seconds.csv"] == len(seconds) == len(run.seconds)
    assert seconds[0]["second"] == "2026-11-20T12:00:00.000Z"
    assert sum(int(row["throttled"]) for row in seconds) == run.seconds["throttled"].sum()
    windows = [row["window"] for row in rows_of(tmp_path / "keys.csv")]
    assert "" in windows, "of the whole run: no window, and not one at zero"


def test_values_of_keys_are_written_only_if_asked(a_run, tmp_path):
    folder = a_run()
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


def test_values_that_were_not_recorded_are_refused(samples, tmp_path):
    with pytest.raises(KeysNotRecorded, match="if it is started with --show-keys"):
        write_exports(samples["hotkey"], tmp_path / "x", show_keys=True)
    assert not (tmp_path / "x").exists()


def test_the_verb_says_what_it_wrote(samples, tmp_path):
    said = CliRunner().invoke(report, [str(samples["hotkey"]), "--csv", str(tmp_path)])
    assert "latency.csv:" in said.output.replace("\n", "")
    refused = CliRunner().invoke(report, [str(samples["hotkey"]), "--csv", str(tmp_path), "--show-keys"])
    assert refused.exit_code == 2
    assert "has digests of keys only" in refused.output
