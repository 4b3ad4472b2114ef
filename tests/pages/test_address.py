"""What a reader passes on: links to headings, and the verdict as Markdown."""

from dataclasses import replace

import pytest

from keyheat.analysis.report.facts import facts_of
from keyheat.analysis.report.run import load_run
from keyheat.analysis.report.seconds import read_record
from keyheat.pages.run.hero import hero_of
from keyheat.pages.run.report import ticket, write_report
from tests.pages.axe import violations
from tests.pages.conftest import GENERATED_AT


@pytest.fixture
def address(samples):
    return write_report(samples["hotkey"], GENERATED_AT).as_uri()


@pytest.mark.browser
def test_headings_have_links_that_a_keyboard_reaches(visit, address):
    page = visit(address)
    link = page.get_by_role("link", name="Link to: Consumed against provisioned")
    assert link.evaluate("one => getComputedStyle(one).opacity") == "0"
    page.keyboard.press("Tab")
    link.focus()
    assert link.evaluate("one => getComputedStyle(one).opacity") == "1"
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#capacity'")
    targets = page.evaluate(
        "() => [...document.querySelectorAll('.anchor')].map(one => !!document.querySelector(one.hash))"
    )
    assert len(targets) > 10
    assert all(targets)
    assert violations(page) == []


def of(run_dir):
    run = load_run(run_dir)
    record = read_record(run)
    return hero_of(run, record, facts_of(run, record))


@pytest.mark.slow
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
