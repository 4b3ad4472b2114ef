"""What charts show, as files: every second, units in the names, digests of keys unless values were kept."""

import csv
import json

import pytest
from click.testing import CliRunner

from keyheat.analysis.report.run import load_run
from keyheat.cli.pages import report
from keyheat.show.exports import KeysNotRecorded, write_exports

SEVERAL = {"seconds-table-write", "constraints", "heat-of-keys-write",
           "hottest-keys-write", "partitions-table-write", "latency", "generator"}  # fmt: skip


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def exported(samples, tmp_path):
    def make(name="hotkey", **more):
        return {path.stem: path for path, _ in write_exports(samples[name], tmp_path, **more)}

    return make


def test_every_chart_is_a_file(exported):
    assert set(exported()) == SEVERAL


@pytest.mark.slow
def test_seconds_add_up_to_what_the_client_recorded(exported, samples):
    rows = rows_of(exported()["seconds-table-write"])
    run = load_run(samples["hotkey"])
    assert rows[0]["from_utc"] == "2026-11-20T12:00:00.000Z"
    assert len(rows) == 120
    throttled = sum(float(row["throttled_partition_per_s"]) for row in rows)
    assert throttled == run.seconds["throttled"].sum()


def with_values(folder):
    path = folder / "keys.json"
    content = json.loads(path.read_text())
    for loads in content["overall"].values():
        for load in loads:
            load["shown"] = "customer-7"
    path.write_text(json.dumps(content))
    return folder


@pytest.mark.slow
def test_values_of_keys_are_written_only_if_asked(a_run, tmp_path):
    folder = with_values(a_run())
    for path, _ in write_exports(folder, tmp_path / "digests"):
        assert "customer-7" not in path.read_text()
    written = {path.stem: path for path, _ in write_exports(folder, tmp_path / "shown", show_keys=True)}
    assert {row["key_shown"] for row in rows_of(written["hottest-keys-write"])} >= {"customer-7"}


def test_values_that_were_not_recorded_are_refused(samples, tmp_path):
    with pytest.raises(KeysNotRecorded, match="if it is started with --show-keys"):
        write_exports(samples["hotkey"], tmp_path / "x", show_keys=True)
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_the_verb_says_what_it_wrote(samples, tmp_path):
    said = CliRunner().invoke(report, [str(samples["hotkey"]), "--csv", str(tmp_path)])
    assert "generator.csv  120 rows" in said.output.replace("\n", "")
    refused = CliRunner().invoke(report, [str(samples["hotkey"]), "--csv", str(tmp_path), "--show-keys"])
    assert refused.exit_code == 2
    assert "has digests of keys only" in refused.output
