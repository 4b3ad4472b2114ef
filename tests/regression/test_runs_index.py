"""The index of runs: what is found, what is told of it, and how it is ordered."""

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from keyheat.analysis.found import find_runs
from keyheat.runs.claims import hold
from keyheat.show.history import runs_answer
from keyheat.show.render import html_of, save
from keyheat.words import INVALID
from tests.made_runs import summary
from tests.make import START, a_run
from tests.pages.axe import violations


def found(folder):
    runs, problems = find_runs([folder])
    return {run.folder.name: run for run in runs}, problems


def made(summaries, folder):
    for number, one in enumerate(summaries):
        a_run(folder / str(number), one)
    return [*found(folder)[0].values()]


def page_of(rows, problems=(), folder=Path()):
    return html_of(runs_answer(rows, problems, [Path("here")], folder), START)


# ---- what is found


def test_runs_are_found_however_they_are_nested_and_nothing_below_one(tmp_path):
    a_run(tmp_path / "one", summary())
    a_run(tmp_path / "suite" / "case" / "two", summary())
    a_run(tmp_path / "one" / "inner", summary())
    a_run(tmp_path / ".hidden" / "three", summary())
    (tmp_path / "again").symlink_to(tmp_path)
    runs, problems = found(tmp_path)
    assert (set(runs), problems) == ({"one", "two"}, [])
    assert (runs["one"].table, runs["one"].target) == ("table-of-hotkey", "local")


def test_a_tree_that_is_too_deep_is_said(tmp_path):
    a_run(tmp_path.joinpath(*"abcdefgh") / "run", summary())
    runs, problems = found(tmp_path)
    assert runs == {}
    assert [problem.why for problem in problems] == ["is not searched: it is 6 folders down"]


def test_what_cannot_be_read_is_told_and_ends_nothing(tmp_path):
    a_run(tmp_path / "good", summary())
    damaged = a_run(tmp_path / "damaged")
    (damaged / "run.json").write_text("{")
    unsaid = tmp_path / "no-manifest"
    unsaid.mkdir()
    (unsaid / "diagnosis.json").write_text("{}")
    runs, problems = found(tmp_path)
    assert set(runs) == {"good"}
    assert {problem.folder.name for problem in problems} == {"damaged", "no-manifest"}
    assert "not whole JSON" in next(one.why for one in problems if one.folder == damaged)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_is_closed_is_told(tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    assert "cannot be read" in found(tmp_path)[1][0].why


@pytest.mark.parametrize(
    ("status", "alive", "state"),
    [
        ("running", True, "under way"),
        ("finished", True, "under way"),
        ("running", False, "never ended"),
        ("interrupted", False, "not analyzed"),
    ],
)
def test_how_far_a_run_has_come(tmp_path, status, alive, state):
    folder = a_run(tmp_path / "run", status=status)
    with hold(folder) if alive else nullcontext():
        (run,) = found(tmp_path)[0].values()
    assert run.state == state
    assert (run.scenario, run.table) == ("hotkey", "table-of-hotkey")


# ---- rows


def test_simulated_runs_stand_in_the_order_in_which_they_were_made(tmp_path):
    """Their own clock begins at the same moment each time."""
    for number, name in enumerate(("second", "first", "third")):
        folder = a_run(tmp_path / name, summary(accepted=1_000 + number), target="simulated")
        made_s = {"first": 1e9, "second": 2e9, "third": 3e9}[name]
        os.utime(folder / "run.json", (made_s, made_s))
    (table,) = runs_answer([*found(tmp_path)[0].values()], (), [tmp_path], tmp_path).tables
    assert [row["directory"][-5:] for row in table.rows] == ["third", "econd", "first"]


# ---- the page


def test_a_row_shows_what_is_known_of_a_run(tmp_path):
    runs = made([summary(), summary("b", hours=1, valid=False, p99_ms=None)], tmp_path)
    answer, text = runs_answer(runs, (), [tmp_path], tmp_path), page_of(runs)
    assert [row["confidence"] for row in answer.tables[0].rows] == ["–", "98 %"], "nothing of the table"
    assert "2 runs of 2 scenarios." in text
    assert ">–</td>" in text, "no p99"
    assert "Not valid" in text
    assert "No run yet in here." in page_of(())


def test_links_are_relative_to_the_page(tmp_path):
    folder = a_run(tmp_path / "runs" / "a b", summary())
    (a_run(tmp_path / "runs" / "without", summary(hours=-1)) / "report.html").unlink()
    answer = runs_answer([*found(tmp_path)[0].values()], [], [tmp_path], tmp_path / "pages")
    assert set(answer.tables[0].links) == {None, "../runs/a%20b/report.html"}
    assert str(folder) in {row["directory"] for row in answer.tables[0].rows}


@pytest.mark.browser
def test_every_head_sorts_both_ways_and_words_filter(visit, tmp_path):
    runs = [
        summary("b", hours=0, accepted=9.0),
        summary("a", hours=1, accepted=1_000.0, p99_ms=None),
        summary("c", hours=2, accepted=700.0),
    ]
    save(tmp_path / "runs.html", page_of(made(runs, tmp_path)))
    page = visit((tmp_path / "runs.html").as_uri())

    def seen():
        cells = page.locator("table.sortable tbody tr:visible td:nth-child(2)").all_inner_texts()
        return "".join(cell[0] for cell in cells)

    def pressed(head):
        page.get_by_role("button", name=head).click()
        return seen()

    assert [pressed("scenario"), pressed("scenario")] == ["abc", "cba"]
    assert [pressed("WCU/s"), pressed("WCU/s")] == ["bca", "acb"]
    assert pressed("p99, ms")[-1] == "a", "what is not known comes last"
    assert [pressed("started"), pressed("started")] == ["bac", "cab"]
    page.get_by_role("searchbox").fill("1,000 throttle")
    assert seen() == "a"
    assert (page.wrong, violations(page)) == ([], [])
    phone = visit((tmp_path / "runs.html").as_uri(), width=390)
    beyond = "Math.max(...[...document.querySelectorAll('td')].map(one => one.getBoundingClientRect().right))"
    assert phone.evaluate(beyond) <= 390, "no column is cut off"


# ---- the verb


def test_the_verb_writes_the_page_into_the_folder(verb, tmp_path):
    a_run(tmp_path / "one", summary())
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "run.json").write_text("{")
    said = verb("runs", tmp_path)
    assert (said.code, said.says("1 run of 1 scenario.")) == (INVALID, True)
    assert said.says("not whole JSON")
    assert (tmp_path / "runs.html").exists()


def test_the_verb_tells_programs(verb, tmp_path):
    a_run(tmp_path / "one", summary())
    a_run(tmp_path / "two", scenario={"name": "sharded"})
    told = json.loads(verb("runs", tmp_path, "--json").out)
    assert told["format"] == "keyheat.index/1"
    by_name = {run["scenario"]: run for run in told["runs"]}
    assert by_name["hotkey"]["summary"]["constraint"] == "partition"
    assert (by_name["sharded"]["state"], by_name["sharded"]["summary"]) == ("never ended", None)
    assert not (tmp_path / "runs.html").exists()
    both = verb("runs", tmp_path, "--json", "--out", tmp_path / "all.html")  # JSON, and nothing beside it
    assert (json.loads(both.out), (tmp_path / "all.html").exists()) == (told, True)


def test_the_verb_says_what_to_do_first(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert verb("runs").code == 0
    assert "keyheat simulate hotkey" in (tmp_path / "reports" / "out" / "runs.html").read_text()
    said = verb("runs", "nowhere")
    assert (said.code, "no such folder: nowhere" in said.err) == (2, True)
