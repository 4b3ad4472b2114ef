"""Reports in a real browser, beside what test_gallery.py holds every page to."""

from itertools import pairwise

import pytest

from keyheat.show.report import write_report
from tests.browsing import CONTRASTS, all_drawn, drawn

pytestmark = pytest.mark.browser


MARKS = """() => [...document.querySelectorAll("#chart-latency-by-percentile .xtick text")]
    .map(text => text.getBoundingClientRect()).filter(box => box.width)
    .map(({left, right, top}) => [left, right, top])"""


def test_percentiles_stand_side_by_side_on_a_phone(visit, address):
    page = visit(address, width=390)
    all_drawn(page)
    marks = page.evaluate(MARKS)
    assert len(marks) >= 5
    assert all(before[1] < after[0] for before, after in pairwise(marks)), marks
    assert len({round(top) for _, _, top in marks}) == 1


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
    assert "<img src=x" in page.locator("#chart-hottest-keys-writes").text_content()
