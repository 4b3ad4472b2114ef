"""A sweep over shards from made-up runs whose knee is known."""

import json
import re
from pathlib import Path

import pytest

from keyheat.pages.sweep import write_sweep
from keyheat.plan.prices import load_prices
from keyheat.scenario.scenario import load_scenario
from tools.samples.cases import CASES
from tools.samples.make import make_run

pytestmark = pytest.mark.slow

SHARDED = Path(__file__).parents[2] / "configs" / "scenarios" / "sharded.toml"
BY_NAME = {case.name: case for case in CASES}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """1 and 2 shards throttle, 4 and 8 do not; one whole read costs 2 RCU a shard."""
    folder = tmp_path_factory.mktemp("sweep")
    cases = {1: ("hotkey", 1.0), 2: ("hotkey", 0.3), 4: ("sharded", 1.0), 8: ("sharded", 1.0)}
    made = {}
    for shards, (name, factor) in cases.items():
        run = make_run(BY_NAME[name], folder / f"shards-{shards}", seconds=40, throttle_factor=factor)
        change(run, counted={"reads.units": 200.0 * shards, "reads.checked": 100.0})
        made[shards] = run
    return made


@pytest.fixture
def sweep(tmp_path, generated_at):
    """Writes the page over runs: `sweep(runs)` gives what it says first, and the page."""

    def write(runs):
        path = tmp_path / "sweep.html"
        answer = write_sweep(path, load_scenario(SHARDED), runs, load_prices(), generated_at, margin=1.5)
        return answer, path.read_text().replace("\u00a0", " ")

    return write


def test_the_verdict_names_the_smallest_number_that_is_enough(sweep, runs):
    answer, page = sweep(runs)
    assert (answer.chip, answer.role) == ("4 enough", "none")
    assert re.fullmatch(
        r"4 shards are enough: 2,0[0-9]0 WCU/s accepted and none of the writes throttled; "
        r"with 2 it was 1,\d\d0 WCU/s and \d+ %\.",
        answer.sentence,
    )
    assert answer.sentence in page


def test_the_formula_stands_beside_what_was_measured(sweep, runs):
    stats = {stat.name: (stat.value, stat.beside) for stat in sweep(runs)[0].stats}
    assert stats["The formula says"] == ("2 shards", "ceil(1,800 / 1,000); 3 with a margin of 1.5")
    assert stats["Enough"][0] == "4 shards"
    assert stats["One whole read"] == ("8 RCU", "with 4 shards")
    assert "The formula, 2, gives every shard a partition to itself." in sweep(runs)[1]


def test_every_measure_is_drawn_against_the_number_of_shards(sweep, runs):
    _answer, page = sweep(runs)
    figures = json.loads(page[page.index('id="figures">') + 13 :].partition("</script>")[0])["figures"]
    drawn = {name: figure["data"][0] for name, figure in figures.items() if not name.startswith("chart-run")}
    assert set(drawn) == {"chart-accepted", "chart-throttled", "chart-units", "chart-dollars"}
    assert all(trace["x"] == ["1", "2", "4", "8"] for trace in drawn.values())
    assert drawn["chart-units"]["y"] == [2, 4, 8, 16]
    assert drawn["chart-throttled"]["y"][2:] == [0, 0]
    assert drawn["chart-throttled"]["y"][0] > drawn["chart-throttled"]["y"][1] > 1
    sizes = drawn["chart-accepted"]["marker"]["size"]
    assert sizes.index(max(sizes)) == 2, "the number that is enough stands out"


def test_single_queries_stand_in_for_whole_reads_only_where_it_is_said(sweep, runs, tmp_path):
    copied = {n: timed(run, tmp_path / f"q{n}", "Query.accepted") for n, run in runs.items()}
    assert "Whole reads were not timed" in sweep(copied)[1]
    whole = {n: timed(run, tmp_path / f"w{n}", "ReadCollection.logical") for n, run in runs.items()}
    answer, page = sweep(whole)
    assert "Whole reads, p99" in page
    assert "Whole reads were not timed" not in page
    assert any(stat.name == "Whole read, p99" for stat in answer.stats)


def test_a_sweep_in_which_nothing_is_enough_says_what_came_nearest(sweep, runs):
    answer, _page = sweep({n: runs[n] for n in (1, 2)})
    assert (answer.chip, answer.role) == ("Not enough", "failed")
    assert answer.sentence.startswith("None of these is enough: 2 shards accepted most, 1,")


def test_invalid_runs_make_no_knee(sweep, runs, samples):
    answer, _page = sweep({**{n: runs[n] for n in (1, 2)}, 4: samples["generator-bound"]})
    assert answer.chip == "Not enough"
    assert answer.warnings == (
        "4 shards: the run says nothing about its table; the load generator was the limit.",
    )
    answer, _page = sweep({4: samples["generator-bound"]})
    assert answer.sentence == "No run of this sweep says anything about its table."


def test_one_shard_may_be_enough(sweep, runs):
    answer, _page = sweep({1: runs[4], 2: runs[8]})
    assert answer.sentence.startswith("1 shard is enough: ")


def timed(run, folder, tag):
    """A copy of a run whose one latency is called otherwise."""
    folder.mkdir()
    for file in run.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    text = (run / "latency.hdr").read_text().replace("Tag=PutItem.accepted", f"Tag={tag}")
    (folder / "latency.hdr").write_text(text)
    return folder


def change(run_dir, **fields):
    manifest = json.loads((run_dir / "run.json").read_text())
    (run_dir / "run.json").write_text(json.dumps(manifest | fields))
