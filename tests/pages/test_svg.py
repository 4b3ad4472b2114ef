"""The page for mail: pictures that stand still, no script, and little weight."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from keyheat.analysis.report.facts import facts_of
from keyheat.analysis.report.run import load_run
from keyheat.analysis.report.seconds import read_record
from keyheat.pages import style
from keyheat.pages.charts.svg import SHADES, dark_rules, svg_of
from keyheat.pages.charts.svg_axes import WIDTH
from keyheat.pages.run.report import LIGHT_REPORT, render, write_report
from keyheat.pages.run.sections import charts_of
from keyheat.pages.samples.cases import CASES, HOT_KEY
from keyheat.pages.samples.make import make_run
from tests.pages.axe import violations

NAMES = [case.name for case in CASES]
MOST_BYTES = 300_000
COLOUR = re.compile(r'(?:fill|stroke)="(#[0-9a-f]{6})"')


def charts(run_dir):
    run = load_run(run_dir)
    record = read_record(run)
    return [chart for section in charts_of(run, record, facts_of(run, record)) for chart in section.charts]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_chart_is_a_picture_whose_colours_have_dark_partners(samples, name):
    rules = dark_rules()
    for chart in charts(samples[name]):
        drawn = svg_of(chart)
        assert "nan" not in drawn
        picture = ElementTree.fromstring(drawn)
        assert picture.get("aria-label").startswith(chart.title)
        assert len(picture) > 3
        assert all(f'[fill="{colour}"]' in rules for colour in COLOUR.findall(drawn))


def test_a_picture_shows_what_was_counted(samples):
    first = charts(samples["hotkey"])[0]
    words = [one.text for one in ElementTree.fromstring(svg_of(first)).iter("text")]
    assert {"WCU per second", "throttled per second", "4,000", "12:00:30"} <= set(words)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_no_script_and_little_weight(samples, generated_at, name):
    path = write_report(samples[name], generated_at, light=True)
    text = path.read_text(encoding="utf-8")
    assert path.name == LIGHT_REPORT
    assert len(text.encode()) < MOST_BYTES
    assert "<script" not in text
    assert "<button" not in text
    assert text.count('class="still"') == len(charts(samples[name]))


@pytest.mark.slow
def test_a_long_run_is_light_too(tmp_path, generated_at):
    case = replace(HOT_KEY, demand_per_s=20, ceiling_per_s=18, hot_share=0.9)
    run = load_run(make_run(case, tmp_path / "long", seconds=20_000))
    assert len(render(run, generated_at, light=True).encode()) < MOST_BYTES


def test_words_of_users_do_not_run_in_a_picture(samples):
    chart = replace(charts(samples["hotkey"])[0], summary='"><script>1</script>')
    assert "<script" not in svg_of(chart)


def test_what_the_rules_cover():
    assert dark_rules().count("[fill=") >= len(style.LIGHT) + SHADES
    assert WIDTH == 720


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_shows_it_and_finds_nothing_wrong(visit, samples, generated_at, dark):
    page = visit(write_report(samples["too-small"], generated_at, light=True).as_uri(), width=360, dark=dark)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    area = "document.querySelector('#chart-seconds-0 path[fill=\\'#dde8f7\\']')"
    role = style.DARK if dark else style.LIGHT
    parts = ", ".join(str(int(role["soft"][at : at + 2], 16)) for at in (1, 3, 5))
    assert page.evaluate(f"getComputedStyle({area}).fill") == f"rgb({parts})"
    assert page.wrong == []
