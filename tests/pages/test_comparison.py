"""Several runs on one page: every measure a row, every run a column, on the same axes."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keyheat.numbers import dollars
from keyheat.pages.comparison import answer_of, multiples, write_comparison
from keyheat.pages.series import RunColumn, groups_of
from keyheat.plan.prices import load_prices
from keyheat.runfiles import CannotWrite
from tests.conftest import Golden

NAMES = ("hotkey", "sharded", "too-small")


@pytest.fixture(scope="module")
def prices():
    return load_prices()


@pytest.fixture
def columns(samples, prices):
    return [RunColumn.of_run(samples[name], prices) for name in NAMES]


def cells(columns):
    """Measure -> what the table says of each run."""
    return {row.name: row.cells for group in groups_of(columns) for row in group.rows}


@pytest.mark.slow
def test_every_measure_is_a_row(columns, golden: Golden):
    rows = (f"{name}: {' | '.join(said)}\n" for name, said in cells(columns).items())
    golden(Path(__file__).parent / "golden" / "compare.txt", "".join(rows))


@pytest.mark.slow
def test_what_no_run_has_is_no_row_and_what_one_lacks_is_a_dash(samples, prices, a_run):
    assert "RCU per whole read" not in cells([RunColumn.of_run(samples["hotkey"], prices)])
    counting = a_run("sharded")
    change(counting, counted={"reads.units": 90.0, "reads.checked": 20.0, "orders.placed": 4.0})
    found = cells([RunColumn.of_run(samples["hotkey"], prices), RunColumn.of_run(counting, prices)])
    assert found["RCU per whole read"] == ("–", "4.5")
    assert found["orders placed"] == ("–", "4")


def test_names_are_whole_and_stand_beside_each_value_on_a_narrow_screen(samples, prices, tmp_path):
    name = "orders-2026-11-24T0200-baseline-of-the-evening-peak"
    run = tmp_path / name
    run.symlink_to(samples["hotkey"])
    path = tmp_path / "compare.html"
    write_comparison(path, [run, samples["sharded"]], prices, datetime(2026, 11, 20, tzinfo=UTC))
    text = path.read_text()
    assert f'<th scope="col" class="n">{name}</th>' in text
    assert text.count(f'data-name="{name}"') == text.count('data-name="sharded"') > 10


def test_wrong_reads_and_surprises_are_marked(a_run, prices):
    run = a_run("too-small")
    change(run, counted={"reads.missing": 1.0, "reads.duplicate": 0.0})
    wrong = [row.name for g in groups_of([RunColumn.of_run(run, prices)]) for row in g.rows if any(row.wrong)]
    assert wrong == ["Expected", "items that were written and not found"]


@pytest.mark.slow
def test_the_small_charts_share_their_axes(columns):
    charts = multiples(columns)
    assert len({tuple(chart.figure.layout.yaxis.range) for chart in charts}) == 1
    assert len({tuple(chart.figure.layout.xaxis.range) for chart in charts}) == 1
    assert [len(chart.figure.data) for chart in charts] == [2, 1, 2]  # nothing throttled has no red
    assert "none throttled" in charts[1].summary


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "chip", "role", "sentence", "expected"),
    [
        (
            NAMES, "2 of 3 throttled", "partition",
            "Throttled: hotkey by a partition limit of the table (37 %), too-small by the provisioned "
            "capacity of the table (49 %). Not throttled: sharded.",
            "2 of 3 as their scenarios expect",
        ),
        (NAMES[:2], "1 of 2 throttled", "partition", None, "all as their scenarios expect"),
        (NAMES[1:2], "None throttled", "none", "Not throttled: sharded.", "all as its scenario expects"),
        (
            ["undetermined"], "1 of 1 throttled", "undetermined",
            "Throttled: undetermined by a limit that the evidence does not tell (6 %).", None,
        ),
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
    samples, prices, names, chip, role, sentence, expected
):
    answer = answer_of([RunColumn.of_run(samples[name], prices) for name in names])
    assert (answer.chip, answer.role) == (chip, role)
    assert sentence in (None, answer.sentence)
    assert expected in (None, answer.expected)
    assert answer.surprise == bool({"too-small", "generator-bound"} & {*names})


@pytest.mark.slow
def test_the_page_is_whole_and_needs_nothing(samples, prices, generated_at, tmp_path):
    folder = samples["hotkey"].parent
    path = tmp_path / "compare.html"
    assert write_comparison(path, [samples[name] for name in NAMES], prices, generated_at)
    text = path.read_text()
    assert write_comparison(path, [samples[name] for name in NAMES], prices, generated_at)
    assert path.read_text() == text
    assert text.count("<article") == 3
    assert text.count('<th scope="col" class="n">') == 3
    assert "list prices of us-east-1, 2026-08-13" in text.replace("\u00a0", " ")
    links = re.findall(r'href="([^"]*report\.html)"', text)
    assert [(tmp_path / link).resolve() for link in links] == [
        folder / name / "report.html" for name in NAMES
    ]


def test_a_run_that_cannot_be_read_has_a_column_and_a_reason(samples, prices, generated_at, tmp_path):
    folders = [samples["hotkey"], tmp_path / "<i>gone</i>"]
    assert not write_comparison(tmp_path / "page.html", folders, prices, generated_at)
    text = (tmp_path / "page.html").read_text()
    assert "diagnosis.json is missing" in text
    assert "<i>gone" not in text


@pytest.mark.slow
def test_an_invalid_run_is_warned_of(samples, prices, generated_at, tmp_path):
    folders = [samples["sharded"], samples["generator-bound"]]
    assert answer_of([RunColumn.of_run(folder, prices) for folder in folders]).warnings == (
        "generator-bound: the run says nothing about its table; the load generator was the limit.",
    )
    assert not write_comparison(tmp_path / "page.html", folders, prices, generated_at)


def test_runs_of_other_scales_are_not_to_be_held_against_each_other(samples, a_run, prices):
    other = a_run("sharded")
    change(other, scale=0.1)
    columns = [RunColumn.of_run(samples["sharded"], prices), RunColumn.of_run(other, prices)]
    assert any("different scales" in warning for warning in answer_of(columns).warnings)


def test_a_run_without_seconds_has_no_chart_and_keeps_its_verdict(a_run, prices, generated_at, tmp_path):
    column = RunColumn.of_run(a_run("hotkey", without=("seconds.parquet",)), prices)
    assert multiples([column]) == (None,)
    assert cells([column])["Throttled by"] == ("Partition limit",)


def test_a_page_that_cannot_be_written_says_so(samples, prices, generated_at, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite):
        write_comparison(tmp_path / "file" / "page.html", [samples["hotkey"]], prices, generated_at)


@pytest.mark.parametrize(
    ("amount", "said"), [(None, "–"), (0.625, "$0.625"), (12.345, "$12.3"), (0.0123, "$0.0123"), (0, "$0")]
)
def test_dollars_in_three_digits(amount, said):
    assert dollars(amount) == said


def change(run_dir, **fields):
    """Change fields of a run's manifest."""
    manifest = json.loads((run_dir / "run.json").read_text())
    (run_dir / "run.json").write_text(json.dumps(manifest | fields))
