"""Reports in a real browser: charts drawn, nothing fetched, readable in the dark, on a phone and on paper."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from keyheat.pages.comparison import write_comparison
from keyheat.pages.run.report import write_report
from keyheat.pages.series import RunEntry, write_index
from keyheat.plan.prices import load_prices
from tests.browsing import all_drawn
from tests.pages.axe import violations
from tools.samples.cases import CASES

NAMES = [case.name for case in CASES]

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def reports(samples, tmp_path_factory):
    """Every sample's report, and the pages over several of them, as addresses of files."""
    at = datetime(2026, 11, 20, 13, 0, tzinfo=UTC)
    addresses = {name: write_report(samples[name], at).as_uri() for name in NAMES}
    folder = samples[NAMES[0]].parent
    entries = [RunEntry.of_run(samples[name]) for name in NAMES]
    compare = folder / "compare.html"
    write_comparison(compare, [samples[name] for name in NAMES], load_prices(), at)
    addresses["compare"] = compare.as_uri()
    return {**addresses, "index": write_index(folder, entries, at).as_uri()}


def drawn(page):
    """Chart id -> (traces drawn, width of its drawing, width of its place), once all are drawn."""
    all_drawn(page)
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.chart')].map(place => [place.id, [
            place.querySelectorAll('.trace, .hm').length,
            place.querySelector('svg.main-svg')?.getBoundingClientRect().width ?? 0,
            place.getBoundingClientRect().width]]))"""
    )


CUT = """() => [...document.querySelectorAll('.chart')].flatMap(chart => {
    const place = chart.getBoundingClientRect()
    return [...chart.querySelectorAll('svg.main-svg text')].filter(text => {
        const said = text.getBoundingClientRect()
        return said.width && (said.bottom > place.bottom + 1 || said.top < place.top - 1)
    }).map(text => [chart.id, text.textContent])
})"""
"""Every text of a chart that its lower or upper edge cuts."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "compare"])
def test_charts_are_drawn_and_nothing_is_wrong_and_nothing_is_fetched(visit, reports, name):
    page = visit(reports[name])
    charts = drawn(page)
    assert len(charts) >= 5
    assert all(traces > 0 and 0 < width <= place + 1 for traces, width, place in charts.values()), charts
    assert page.evaluate(CUT) == []
    assert page.wrong == []
    assert page.fetched == [reports[name]]


def test_the_index_fetches_nothing_and_its_links_work(visit, reports):
    page = visit(reports["index"])
    assert (page.wrong, page.fetched) == ([], [reports["index"]])
    assert page.locator("svg.spark").count() == len(NAMES)
    page.locator("article a").first.click()
    page.wait_for_selector("#verdict")
    assert page.url == reports[NAMES[0]]


@pytest.mark.parametrize("name", ["datekey", "generator-bound", "index", "compare"])
def test_a_phone_does_not_scroll_sideways(visit, reports, name):
    page = visit(reports[name], width=360)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.wrong == []


MARKS = """() => [...document.querySelectorAll("#chart-latency .xtick text")]
    .map(text => text.getBoundingClientRect()).filter(box => box.width)
    .map(({left, right, top}) => [left, right, top])"""


def test_percentiles_stand_side_by_side_on_a_phone(visit, reports):
    page = visit(reports["hotkey"], width=390)
    all_drawn(page)
    marks = page.evaluate(MARKS)
    assert len(marks) >= 5
    assert all(before[1] < after[0] for before, after in pairwise(marks)), marks
    assert len({round(top) for _, _, top in marks}) == 1


CONTRASTS = """() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parts(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('main *, header *, footer *')]
    .filter(e => e.getClientRects().length)
    .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .map(e => {
      const style = getComputedStyle(e);
      const ink = parts(e instanceof SVGElement ? style.fill : style.color);
      const [low, high] = [light(ink), light(ground(e))].sort((a, b) => a - b);
      return [(high + 0.05) / (low + 0.05), e.textContent.trim().slice(0, 40)];
    })
    .filter(([ratio]) => ratio < 4.5);
}"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["undetermined", "index", "compare"])
def test_every_word_has_contrast(visit, reports, name, dark):
    """https://www.w3.org/WAI/WCAG22/Understanding/contrast-minimum.html"""
    page = visit(reports[name], dark=dark)
    assert page.evaluate(CONTRASTS) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["datekey", "generator-bound", "index", "compare"])
def test_axe_finds_nothing_wrong(visit, reports, name, dark):
    page = visit(reports[name], dark=dark)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert violations(page) == []


def test_the_page_follows_the_system_from_light_to_dark(visit, reports):
    page = visit(reports["hotkey"])
    page.locator("#chart-seconds-0").scroll_into_view_if_needed()  # what nobody looks at waits
    area = "document.querySelector('#chart-seconds-0 .js-fill')"
    page.wait_for_selector("#chart-seconds-0 .js-fill", state="attached")
    light = page.evaluate(f"getComputedStyle({area}).fill")
    page.emulate_media(color_scheme="dark")
    changed = f"() => {area} && getComputedStyle({area}).fill !== '{light}'"
    page.wait_for_function(changed, polling=100)  # not by frames: a page that rests may draw none
    assert page.wrong == []


def test_paper_has_every_chart_in_light_colours(visit, reports):
    page = visit(reports["hotkey"], dark=True)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    charts = drawn(page)
    assert all(traces > 0 and width <= 660 for traces, width, _ in charts.values()), charts
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(CONTRASTS) == []
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_function(
        """() => [...document.querySelectorAll('.chart')].every(place =>
            place.querySelector('svg.main-svg')?.getBoundingClientRect().width === place.clientWidth)"""
    )
    assert page.wrong == []


def test_hostile_words_do_not_run(visit, a_run, generated_at):
    run_dir = a_run()
    hostile = "<img src=x onerror=console.log(1)><script>console.log(2)</script>"
    for name in ("diagnosis.json", "keys.json", "run.json"):
        path = run_dir / name
        text = path.read_text().replace('"shown": null', f'"shown": "{hostile}"')
        path.write_text(text.replace('"question": "One', f'"question": "{hostile}One'))
    page = visit(write_report(run_dir, generated_at).as_uri())
    assert drawn(page)
    assert page.wrong == []
    assert page.locator("img").count() == 0
    assert "<img src=x" in page.locator("#chart-keys").text_content()
