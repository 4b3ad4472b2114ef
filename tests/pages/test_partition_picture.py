"""Partitions at one moment: the still is what happened, and the script draws every other one alike."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from keyheat import runfiles
from keyheat.pages.charts.partition_picture import MOST_BARS, Recorded, picture_of, placed
from keyheat.pages.charts.partition_rates import PartitionRates, read_ones
from keyheat.pages.charts.partitions import partition_chart
from keyheat.pages.run.report import write_report
from keyheat.runs import parquet
from keyheat.runs.frames import of_partitions
from keyheat.words import Resource
from tests.pages.axe import violations
from tests.pages.test_partition_chart import SPLIT, SPLIT_FILE, WRITES, table_of

SAID = (
    "1 s, at 12:00:01 UTC: the hottest is partition 0 (0 % to 50 % of all hashes), "
    "900 of 1,000 WCU/s, 60 throttled/s. All 2 partitions together: 900 WCU/s, 60 throttled/s."
)
AFTER = (
    "2 s, at 12:00:02 UTC: the hottest is partition 2 (0 % to 25 % of all hashes), "
    "500 of 1,000 WCU/s, none throttled. All 3 partitions together: 900 WCU/s, none throttled. "
    "Partition 0 has just split into 2 and 3."
)


def picture(rows, resource=WRITES):
    return partition_chart(rows, resource, 1_000, "chart").picture


def bars(still):
    """Partition -> its rectangles by kind: (from, width, upper edge, height)."""
    drawn = ElementTree.fromstring(f"<svg>{still}</svg>").findall("g[@class='moment']/g[@data-partition]")
    return {
        int(bar.get("data-partition")): {
            rect.get("class").split()[0]: tuple(
                float(rect.get(name).rstrip("%")) for name in ("x", "width", "y", "height")
            )
            for rect in bar.findall("rect")
        }
        for bar in drawn
    }


def test_keys_reach_from_one_partition_to_the_next():
    _, _, ones = read_ones(SPLIT[SPLIT["resource"] == "table"], "write")
    shares = {number: (one.from_share, one.to_share) for number, one in placed(ones).items()}
    assert shares == {0: (0.0, 0.5), 1: (0.5, 1.0), 2: (0.0, 0.25), 3: (0.25, 0.5)}


def test_the_still_is_the_moment_with_the_most_throttles():
    found = picture(SPLIT)
    assert (found.step, found.steps, found.said) == (1, 4, SAID)
    assert found.value_said == "1 s: hottest partition 900 of 1,000 WCU/s, 60 throttled/s"
    drawn = bars(found.still)
    assert {number: bar["keys"][:2] for number, bar in drawn.items()} == {0: (0.0, 50.0), 1: (50.0, 50.0)}
    served, refused = drawn[0]["served"], drawn[0]["refused"]
    assert refused[2] + refused[3] == pytest.approx(served[2])  # the throttles stand on what is served
    assert "refused" not in drawn[1]
    assert 'class="cut' not in found.still


def test_a_bar_reaches_the_ceiling_where_its_partition_does():
    rows = of_partitions(table_of((0, None, 0, None, 0, 0.0, 1_000, 0), (0, None, 1, None, 0, 0.5, 500, 0)))
    still = picture(rows).still
    ceiling = float(re.search(r'class="ceiling"[^>]* y1="([\d.]+)"', still)[1])
    drawn = bars(still)
    assert drawn[0]["served"][2] == pytest.approx(ceiling)
    assert drawn[1]["served"][3] == pytest.approx(drawn[0]["served"][3] / 2)
    assert re.findall(r'class="served (\w+)"', still) == ["hot", "warm"]


def test_a_split_is_a_cut_from_then_on():
    late = of_partitions(table_of(
        (0, None, 0, None, 0, 0.0, 10, 0), (1, None, 1, 0, 1, 0.0, 300, 0), (1, None, 2, 0, 1, 0.5, 200, 0),
    ))  # fmt: skip
    found = picture(late)
    assert (found.step, set(bars(found.still))) == (1, {1, 2})
    assert '<g class="cut fresh"><line x1="50%" x2="50%"' in found.still
    assert "Partition 0 has just split into 1 and 2." in found.said
    assert '<line class="split" x1="50%"' in found.strip


def test_of_very_many_partitions_the_busiest_are_drawn():
    count = MOST_BARS + 40
    many = of_partitions(table_of(*((0, None, n, None, 0, n / count, n + 1, 0) for n in range(count))))
    found = picture(many)
    assert set(bars(found.still)) == set(range(40, count))
    assert f"All {count} partitions together" in found.said
    assert len(found.still) + len(str(found.known)) < 50_000


def test_a_long_run_keeps_its_worst_moments_in_the_strip():
    cells = [(at, None, 0, None, 0, 0.0, 5_000 if at == 1_234 else 100, 0) for at in range(3_600)]
    found = picture(of_partitions(table_of(*cells)))
    assert found.step == 1_234
    assert found.strip.count("H") <= 480
    assert "V40H" in found.strip


def test_reads_of_an_index_have_a_picture_of_their_own():
    found = picture(SPLIT, Resource("by-day", "write"))
    assert found.said.startswith("0 s, at 12:00:03 UTC: the hottest is partition 0 (0 % to 100 %")
    assert 'class="refused"' not in found.still


def test_where_no_partition_is_known_there_is_no_picture():
    unknown = np.full(3, np.nan)
    one = PartitionRates(
        number=0, parent=None, since_s=0.0, from_share=0.0, units_per_s=unknown, refused_per_s=unknown
    )
    run = Recorded(ones=[one], direction="write", ceiling_per_s=1_000, start_s=0.0, step_s=1.0)
    assert picture_of(run, str, "chart") is None


@pytest.fixture
def page(visit, a_run, generated_at):
    """The page of a run whose partitions are those with a split, opened anew."""
    run_dir = a_run()
    parquet.write_table(run_dir / "partitions.parquet", runfiles.PARTITIONS, SPLIT_FILE)
    path = write_report(run_dir, generated_at)

    def open_page(**how):
        page = visit(path.as_uri(), **how)
        page.locator(".moments").first.scroll_into_view_if_needed()
        return page

    return open_page


STANDS = """() => [...document.querySelectorAll(".moments")].map(one => [
    one.querySelector("g.moment").innerHTML,
    one.querySelector(".moment-said").textContent.replaceAll("\\u00a0", " "),
    one.querySelector("input").getAttribute("aria-valuetext"),
    one.querySelector(".needle").getAttribute("x1")])"""


@pytest.mark.browser
def test_the_slider_moves_through_the_run_and_the_script_draws_as_the_still_is_drawn(page):
    opened = page()
    slider = opened.get_by_role("slider", name="Time in the run of Partitions: table, writes")
    still = opened.evaluate(STANDS)[0]
    assert still[1:3] == [SAID, "1 s: hottest partition 900 of 1,000 WCU/s, 60 throttled/s"]
    slider.focus()
    opened.keyboard.press("ArrowRight")
    after = opened.evaluate(STANDS)[0]
    assert (after[1], after[3]) == (AFTER, "62.5%")
    assert after[0].count("data-partition") == 3
    assert '<g class="cut fresh"><line x1="25%"' in after[0]
    opened.keyboard.press("End")
    assert slider.input_value() == "3"
    opened.get_by_role("button", name="Worst moment").first.click()
    assert opened.evaluate(STANDS)[0] == still
    assert opened.wrong == []


@pytest.mark.browser
def test_a_run_is_played_to_its_end(page):
    opened = page()
    opened.locator(".moments input").first.focus()
    opened.keyboard.press("Home")
    opened.keyboard.press("Tab")
    opened.keyboard.press("Enter")
    opened.wait_for_function("() => document.querySelector('.moments input').value === '3'")
    opened.wait_for_function("() => document.querySelector('.moments [data-do=play]').textContent === 'Play'")
    assert opened.wrong == []


@pytest.mark.browser
def test_what_is_played_is_the_range_of_the_page(page):
    opened = page()
    rect = opened.locator(".whole .chosen").first
    assert rect.get_attribute("width") == "0"
    begins = opened.evaluate("window.keyheat.content.whole[0]")
    opened.evaluate("range => window.keyheat.charts.show(range)", [begins + 2, begins + 4])
    slider = opened.locator(".moments input").first
    assert (rect.get_attribute("x"), rect.get_attribute("width")) == ("50%", "50%")
    assert slider.input_value() == "2", "the worst moment, second 1, is outside"
    opened.locator(".moments [data-do=play]").first.click()
    opened.wait_for_function("() => document.querySelector('.moments [data-do=play]').textContent === 'Play'")
    assert slider.input_value() == "3"
    assert opened.wrong == []


@pytest.mark.browser
def test_nothing_moves_by_itself_where_motion_is_not_wanted(page):
    opened = page()
    opened.emulate_media(reduced_motion="reduce")
    button = opened.get_by_role("button", name="Next moment").first
    button.click()
    assert opened.evaluate("document.querySelector('.moments input').value") == "2"
    assert button.is_visible()
    assert opened.evaluate("document.getAnimations().length") == 0


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_wrong_and_a_phone_does_not_scroll_sideways(page, dark):
    opened = page(width=390, dark=dark)
    opened.locator(".moments input").first.press("ArrowRight")
    assert violations(opened) == []
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.browser
def test_without_a_script_the_still_and_its_words_are_there(browser, page):
    opened = page()
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(opened.url)
    plain.emulate_media(media="print")
    assert plain.locator(".moment-said").first.is_visible()
    assert plain.locator(".moments svg.partitions").first.bounding_box()["height"] > 100
    assert not plain.locator(".moments .controls").first.is_visible()
    context.close()
