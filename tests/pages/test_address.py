"""What a reader passes on: the range in the address, links to headings, Markdown; and the bar that stays."""

from dataclasses import replace

import pytest

from keyheat.analysis.report.facts import facts_of
from keyheat.analysis.report.run import load_run
from keyheat.analysis.report.seconds import read_record
from keyheat.pages.run.hero import hero_of
from keyheat.pages.run.report import ticket, write_report
from tests.browsing import all_drawn
from tests.pages.axe import violations
from tests.pages.conftest import GENERATED_AT

MOST_OF_A_PHONE = 0.12
MIDNIGHT_S = 43_140
"""By how much the made-up run of noon is moved, so that midnight is in its middle."""
PHONE = {"width": 390, "height": 844}
HALF = "12:00:30 to 12:01:30 UTC"


@pytest.fixture
def address(samples):
    return write_report(samples["hotkey"], GENERATED_AT).as_uri()


def words(page):
    return page.inner_text("#range-words")


def hash_is(page, wanted):
    page.wait_for_function("wanted => location.hash === wanted", arg=wanted)


@pytest.mark.browser
def test_a_zoom_is_in_the_address_and_opens_as_it_was(visit, address):
    page = visit(address)
    page.get_by_role("button", name="Zoom in").click()
    hash_is(page, "#t=12:00:30-12:01:30")
    again = visit(page.url)
    assert words(again).startswith(HALF)
    again.get_by_role("button", name="Whole run").click()
    hash_is(again, "")
    assert again.url == address
    assert page.wrong == again.wrong == []


@pytest.mark.browser
def test_a_section_and_a_range_go_together(visit, address):
    page = visit(f"{address}#keys&t=12:00:30-12:01:30")
    assert words(page).startswith(HALF)
    page.wait_for_function(
        "() => Math.abs(document.getElementById('keys').getBoundingClientRect().top) < 200"
    )
    page.get_by_role("link", name="Numbers", exact=True).evaluate("one => one.click()")
    hash_is(page, "#numbers&t=12:00:30-12:01:30")
    assert words(page).startswith(HALF)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("t=2026-11-20T12:00:30-2026-11-20T12:01:30", HALF),
        ("t=12%3A00%3A30-12%3A01%3A30", HALF),
        ("t=12:01:00-13:00:00", "12:01:00 to 12:02:00 UTC"),
        ("t=14:00:00-14:01:00", "The whole run"),  # not of this run
        ("t=12:00:90-x", "The whole run"),
        ("keys", "The whole run"),
    ],
)
def test_what_an_address_may_say(visit, address, asked, shown):
    page = visit(f"{address}#{asked}")
    assert words(page).startswith(shown)
    assert page.wrong == []


@pytest.mark.browser
def test_over_midnight_the_address_has_days(visit, samples):
    text = write_report(samples["hotkey"], GENERATED_AT).read_text(encoding="utf-8")
    moved = samples["hotkey"] / "moved.html"
    parse = 'const content = JSON.parse(document.getElementById("figures").textContent);'
    assert parse in text
    later = f"{parse} content.whole = content.whole.map(one => one + {MIDNIGHT_S});"
    moved.write_text(text.replace(parse, later), encoding="utf-8")
    page = visit(moved.as_uri())
    page.get_by_role("button", name="Zoom in").click()
    hash_is(page, "#t=2026-11-20T23:59:30-2026-11-21T00:00:30")
    again = visit(page.url)
    assert words(again).startswith("2026-11-20 23:59:30 to 2026-11-21 00:00:30 UTC")
    bare = visit(f"{moved.as_uri()}#t=23:59:30-00:00:30")
    assert words(bare) == words(again)


@pytest.mark.browser
def test_headings_have_links_that_a_keyboard_reaches(visit, address):
    page = visit(address)
    link = page.get_by_role("link", name="Link to: Consumed against provisioned")
    assert link.evaluate("one => getComputedStyle(one).opacity") == "0"
    page.keyboard.press("Tab")
    link.focus()
    assert link.evaluate("one => getComputedStyle(one).opacity") == "1"
    page.keyboard.press("Enter")
    hash_is(page, "#capacity")
    targets = page.evaluate(
        "() => [...document.querySelectorAll('.anchor')].map(one => !!document.querySelector(one.hash))"
    )
    assert len(targets) > 10
    assert all(targets)
    assert violations(page) == []


@pytest.mark.browser
def test_the_bar_takes_little_of_a_phone(visit, address):
    page = visit(f"{address}#t=12:00:30-12:01:30", width=PHONE["width"])
    page.set_viewport_size(PHONE)
    all_drawn(page)
    page.evaluate("document.getElementById('latency').scrollIntoView()")
    stuck = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
            .filter(one => getComputedStyle(one).position === "sticky")
            .map(one => one.getBoundingClientRect()).filter(box => box.top <= 0 && box.bottom > 0)
            .map(box => box.bottom)"""
    )
    assert len(stuck) == 1
    assert stuck[0] <= MOST_OF_A_PHONE * PHONE["height"]


def of(run_dir):
    run = load_run(run_dir)
    record = read_record(run)
    return hero_of(run, record, facts_of(run, record))


def test_a_ticket_has_the_verdict_its_numbers_and_what_to_do(samples):
    hero = of(samples["hotkey"])
    text = ticket(hero)
    assert text.startswith(
        "**hotkey: Partition limit** (as the scenario expects)\n\nWrites were throttled by a partition limit"
    )
    assert all(answer.question in text for answer in hero.answers)
    assert "2026-11-20" in text.splitlines()[-1]


def test_what_users_wrote_is_plain_in_a_ticket(samples):
    hero = of(samples["hotkey"])
    text = ticket(replace(hero, title="<b>[x](y)|\n# @all"))
    assert "\n# @all" not in text
    assert "<b>" not in text.replace("\\<", "")
    assert "[x]" not in text


@pytest.mark.browser
def test_the_button_copies_the_ticket(browser, samples, address):
    hero = of(samples["hotkey"])
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(address)
    page.get_by_role("button", name="Copy as Markdown").click()
    assert page.inner_text("#copied") == "Copied."
    assert page.evaluate("navigator.clipboard.readText()") == ticket(hero)
    assert page.evaluate("document.activeElement.id") == "copy"
    context.close()
