"""The index of runs in a real browser: searched, ordered, reached by address, moved by a server, on paper."""

import json
import re

import pytest
from playwright.sync_api import expect

from keyheat.pages.runs.found import RunSearch
from keyheat.pages.runs.index import Runs, content_of, place_of, render_runs, write_runs
from keyheat.pages.runs.rows import HistoryRun, SuitePlace, rows_of
from keyheat.pages.runs.trends import trends_of
from tests.browsing import PATIENCE_MS
from tests.made_runs import FIRST, summary, written
from tests.pages.axe import violations

pytestmark = pytest.mark.browser
SERVER = "http://127.0.0.1:1/"  # nobody is there: what it answers is made up in the browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """120 runs of three scenarios; one became worse, one run has no report, one directory is damaged."""
    folder = tmp_path_factory.mktemp("runs")
    for hour in range(40):
        written(folder / f"a-{hour}", summary("alpha", hours=hour, accepted=1_000.0 if hour < 30 else 700.0))
        written(folder / f"b-{hour}", summary("beta", hours=hour, constraint="none", share=0.0))
        written(folder / f"c-{hour}", summary("gamma", hours=hour, target="aws", p99_ms=100.0 - hour))
    (folder / "c-39" / "report.html").unlink()
    damaged = folder / "damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    return folder


@pytest.fixture(scope="module")
def found(folder):
    runs, problems = RunSearch().look([folder], 0.0)
    return Runs(rows=rows_of(runs), problems=tuple(problems), folders=(folder,))


@pytest.fixture(scope="module")
def address(found, folder):
    write_runs(folder / "runs.html", found, FIRST)
    return (folder / "runs.html").as_uri()


def names(page):
    return page.locator("#rows .open").all_inner_texts()


def test_it_opens_from_a_file_and_asks_for_nothing(visit, address):
    page = visit(address)
    assert (page.wrong, page.fetched) == ([], [address])
    assert page.locator("h1").inner_text() == "120 runs of 3 scenarios: alpha became worse."
    assert page.locator("#count").inner_text().startswith("120 runs")


def test_what_could_not_be_read_stands_before_the_list(visit, address):
    """Below it, it would be behind rows that come while one scrolls to it, and move away from a click."""
    page = visit(address)
    summary = page.locator("#problems summary")
    assert summary.inner_text() == "What could not be read 1 place"
    assert summary.bounding_box()["y"] < page.locator("#tools").bounding_box()["y"]
    summary.press("Enter")
    expect(page.locator("#problem-list")).to_contain_text("not whole JSON")


def test_search_and_filters_stand_in_the_address(visit, address):
    page = visit(address)
    page.keyboard.press("/")
    page.keyboard.type("GAMMA partition 2026-11-01 05:00")  # a bare 05 may be in the name of the folder, too
    expect(page.locator("#count")).to_have_text("1 of 120 runs")
    page.wait_for_function("location.hash === '#q=GAMMA+partition+2026-11-01+05%3A00'")
    page.keyboard.press("Escape")
    page.select_option("#verdict", "No throttles")
    expect(page.locator("#count")).to_have_text("40 of 120 runs")
    assert set(names(page)) == {"beta"}
    page.select_option("#target", "aws")
    expect(page.locator("#count")).to_have_text("0 of 120 runs")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#count")).to_have_text(re.compile("^120 runs"))
    page.wait_for_function("['', '#'].includes(location.hash)")


def test_an_address_leads_to_what_it_says(visit, address, found):
    last = next(row for row in found.rows if row.scenario == "gamma" and row.folder.name == "c-0")
    page = visit(f"{address}#q=aws&scenario=gamma&order=started&run={last.key}")
    assert (page.locator("#q").input_value(), page.locator("#scenario").input_value()) == ("aws", "gamma")
    assert page.locator("#rows tr").first.get_attribute("id") == last.key
    assert "Does gamma throttle?" in page.locator("tr.about").inner_text()
    page.evaluate("location.hash = 'view=trends'")
    page.wait_for_selector(".picture")
    assert page.locator("#runs-view").is_hidden()
    assert page.locator("#to-trends").get_attribute("aria-current") == "page"


ORDERS = (  # column, what comes first when it is chosen, and when it is chosen once more
    ("started", "2026-11-01 00:00", "2026-11-02 15:00"),  # it begins with the newest
    ("run", "alpha", "gamma"),
    ("on", "aws", "local table"),
    ("found", "No throttles", "Partition limit"),
    ("write", "1,000", "700"),
    ("throttled", "30 %", "0 %"),
    ("p99", "100", "9"),
    ("sure", "98 %", "98 %"),
    ("lasted", "1 min", "1 min"),
    ("report", "Open", "Open"),  # what is not there comes last, either way
)


def test_every_column_orders_both_ways(visit, address):
    page = visit(f"{address}#q=2026-11")
    heads = page.locator("#head button")
    there = [heads.nth(place).get_attribute("data-order") for place in range(heads.count())]
    assert sorted(there) == sorted(column for column, *_ in ORDERS)
    for column, *wanted in ORDERS:
        place = there.index(column)
        for text in wanted:
            heads.nth(place).press("Enter")
            first = page.locator("#rows tr").first.locator("td").nth(place).inner_text()
            assert first.startswith(text), (column, text)
            assert page.locator("#head th").nth(place).get_attribute("aria-sort") in (
                "ascending",
                "descending",
            )
        assert page.evaluate("document.activeElement.dataset.order") == column


def test_a_run_says_more_by_keyboard(visit, address):
    page = visit(f"{address}#q=gamma")
    first = page.locator("#rows .open").first
    first.press("Enter")
    expect(page.locator("tr.about")).to_contain_text("keyheat report")
    expect(first).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Enter")
    expect(page.locator("tr.about")).to_have_count(0)


def test_rows_come_as_they_are_needed_and_all_on_paper(visit, address):
    page = visit(address)
    assert page.locator("#rows tr").count() == 100
    page.locator("#more").scroll_into_view_if_needed()
    page.wait_for_selector("#rows tr:nth-child(120)")
    page.reload()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#rows tr").count() == 120
    assert page.locator(".picture").count() == 3
    assert page.locator("#tools").is_hidden()


def test_a_trend_marks_what_changed(visit, address):
    page = visit(f"{address}#view=trends")
    first = page.locator(".picture").first
    expect(first.locator("h3")).to_have_text(re.compile("^alpha"))
    expect(first).to_contain_text("became worse")
    expect(first).to_contain_text("Worse since 2026-11-02 06:00: 1,000 → 700 (−30 %)")
    expect(first.locator("path.worse")).to_have_count(1)
    art = first.locator("svg").first
    assert "Worse since" in art.get_attribute("aria-label")
    art.hover(position={"x": 1, "y": 20})
    expect(first).to_contain_text("2026-11-01 00:00: 1,000")
    art.click(position={"x": 1, "y": 20})
    page.wait_for_selector("tr.about")
    expect(page.locator("#scenario")).to_have_value("alpha")


def test_a_trend_says_between_what_its_numbers_were_not_where_its_axis_ends(visit, address):
    page = visit(f"{address}#view=trends")

    def ends(scenario):
        return page.locator(".picture", has_text=scenario).locator(".ends").all_text_contents()

    assert ends("alpha")[0] == "700 to 1,000"
    assert ends("beta")[:2] == ["always 1,000", "always 0 %"]


def test_a_percent_is_no_cliff(visit, tmp_path):
    """Numbers that are nearly the same are nearly a line, in the middle of their picture."""
    for hour in range(6):
        written(tmp_path / str(hour), summary(hours=hour, accepted=1_000.0 - 10 * (hour % 2), share=0.001))
    runs = Runs(rows=rows_of(RunSearch().look([tmp_path], 0.0)[0]), problems=(), folders=(tmp_path,))
    write_runs(tmp_path / "runs.html", runs, FIRST)
    page = visit(f"{(tmp_path / 'runs.html').as_uri()}#view=trends")
    heights = page.locator(".way").evaluate_all("ways => ways.map((way) => way.getBBox().height)")
    assert all(height < 72 / 8 for height in heights)


NIGHTS = (  # verdict of the session, what a gate found worse, whether gates judged, the cell's mark
    ("unaccepted", (), False, "unaccepted"),
    ("baseline", (), False, "first"),
    ("good", (), True, "held"),
    ("regressed", ("shards_needed",), True, "failed"),
    ("regressed", (), True, "held"),  # another case of the suite had failed
    ("invalid", (), True, "invalid"),
    ("interrupted", (), False, "interrupted"),
    ("unaccepted", (), True, "held"),  # another case of the suite is new
)


@pytest.fixture
def nights(visit, tmp_path):
    """The page over a session for each of NIGHTS; the fourth has no number of shards."""
    known = []
    for night, (verdict, worse, judged, _) in enumerate(NIGHTS):
        one = summary(hours=24 * night)
        shards = {} if worse else {"shards_needed": 1.0}
        place = SuitePlace(
            suite="s", case="hotkey", session=str(night), repetition=0, verdict=verdict, worse=worse,
            judged=judged,
        )  # fmt: skip
        known.append(
            HistoryRun(
                summary=one.model_copy(update={"measures": {**one.measures, **shards}}), url=None, place=place
            )
        )
    write_runs(tmp_path / "runs.html", Runs(rows=rows_of((), known), problems=(), folders=(tmp_path,)), FIRST)
    return visit(f"{(tmp_path / 'runs.html').as_uri()}#view=trends")


def test_every_verdict_of_a_session_has_its_own_mark_with_words(nights):
    cells = nights.locator(".strip i")
    assert cells.evaluate_all("cells => cells.map((cell) => cell.className)") == [one[3] for one in NIGHTS]
    looks = cells.evaluate_all(
        "cells => cells.map((one) => getComputedStyle(one))"
        ".map((one) => [one.height, one.backgroundColor, one.borderTopWidth].join())"
    )
    assert len(set(looks)) == len({one[3] for one in NIGHTS})
    said = nights.locator(".strip").get_attribute("aria-label")
    assert said.startswith(
        "8 sessions; every gate held in 3; held against nothing in 1; a gate failed in that"
    )
    assert "not valid, so that nothing is decided in that of 2026-11-06 00:00" in said
    assert cells.nth(0).get_attribute("title").endswith("session 0\nsomebody is to look at it first")
    expect(nights.locator(".picture h3")).to_have_text("hotkey of s, local table, 8 runs")
    assert violations(nights) == []


def test_a_gate_that_failed_for_want_of_a_number_is_drawn_and_said(nights):
    shards = nights.locator("figure", has_text="Shards needed")
    expect(shards.locator(".ends")).to_have_text("1, or no number (1 run)")
    assert shards.locator(".bad").get_attribute("d").count("M") == 1
    assert "of which 1 had no number" in shards.locator("svg").get_attribute("aria-label")


def test_a_picture_of_a_case_leads_to_its_own_runs(nights):
    nights.locator(".picture h3 a").click()
    expect(nights.locator("#count")).to_have_text("8 runs, the newest of 2026-11-08 00:00 UTC")
    assert nights.locator("#q").input_value() == "s, hotkey"


@pytest.mark.parametrize("view", ["#q=2026-11-02+15", "#view=trends"])
def test_axe_finds_nothing_wrong(visit, address, view):
    page = visit(f"{address}{view}")
    page.evaluate("document.querySelectorAll('.open').forEach(one => one.click())")
    page.evaluate("document.getElementById('problems').open = true")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == [], scheme


@pytest.mark.parametrize("view", ["", "#view=trends"])
def test_a_phone_does_not_scroll_sideways(visit, address, view):
    page = visit(f"{address}{view}", width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


# ---- on a server


def content(found, version):
    made = content_of(
        found.rows, trends_of(found.rows), (), place=place_of, link=lambda row: f"run/{row.key}/report"
    )
    return {**made, "version": version}


@pytest.fixture
def served(browser, found):
    """The page of a server, whose answers a test makes up: `page.says(name, content)`, None: it is gone."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    said = {}

    def answer(route):
        name = route.request.url.removeprefix(SERVER)
        if said.get(name) is None:
            return route.abort()
        body, kind = said[name]
        return route.fulfill(body=body, content_type=kind)

    def says(name, value):
        said[name] = None if value is None else (json.dumps(value), "application/json")

    page.route("**/*", answer)
    page.says = says
    nothing = Runs(rows=(), problems=(), folders=())
    said[""] = (
        render_runs(content(nothing, "first"), "reports/out", FIRST, serve="keyheat serve"),
        "text/html",
    )
    says("now.json", {"version": "first", "underway": []})
    page.goto(SERVER)
    yield page
    page.unroute_all(behavior="ignoreErrors")  # the page may be asking at this moment
    context.close()


MOVING = {
    "key": "k", "scenario": "delta", "question": "Is it?", "target": "local table", "folder": "reports/out/d",
    "doing": "loading", "elapsed_s": 12.0, "duration_s": 60.0, "accepted": 1_200, "throttled": 300,
    "errors": 0, "seconds": [[100, 25, 0]] * 12,
}  # fmt: skip


def test_what_is_under_way_moves_and_new_runs_come_by_themselves(served, found):
    assert served.locator("#empty").is_visible()
    served.says("now.json", {"version": "first", "underway": [MOVING]})
    served.wait_for_selector("#moving li")
    assert "delta local table, loading, 12 s of 1 min" in served.locator("#moving").inner_text()
    assert served.locator("#moving progress").evaluate("bar => bar.value") == 12
    assert served.locator("#empty").is_hidden()
    assert violations(served) == []
    served.says("now.json", {"version": "first", "underway": [{**MOVING, "elapsed_s": 13.0}]})
    served.wait_for_selector("#moving progress[value='13']")
    served.says("runs.json", content(found, "second"))
    served.says("now.json", {"version": "second", "underway": []})
    served.wait_for_selector("#rows tr")
    served.wait_for_selector("#moving li", state="detached")
    assert served.locator("#underway").is_hidden()
    assert served.locator("#rows a").first.get_attribute("href").startswith("run/")


def test_it_says_when_the_server_is_gone_and_when_it_is_back(served):
    served.says("now.json", None)
    served.wait_for_selector("#gone:visible")
    assert "keyheat serve" in served.locator("#gone").inner_text()
    served.says("now.json", {"version": "first", "underway": []})
    served.wait_for_selector("#gone", state="hidden")


def test_what_somebody_looks_at_stays_when_runs_come(served, found):
    served.says("runs.json", content(found, "second"))
    served.says("now.json", {"version": "second", "underway": []})
    served.wait_for_selector("#rows tr")
    served.fill("#q", "gamma")
    expect(served.locator("#count")).to_have_text("40 of 120 runs")
    served.locator("#rows .open").first.press("Enter")
    served.says("runs.json", {**content(found, "third"), "sentence": "More."})
    served.says("now.json", {"version": "third", "underway": []})
    served.wait_for_selector("h1:text('More.')")
    assert served.locator("#count").inner_text() == "40 of 120 runs"
    assert served.locator("tr.about").count() == 1
    assert served.evaluate("document.activeElement.className") == "open"
