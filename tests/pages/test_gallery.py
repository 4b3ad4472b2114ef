"""What every page is, whatever it looks like: headings in their order, as wide as a phone, readable by all.

The pages and the pictures are those of `make gallery`; here nothing is compared by its pixels.
"""

from itertools import pairwise, product

import pytest

from tests.pages.axe import violations
from tools.gallery import MADE_UP, NARROW_PX, PAGES, PAPER_PX, SIMULATED, WIDE_PX, index_of, shots_of, take

ELSEWHERE = {"run-datekey", "run-sharded", "run-too-small", "run-undetermined", "regression-good"}
"""Pages of a kind that is looked at already: they have the gallery's pictures, and tests of their own."""
LOOKED_AT = [name for name in MADE_UP if name not in ELSEWHERE]
OUTLINE = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
    .filter(one => one.getClientRects().length)
    .map(one => [Number(one.tagName[1]), one.textContent.trim()])"""

REACHABLE = """() => [...document.querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter(one => !one.disabled && one.tabIndex >= 0 && one.checkVisibility({visibilityProperty: true}))
    .map((one, place) => (one.dataset.place = place, one.outerHTML.slice(0, 120)))"""
FOCUSED = """() => {
    const one = document.activeElement, look = getComputedStyle(one);
    return [one.dataset.place ?? null, look.outlineStyle !== "none" && look.outlineWidth !== "0px"];
}"""


def test_there_is_a_picture_of_every_page_in_every_size_and_scheme(tmp_path):
    shots = shots_of(PAGES)
    schemes = [*product((WIDE_PX, NARROW_PX), ("light", "dark")), (PAPER_PX, "print")]
    assert [(shot.page, shot.width_px, shot.scheme) for shot in shots] == [
        (page, *scheme) for page in PAGES for scheme in schemes
    ]
    assert {f"run-{name}" for name in SIMULATED} == PAGES.keys() - MADE_UP.keys()
    text = index_of(shots, {name: tmp_path / f"{name}.html" for name in PAGES}, tmp_path)
    assert [shot.file for shot in shots if text.count(f'src="{shot.file}"') != 1] == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.nightly
def test_pictures_are_taken(browser, samples, tmp_path):
    shots = [shot for shot in shots_of(["regression-good"]) if shot.width_px != WIDE_PX]
    take(browser, MADE_UP["regression-good"](tmp_path, samples), shots, tmp_path)
    assert {path.name for path in tmp_path.glob("*.png")} == {shot.file for shot in shots}


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_is_in_order_narrow_and_accessible(visit, samples, tmp_path, name):
    page = visit(MADE_UP[name](tmp_path, samples).as_uri(), width=NARROW_PX)
    outline = page.evaluate(OUTLINE)
    levels = [level for level, _ in outline]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), outline
    assert [text for _, text in outline if not text] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW_PX
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == [], scheme
    assert page.wrong == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", LOOKED_AT)
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
