import re

import pytest

from keyheat.pages.series import RunEntry, write_index
from keyheat.runfiles import CannotWrite

NAMES = ("hotkey", "datekey", "sharded", "too-small")


@pytest.mark.slow
def test_four_runs_side_by_side(samples, generated_at, tmp_path):
    path = write_index(tmp_path, [RunEntry.of_run(samples[name]) for name in NAMES], generated_at)
    text = path.read_text()
    assert path.name == "index.html"
    assert path.stat().st_size < 60_000
    assert text.count("<article") == 4
    assert text.count('class="spark"') == 4
    assert text.count("provisioned: 4,000 WCU/s") == 2 * 3, "the line's name is in the legend and read aloud"
    assert text.count('class="dot"') == text.count("one partition admits: 1,000 WCU/s") / 2 == 2
    assert "asked for 1,800" in text.replace("\u00a0", " ")
    assert "its demand was" in text


@pytest.mark.slow
def test_links_are_relative_and_need_no_network(samples, generated_at):
    folder = samples["hotkey"].parent
    text = write_index(folder, [RunEntry.of_run(samples[name]) for name in NAMES], generated_at).read_text()
    (folder / "index.html").unlink()
    assert re.findall(r'href="([^"]*)"', text) == [f"{name}/report.html" for name in NAMES]
    assert "<script" not in text
    assert "src=" not in text


def test_a_run_without_a_diagnosis_says_so_on_its_card(samples, generated_at, tmp_path):
    entries = [RunEntry.of_run(samples["hotkey"]), RunEntry.of_run(tmp_path / "<b>gone</b>")]
    text = write_index(tmp_path, entries, generated_at).read_text()
    assert "diagnosis.json is missing" in text
    assert "<b>gone" not in text


def test_an_index_that_cannot_be_written_says_so(generated_at, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite):
        write_index(tmp_path / "file", [], generated_at)
