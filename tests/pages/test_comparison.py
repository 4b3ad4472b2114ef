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


def change(run_dir, **fields):
    """Change fields of a run's manifest."""
    manifest = json.loads((run_dir / "run.json").read_text())
    (run_dir / "run.json").write_text(json.dumps(manifest | fields))
    return run_dir


COMPARED = {
    "two of three throttled": NAMES,
    "none throttled": ["sharded"],
    "many runs": ["sharded"] * 7,
    "one not valid": ["sharded", "generator-bound"],
}


@pytest.mark.slow
def test_the_answer_says_first_which_runs_were_throttled_and_by_what_and_every_measure_is_a_row(
    samples, golden: Golden
):
    said = []
    for name, compared in COMPARED.items():
        answer = answer_of(*(samples[run] for run in compared))
        head = f"{answer.label} ({answer.tone}): {answer.sentence}"
        surprise = "not as expected" if answer.surprise else "nothing unexpected"
        said += [f"== {name}", head, f"{answer.remark}, {surprise}", *answer.warnings]
        if compared is NAMES:
            (table,) = answer.sections[0].tables
            said += [f"{row[0]}: {' | '.join(row[1:])}" for row in table.cells]
    golden(Path(__file__).parent / "golden" / "compare.txt", "".join(f"{line}\n" for line in said))


@pytest.mark.slow
def test_wrong_reads_come_first(sample):
    counting = change(sample("sharded"), counted={"reads.checked": 20.0, "reads.missing": 1.0})
    (wrong,) = answer_of(counting).sections[0].wrong
    assert "1 item was not found" in wrong


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
