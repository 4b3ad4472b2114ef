"""The page of one run in a browser: time is zoomed, every chart follows, and what is shown can be saved."""

import csv
from dataclasses import replace

import pytest

from keyheat.pages.run.report import write_report
from keyheat.pages.samples.cases import HOT_KEY
from keyheat.pages.samples.make import make_run
from tests.browsing import all_drawn
from tests.pages.conftest import GENERATED_AT

pytestmark = pytest.mark.browser
RANGES = """() => Object.fromEntries(window.keyheat.charts.timed.map(id =>
    [id, document.getElementById(id).layout.xaxis.range.map(each => String(each).slice(11, 19))]))"""
DX = "id => document.getElementById(id).data[0].dx"


@pytest.fixture(scope="module")
def opened(new_page, tmp_path_factory):
    """The page of 4,000 seconds, at rest drawn in steps of five: opened once, for it takes its time."""
    case = replace(HOT_KEY, demand_per_s=20, ceiling_per_s=18, hot_share=0.9)
    run_dir = make_run(case, tmp_path_factory.mktemp("zoom") / "run", seconds=4_000)
    page = new_page(write_report(run_dir, GENERATED_AT).as_uri())
    yield page
    page.close()


@pytest.fixture
def page(opened):
    """The same page, as it was at first."""
    opened.locator("#range").focus()
    opened.keyboard.press("0")
    all_drawn(opened)
    yield opened
    assert opened.wrong == []


def words(page):
    return page.inner_text("#range-words")


def drag(page, chart, first, last):
    """Drag over a part of a chart, from 0 to 1 of its width."""
    place = page.locator(f"#{chart} .nsewdrag").first
    place.evaluate("one => one.scrollIntoView({block: 'center'})")  # not below the buttons
    box = place.bounding_box()
    page.mouse.move(box["x"] + first * box["width"], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + last * box["width"], box["y"] + 22, steps=4)
    before = words(page)
    page.mouse.up()
    page.wait_for_function("was => document.getElementById('range-words').textContent !== was", arg=before)
    all_drawn(page)


@pytest.mark.slow
def test_a_drag_zooms_every_chart_and_the_whole_run_comes_back(page):
    whole = page.evaluate(RANGES)
    drag(page, "chart-seconds-0", 0.5, 0.52)
    (zoomed,) = {tuple(each) for each in page.evaluate(RANGES).values()}
    assert words(page).startswith(f"{zoomed[0]} to {zoomed[1]} UTC: 1 min ")
    page.get_by_role("button", name="Whole run").click()
    all_drawn(page)
    assert page.evaluate(RANGES) == whole
    assert words(page).startswith("The whole run: 12:00:00 to 13:06:40")


def test_zooming_in_shows_finer_steps(page):
    assert page.evaluate(DX, "chart-seconds-0") == 5_000
    assert page.evaluate(DX, "chart-heat") == 10_000
    drag(page, "chart-heat", 0.2, 0.4)
    assert page.evaluate(DX, "chart-seconds-0") == 1_000
    assert page.evaluate(DX, "chart-heat") == 5_000


def test_keys_move_and_zoom_and_a_button_that_can_do_nothing_says_so(page):
    later = page.get_by_role("button", name="Later")
    assert later.get_attribute("aria-disabled") == "true"
    page.locator("#range").focus()
    page.keyboard.press("+")
    assert words(page).startswith("12:16:40 to 12:50:00")
    page.keyboard.press("ArrowRight")
    assert words(page).startswith("12:33:20 to 13:06:40")
    assert later.get_attribute("aria-disabled") == "true"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("-")
    assert words(page).startswith("The whole run")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Earlier"


def numbers(page):
    return page.inner_text("#range-numbers").replace("\n", " ")


@pytest.mark.slow
def test_the_numbers_are_those_of_the_range(page):
    assert "Hottest key, writes" in numbers(page)
    whole = numbers(page)
    page.evaluate("document.querySelector('[data-do=in]').click()")
    assert numbers(page) != whole
    sums = page.evaluate(
        """() => {
            const {content, counted} = window.keyheat;
            const sheet = content.sheets["chart-generator"];
            const of = range => counted(sheet, "accepted_requests_per_s", range);
            const [start, end] = content.whole, half = (start + end) / 2 + 0.25;
            return [of(null), of([start, half]) + of([half, end])];
        }"""
    )
    assert sums[0] == pytest.approx(sums[1])


def saved(page, chart):
    with page.expect_download() as download:
        page.locator(f"button.save[data-chart={chart}]").click()
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        return download.value.suggested_filename, list(csv.reader(file))


def test_a_chart_is_saved_second_by_second_and_of_the_range_only(page):
    name, rows = saved(page, "chart-seconds-0")
    assert name == "seconds-table-write.csv"
    assert rows[0][:2] == ["from_utc", "consumed_write_units_per_s"]
    assert len(rows) == 4_001
    page.locator("#range").focus()
    page.keyboard.press("+")
    _, zoomed = saved(page, "chart-seconds-0")
    assert zoomed[1:] == rows[1 + 1_000 : 1 + 3_000]


@pytest.mark.parametrize("chart", ["chart-keys", "chart-labels", "chart-latency", "chart-partitions-0"])
def test_every_kind_of_chart_is_saved(page, chart):
    name, rows = saved(page, chart)
    assert name.endswith(".csv")
    assert len(rows) > 1
    assert {len(row) for row in rows} == {len(rows[0])}


def test_spans_are_joined_where_they_cannot_be_told_apart(page):
    count = "document.getElementById('chart-labels').data.reduce((sum, one) => sum + one.x.length, 0)"
    before = page.evaluate(count)
    labels = page.evaluate(
        "window.keyheat.column(window.keyheat.content.sheets['chart-labels'], 'to_utc').length"
    )
    assert before < labels / 4
    drag(page, "chart-labels", 0.5, 0.53)
    assert page.evaluate(count) > before


def test_paper_has_the_charts_that_nobody_has_seen(page):
    page.locator("#range").focus()
    page.keyboard.press("+")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("window.keyheat.charts.undrawn()") == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
