"""A run as pandas frames."""

import os
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import orjson
import pandas as pd
import pytest

import keyheat
from keyheat.cli.main import main
from keyheat.runfiles import FileProblem
from keyheat.runs.parquet import FRAMES


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which the hot-key scenario was simulated into the place that the page names."""
    folder = tmp_path_factory.mktemp("project")
    with chdir(folder):
        assert main(["simulate", "hotkey", "--out", "reports/out/hotkey"]) == 0
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("source", ["", "evidence.json"])
def test_frames_have_the_columns_and_dtypes_that_are_declared(project: Path, source: str) -> None:
    run = keyheat.load_run(project / "reports" / "out" / "hotkey" / source)
    for name in FRAMES:
        frame = getattr(run, name)
        declared = {one.name: one.dtype for one in FRAMES[name]}
        assert {column: str(dtype) for column, dtype in frame.dtypes.items()} == declared, name


@pytest.mark.slow
def test_an_evidence_file_alone_says_the_same_of_what_it_has_and_na_of_the_rest(project: Path) -> None:
    folder = project / "reports" / "out" / "hotkey"
    whole, alone = keyheat.load_run(folder), keyheat.load_run(folder / "evidence.json")
    same = ["second", "resource", "direction", "attempts", "throttled", "consumed_units"]
    pd.testing.assert_frame_equal(whole.seconds[same], alone.seconds[same])
    pd.testing.assert_frame_equal(whole.minutes, alone.minutes)
    assert alone.seconds[["accepted", "errors", "operation"]].isna().all(axis=None)
    assert (
        alone.throttles["count"].sum() == whole.throttles["count"].sum() == whole.seconds["throttled"].sum()
    )
    assert alone.throttles["key"].isna().all()
    assert list(alone.labels["constraint"]) == list(whole.labels["constraint"]) == ["partition"]
    assert alone.keys.empty
    assert alone.latency.empty


def test_what_cloudwatch_did_not_publish_is_na_and_not_zero(project: Path) -> None:
    minutes = keyheat.load_run(project / "reports" / "out" / "hotkey").minutes
    writes = minutes[minutes["direction"] == "write"].iloc[0]
    assert writes["throttle_events"] == writes["throttled_partition"] > 5_000
    assert writes[["throttled_table", "max_on_demand_units_per_s"]].isna().all()
    reads = minutes[minutes["direction"] == "read"].iloc[0]
    assert reads["consumed_units"] == 0  # CloudWatch publishes consumption of idle minutes
    assert pd.isna(reads["throttle_events"])


def test_a_run_without_evidence_and_diagnosis_is_diagnosed_from_what_the_client_saw(
    project: Path, tmp_path: Path
) -> None:
    folder = project / "reports" / "out" / "hotkey"
    for name in ("run.json", "seconds.parquet", "throttles.parquet"):
        os.link(folder / name, tmp_path / name)
    run = keyheat.load_run(tmp_path)
    assert list(run.labels["constraint"]) == ["partition"]
    assert [name for name in FRAMES if getattr(run, name).empty] == ["minutes", "latency", "keys"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "run.json", "seconds.parquet", "throttles.parquet",
    ]  # fmt: skip


def test_what_is_no_run_says_what_would_be(project: Path, tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"neither run\.json nor evidence\.json.*there are runs below it"):
        keyheat.load_run(project / "reports" / "out")
    with pytest.raises(FileProblem, match=r"there is no .*nowhere: name a run directory"):
        keyheat.load_run(tmp_path / "nowhere")
    (tmp_path / "evidence.json").write_bytes(orjson.dumps({"format": "keyheat.evidence/1", "window": 3}))
    with pytest.raises(FileProblem, match=r"missing @ \$\.table"):
        keyheat.load_run(tmp_path)


def test_a_damaged_file_is_said_and_not_taken_for_a_missing_one(project: Path, tmp_path: Path) -> None:
    for path in (project / "reports" / "out" / "hotkey").iterdir():
        os.link(path, tmp_path / path.name)
    (tmp_path / "seconds.parquet").unlink()
    (tmp_path / "seconds.parquet").write_bytes(b"PAR1")
    with pytest.raises(FileProblem, match=r"seconds\.parquet is not a whole Parquet file"):
        _ = keyheat.load_run(tmp_path).seconds
