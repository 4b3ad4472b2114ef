"""`summary.json`: what of a run's files is in it, when it is made again, and what is never in it."""

import json
import os
import shutil
from pathlib import Path

import pytest

from keyheat.analysis.summary import keep_summary, labels_of, parsed, read_summary, summarize, write_summary
from keyheat.cli.main import main
from keyheat.runfiles import RUN, read_json, write_json
from keyheat.runs.formats import read_diagnosis
from tests.conftest import Verb

SHORT = ("--set", "load.duration_s=20")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated run of 20 seconds in which one key throttles; the hot key's value is shown."""
    folder = tmp_path_factory.mktemp("summary") / "run"
    words = ("--set", "thresholds.throttle_share_max=0.1", "--show-keys", "--out", str(folder))
    assert main(["simulate", "hotkey", *SHORT, *words]) == 1
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of it that may be spoilt."""
    return shutil.copytree(made, tmp_path / "run")


@pytest.mark.slow
def test_a_simulated_run_in_a_few_numbers(run: Path) -> None:
    assert (run / "summary.json").read_text().startswith('{\n  "format": "keyheat.summary/1",')
    found = read_summary(run)
    assert (found.scenario, found.seed, found.status, found.duration_s) == ("hotkey", 1, "finished", 20)
    assert (found.constraint, found.resource, found.direction) == ("partition", "table", "write")
    assert (found.valid, found.grade, found.rule) == (True, "reason", "reason-key-range")
    assert found.labels == ("table write partition",)
    assert found.attempts == 5_000
    assert found.throttled is not None
    assert found.measures["throttle_share"] == pytest.approx(found.throttled / 5_000)
    assert found.measures["units_per_operation.write"] == 8
    assert found.measures["shards_needed"] == 4
    assert found.absent["p99_ms"] == "not_simulated"
    assert found.absent["recovery_s"] == "not_recovered"
    assert len(found.broken) == 1
    assert found.broken[0].startswith("throttle_share_max: ")
    assert found.setup.target == "simulated"


@pytest.mark.slow
def test_nothing_in_it_names_an_account_or_a_key(run: Path) -> None:
    manifest = read_json(run / "run.json", RUN)
    manifest.pop("format")
    account, arn = "123456789012", "arn:aws:dynamodb:eu-west-1:123456789012:table/orders"
    manifest["table"]["arn"] = arn
    manifest["scenario"]["question"] = f"Is {arn} quick?"
    manifest["target"] = f"https://{account}.ddb.eu-west-1.example.com"
    write_json(run / "run.json", RUN, manifest)
    text = write_summary(run).model_dump_json()
    shown = json.loads((run / "keys.json").read_text())["overall"]["write"][0]
    assert shown["shown"]
    assert account not in text
    assert shown["key"] not in text
    assert f'"{shown["shown"]}"' not in text
    assert "Is arn:aws:dynamodb:eu-west-1:************:table/orders quick?" in text


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"format": "keyheat.summary/9"}', b'{"format": "'])
def test_a_missing_or_damaged_summary_is_made_again(run: Path, content: bytes | None) -> None:
    before, path = read_summary(run), run / "summary.json"
    path.unlink() if content is None else path.write_bytes(content)
    assert read_summary(run) == before
    assert parsed(path.read_bytes()) == before


def test_a_summary_older_than_its_diagnosis_is_made_again(run: Path) -> None:
    before, path = read_summary(run), run / "summary.json"
    path.write_text(path.read_text().replace('"scenario": "hotkey"', '"scenario": "old"', 1))
    assert read_summary(run).scenario == "old"
    newer_ns = path.stat().st_mtime_ns + 1
    os.utime(run / "diagnosis.json", ns=(newer_ns, newer_ns))
    assert read_summary(run) == before


def test_a_run_that_lost_its_manifest_is_diagnosed_and_keeps_no_old_summary(run: Path, verb: Verb) -> None:
    (run / "run.json").unlink()
    assert verb("analyze", run).code == 0
    assert not (run / "summary.json").exists()
    assert keep_summary(run) is None


def test_lost_files_are_said_and_are_no_zeros(run: Path) -> None:
    (run / "seconds.parquet").unlink()
    found = summarize(run)
    assert found.absent["throttle_share"] == found.absent["accepted_units_per_s.write"] == "no_file"
    assert found.measures.keys() == {"shards_needed"}


def test_a_stray_constraint_is_not_among_the_labels(run: Path) -> None:
    diagnosis = read_diagnosis(run / "diagnosis.json")
    (label,) = diagnosis.labels
    stray = label.model_copy(update={"constraint": "table", "throttles": label.throttles // 60})
    notable = stray.model_copy(update={"throttles": label.throttles // 40})
    both = ("table write partition", "table write table")
    assert labels_of(diagnosis.model_copy(update={"labels": (label, stray)})) == both[:1]
    assert labels_of(diagnosis.model_copy(update={"labels": (label, notable)})) == both
