"""Reports in a real browser, beside what test_gallery.py holds every page to; and what a reader passes on."""

from dataclasses import replace
from itertools import pairwise

import pytest

from keyheat.analysis.report import read_run
from keyheat.show.render import markdown_of
from keyheat.show.report import write_report
from keyheat.show.run import run_answer
from tests.browsing import CONTRASTS, all_drawn, drawn
from tests.pages.conftest import GENERATED_AT
from tools.samples import make_run

MARKS = """() => [...document.querySelectorAll("#chart-latency-by-percentile .xtick text")]
    .map(text => text.getBoundingClientRect()).filter(box => box.width)
    .map(({left, right, top}) => [left, right, top])"""


@pytest.mark.browser
def test_percentiles_stand_side_by_side_on_a_phone(visit, tmp_path):
    """Of so many attempts that the last of them is a percentile of its own."""
    many = ("load.requests_per_s=2_000", "load.item_bytes=1_000")
    report = write_report(make_run("hotkey", tmp_path / "run", settings=many), GENERATED_AT)
    page = visit(report.as_uri(), width=390)
    all_drawn(page)
    marks = page.evaluate(MARKS)
    assert len(marks) >= 5
    assert all(before[1] < after[0] for before, after in pairwise(marks)), marks
    assert len({round(top) for _, _, top in marks}) == 1


@pytest.mark.browser
def test_paper_has_every_chart_in_light_colours(visit, address):
    page = visit(address, dark=True)
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
    assert page.locator("#library").count() == 0  # it would be held twice
    assert page.wrong == []


@pytest.mark.slow
def test_a_ticket_has_the_verdict_and_its_numbers_and_what_users_wrote_is_plain(samples):
    hero = run_answer(read_run(samples["hotkey"]))
    text = markdown_of(hero, whole=False)
    assert text.startswith("## hotkey: Partition limit (as the scenario expects)\n")
    assert all(fact.name in text for fact in hero.facts)
    text = markdown_of(replace(hero, title="<b>[x](y)|\n# @all"), whole=False)
    assert "\n# @all" not in text
    assert "<b>" not in text.replace("\\<", "")
    assert "[x]" not in text


@pytest.mark.browser
def test_the_button_copies_the_ticket(browser, samples, address):
    hero = run_answer(read_run(samples["hotkey"]))
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(address)
    page.get_by_role("button", name="Copy as Markdown").click()
    assert page.inner_text("#copied") == "Copied."
    assert page.evaluate("navigator.clipboard.readText()") == markdown_of(hero, whole=False)
    assert page.evaluate("document.activeElement.id") == "copy"
    context.close()
