from pathlib import Path

import pyarrow.parquet as pq
import pytest

from keyheat.analysis.diagnosis import analyze_run
from keyheat.analysis.report import load_run
from keyheat.runfiles import FileProblem
from keyheat.runs.formats import write_diagnosis

OPTIONAL = ["evidence.json", "run.json", "seconds.parquet", "throttles.parquet", "latency.hdr", "keys.json"]


def test_a_whole_run_misses_nothing(samples):
    run = load_run(samples["hotkey"])
    assert run.missing == ()
    assert run.manifest is not None
    assert run.manifest.name == "hotkey"


def cut_short(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def of_another_version(path):
    if path.suffix == ".parquet":
        pq.write_table(pq.read_table(path).replace_schema_metadata({"format": "keyheat.seconds/9"}), path)
    else:
        path.write_bytes(path.read_bytes().replace(b"/1", b"/9", 1))


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [Path.unlink, cut_short, of_another_version], ids=lambda one: one.__name__)
def test_each_spoilt_file_is_named_with_the_reason_and_the_rest_read(a_run, spoil):
    folder = a_run()
    for number, name in enumerate(OPTIONAL, 1):
        spoil(folder / name)
        missing = {file.name: file.why for file in load_run(folder).missing}
        assert missing.keys() == {*OPTIONAL[:number]}
        assert missing[name].startswith("not in the run directory" if spoil is Path.unlink else name)
        assert str(folder) not in missing[name]


def test_what_the_analyzer_has_missed_is_said_once(a_run):
    folder = a_run(without=("evidence.json",))
    write_diagnosis(folder / "diagnosis.json", analyze_run(folder))
    run = load_run(folder)
    assert "evidence.json is missing" in run.diagnosis.coverage.missing
    assert run.missing == ()


def test_a_run_needs_its_diagnosis(a_run):
    with pytest.raises(FileProblem, match=r"diagnosis\.json is missing"):
        load_run(a_run(without=("diagnosis.json",)))
