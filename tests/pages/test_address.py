"""What a reader passes on: links to headings, and the verdict as Markdown."""

from dataclasses import replace

import pytest

from keyheat.analysis.report import load_run
from keyheat.show.markdown import markdown_of
from keyheat.show.run import run_answer
from tests.pages.axe import violations


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
    return run_answer(load_run(run_dir))


@pytest.mark.slow
def test_a_ticket_has_the_verdict_and_its_numbers_and_what_users_wrote_is_plain(samples):
    hero = of(samples["hotkey"])
    text = markdown_of(hero, whole=False)
    assert text.startswith("## hotkey: Partition limit (as the scenario expects)\n")
    assert all(fact.name in text for fact in hero.facts)
    text = markdown_of(replace(hero, title="<b>[x](y)|\n# @all"), whole=False)
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
    assert page.evaluate("navigator.clipboard.readText()") == markdown_of(hero, whole=False)
    assert page.evaluate("document.activeElement.id") == "copy"
    context.close()
