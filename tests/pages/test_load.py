import pyarrow.parquet as pq
import pytest

from keyheat.analysis.diagnosis import analyze_run
from keyheat.analysis.report.run import load_run
from keyheat.runfiles import FileProblem
from keyheat.runs.formats import write_diagnosis

OPTIONAL = ["evidence.json", "run.json", "seconds.parquet", "throttles.parquet", "latency.hdr", "keys.json"]


def test_a_whole_run_misses_nothing(samples):
    run = load_run(samples["hotkey"])
    assert run.missing == ()
    assert run.manifest is not None
    assert run.manifest.name == "hotkey"


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_missing_file_is_named_and_the_rest_read(a_run, name):
    run = load_run(a_run(without=(name,)))
    assert [(file.name, file.why) for file in run.missing] == [(name, "not in the run directory")]


def test_what_the_analyzer_has_missed_is_said_once(a_run):
    folder = a_run(without=("evidence.json",))
    write_diagnosis(folder / "diagnosis.json", analyze_run(folder))
    run = load_run(folder)
    assert "evidence.json is missing" in run.diagnosis.coverage.missing
    assert run.missing == ()


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_truncated_file_is_named_with_the_reason(a_run, name):
    path = a_run() / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    run = load_run(path.parent)
    assert [file.name for file in run.missing] == [name]
    assert run.missing[0].why.startswith(name)
    assert str(path.parent) not in run.missing[0].why


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONAL)
def test_a_file_of_another_version_is_not_read(a_run, name):
    path = a_run() / name
    if name.endswith(".parquet"):
        pq.write_table(pq.read_table(path).replace_schema_metadata({"format": "keyheat.seconds/9"}), path)
    else:
        path.write_bytes(path.read_bytes().replace(b"/1", b"/9", 1))
    assert [file.name for file in load_run(path.parent).missing] == [name]


def test_a_run_needs_its_diagnosis(a_run):
    with pytest.raises(FileProblem, match=r"diagnosis\.json is missing"):
        load_run(a_run(without=("diagnosis.json",)))
