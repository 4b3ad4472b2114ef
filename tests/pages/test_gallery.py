"""What every page is, whatever it looks like: drawn, in order, as wide as a phone, readable by all.

The pages and the pictures are those of `make gallery`; here nothing is compared by its pixels.
"""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.browsing import CONTRASTS, drawn
from tests.make import with_nights
from tests.pages.axe import violations
from tests.pages.conftest import skeleton
from tools.gallery import MADE_UP, WIDE_PX, shots_of, take

GOLDEN = Path(__file__).parent / "golden"
PHONE_PX = 360
AT_NIGHT = {
    "run-datekey",
    "run-sharded",
    "run-undetermined",
    "run-generator-bound",
    "trial",
    "regression-good",
}
"""Pages whose parts others have, too."""
OUTLINE = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
    .filter(one => one.getClientRects().length)
    .map(one => [Number(one.tagName[1]), one.textContent.trim()])"""
CUT = """() => [...document.querySelectorAll('.chart')].flatMap(chart => {
    const place = chart.getBoundingClientRect()
    return [...chart.querySelectorAll('svg.main-svg text')].filter(text => {
        const said = text.getBoundingClientRect()
        return said.width && (said.bottom > place.bottom + 1 || said.top < place.top - 1)
    }).map(text => [chart.id, text.textContent])
})"""
"""Every text of a chart that its lower or upper edge cuts."""
HIDDEN = """() => [...document.querySelectorAll(".counts .scroll, :has(> .gates)")]
    .filter(one => one.scrollWidth > one.clientWidth).map(one => one.getAttribute("aria-label"))"""
"""The tables that reach beyond the edge of their place."""
SCROLLED = """() => [...document.querySelectorAll("pre")]
    .filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"""
"""The commands that cannot be read whole without scrolling."""
CHANGE = """() => { window.changed = new Promise(done =>
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", done, {once: true})) }"""
"""Afterwards `changed` waits until the page, told of other colours, has begun to draw its charts anew."""
REACHABLE = """() => [...document.querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter(one => !one.disabled && one.tabIndex >= 0 && one.checkVisibility({visibilityProperty: true}))
    .map((one, place) => (one.dataset.place = place, one.outerHTML.slice(0, 120)))"""
FOCUSED = """() => {
    const one = document.activeElement, look = getComputedStyle(one);
    const seen = look.opacity !== "0" && look.outlineStyle !== "none" && look.outlineWidth !== "0px";
    return [one.dataset.place ?? null, seen];
}"""


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.nightly
def test_pictures_are_taken(browser, samples, tmp_path):
    shots = [shot for shot in shots_of(["regression-good"]) if shot.width_px != WIDE_PX]
    take(browser, MADE_UP["regression-good"](tmp_path, samples), shots, tmp_path)
    assert {path.name for path in tmp_path.glob("*.png")} == {shot.file for shot in shots}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MADE_UP if name not in ("live", "trial")])
def test_the_outline_of_a_page_is_that_of_last_time(samples, tmp_path, golden, name):
    page = MADE_UP[name](tmp_path, samples).read_text(encoding="utf-8")
    golden(GOLDEN / f"page-{name}.txt", skeleton(page).replace(str(tmp_path), "FOLDER"))


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", with_nights(MADE_UP, AT_NIGHT))
def test_a_page_is_drawn_fetches_nothing_and_is_readable_by_all(visit, samples, tmp_path, name):
    """Contrast: https://www.w3.org/WAI/WCAG22/Understanding/contrast-minimum.html"""
    address = MADE_UP[name](tmp_path, samples).as_uri()
    on_bars = name == "whatif-retries"  # numbers, whose ground is what was drawn before them
    page = visit(address, width=WIDE_PX)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    for width in (WIDE_PX, PHONE_PX):
        if width == PHONE_PX:
            page.evaluate(CHANGE)
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme="dark")
            page.evaluate("changed")
        charts = {} if name == "live" else drawn(page)  # which draws its own, as answers come
        assert all(traces > 0 and 0 < wide <= place + 1 for traces, wide, place in charts.values()), charts
        assert len(charts) >= (4 if name.startswith("run-") else 0)
        assert violations(page, contrast=on_bars) == []
        assert on_bars or page.evaluate(CONTRASTS) == []
        assert page.evaluate(CUT) == [] or width == PHONE_PX
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(SCROLLED) == []
    assert (page.wrong, page.fetched) == ([], [address])
    assert page.evaluate(HIDDEN) == []
    outline = page.evaluate(OUTLINE)
    levels = [level for level, _ in outline]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), outline
    assert [text for _, text in outline if not text] == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", MADE_UP)
def test_the_keyboard_alone_reaches_everything_and_shows_where_it_is(visit, samples, tmp_path, name):
    page = visit(MADE_UP[name](tmp_path, samples).as_uri())
    there = page.evaluate(REACHABLE)
    reached, unseen = set(), []
    for _ in range(len(there) + 1):  # a row more that comes as one goes down is reached as well
        page.keyboard.press("Tab")
        place, seen = page.evaluate(FOCUSED)
        reached.add(place)
        if place is not None and not seen:
            unseen.append(there[int(place)])
    assert [html for place, html in enumerate(there) if str(place) not in reached] == []
    assert unseen == []
