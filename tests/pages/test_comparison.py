"""Several runs on one page: every measure a row, every run a column, on the same axes."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keyheat.runfiles import CannotWrite
from keyheat.show.compare import ComparedRun, comparison_answer, write_comparison
from tests.conftest import Golden

NAMES = ("hotkey", "sharded", "too-small")
AT = datetime(2026, 11, 20, 13, 0, tzinfo=UTC)


def answer_of(*folders: Path):
    return comparison_answer(ComparedRun.read_all(folders), Path())


def cells(*folders: Path):
    """Measure -> what the table says of each run."""
    (table,) = answer_of(*folders).sections[0].tables
    return {row[0]: row[1:] for row in table.cells}


def change(run_dir, **fields):
    """Change fields of a run's manifest."""
    manifest = json.loads((run_dir / "run.json").read_text())
    (run_dir / "run.json").write_text(json.dumps(manifest | fields))
    return run_dir


@pytest.mark.slow
def test_every_measure_is_a_row(samples, golden: Golden):
    measures = cells(*(samples[name] for name in NAMES))
    rows = (f"{name}: {' | '.join(said)}\n" for name, said in measures.items())
    golden(Path(__file__).parent / "golden" / "compare.txt", "".join(rows))


@pytest.mark.slow
def test_what_one_run_lacks_has_a_reason_and_wrong_reads_come_first(samples, sample):
    counting = change(sample("sharded"), counted={"reads.checked": 20.0, "reads.missing": 1.0})
    first = cells(samples["hotkey"], counting)["First throttle after"]
    assert first[1] == "nothing was throttled"
    (wrong,) = answer_of(counting).sections[0].wrong
    assert "1 item was not found" in wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "label", "tone", "sentence", "remark"),
    [
        (
            NAMES, "2 of 3 throttled", "partition",
            "Throttled: hotkey by a partition limit of the table (37 %), too-small by the provisioned "
            "capacity of the table (49 %). Not throttled: sharded.",
            "2 of 3 as their scenarios expect",
        ),
        (NAMES[1:2], "None throttled", "none", "Not throttled: sharded.", "all as its scenario expects"),
        (
            ["sharded"] * 7, "None throttled", "none",
            "Not throttled: sharded, sharded, sharded, sharded, sharded, 2 more.", None,
        ),
        (
            ["sharded", "generator-bound"], "1 run not valid", "invalid",
            "Not throttled: sharded. Not known: generator-bound (not valid).", None,
        ),
    ],
)  # fmt: skip
def test_the_answer_says_first_which_runs_were_throttled_and_by_what(
    samples, names, label, tone, sentence, remark
):
    answer = answer_of(*(samples[name] for name in names))
    assert (answer.label, answer.tone) == (label, tone)
    assert sentence in (None, answer.sentence)
    assert remark in (None, answer.remark)
    assert answer.surprise == bool({"too-small", "generator-bound"} & {*names})
    assert ("generator-bound: the run says nothing about its table; the load generator was the limit."
            in answer.warnings) == ("generator-bound" in names)  # fmt: skip


def test_runs_of_other_scales_are_warned_of_and_one_without_seconds_has_a_card(samples, sample):
    other = change(sample("sharded"), scale=0.1)
    assert any("different scales" in line for line in answer_of(samples["sharded"], other).warnings)
    silent = answer_of(sample("hotkey", without=("seconds.parquet",)))
    assert silent.parts[0].label == "Partition limit"


@pytest.mark.slow
def test_the_page_is_whole_and_a_run_that_cannot_be_read_has_a_card_and_a_reason(samples, tmp_path):
    path = tmp_path / "compare.html"
    folders = [*(samples[name] for name in NAMES), tmp_path / "<i>gone</i>"]
    assert not write_comparison(path, folders, AT)[1]
    text = path.read_text()
    assert text.count("<article") == 4
    assert "diagnosis.json is missing" in text
    assert "<i>gone" not in text
    links = re.findall(r'href="([^"]*report\.html)"', text)
    assert [(tmp_path / link).resolve() for link in links] == [
        samples[name] / "report.html" for name in NAMES
    ]
    assert write_comparison(path, folders[:3], AT)[1]
    with pytest.raises(CannotWrite):
        write_comparison(path / "page.html", folders[:1], AT)


def test_runs_of_two_sessions_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    folders = [tmp_path / night / case / "1" for night in ("mon", "tue") for case in ("hot", "cold")]
    labels = [run.label for run in ComparedRun.read_all([*folders, folders[0], tmp_path / "alone"])]
    assert labels == ["mon/hot/1", "mon/cold/1", "tue/hot/1", "tue/cold/1", "mon/hot/1", "alone"]
