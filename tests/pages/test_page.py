import json
import re
from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go
import pytest

from keyheat.analysis.report import read_run
from keyheat.shipped import shipped
from keyheat.show import charts
from tests.pages.conftest import page_of, text_of

GOLDEN = Path(__file__).parent / "golden"
HOSTILE = "</script><img src=x onerror=alert(1)>&\"'"
OPTIONAL = ["evidence.json", "run.json", "seconds.parquet", "throttles.parquet", "latency.hdr", "keys.json"]
NAMES = ["hotkey", "generator-bound"]


def page(run_dir):
    return page_of(read_run(run_dir))


def figures(text):
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


def test_a_report_says_the_same_as_last_time(samples, golden):
    text = text_of(page(samples["hotkey"])).replace(str(samples["hotkey"].parent), "FOLDER")
    golden(GOLDEN / "report-hotkey.txt", text.replace(str(shipped("configs").parent), "KEYHEAT"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_report_is_whole_and_needs_nothing_else(samples, name):
    """No link, style, script or picture to fetch, and a text and a dark partner for whatever is drawn."""
    text = page(samples[name])
    assert page(samples[name]) == text
    assert text.index('id="verdict"') < text.index('id="evidence"') < text.index('id="capacity"')
    assert not re.findall(r"(?:src|href|action|data|poster)=[\"'](?!#)[^\"']*", text)
    assert not re.findall(r"url\((?!#)", text)
    assert "default-src 'none'" in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)
    content = figures(text)
    assert content["dark"] == charts.dark_partners()
    for chart, made in content["figures"].items():
        go.Figure(made)
        assert set(re.findall(r"#[0-9a-fA-F]{6}", json.dumps(made))) <= set(charts.LIGHT.values())
        assert made["layout"]["showlegend"] or not any(one.get("name") for one in made["data"])
        summary = re.search(rf'id="{chart}-summary">([^<]*)<', text)
        assert summary, chart
        assert len(summary[1]) > 15
        assert re.search(rf'id="{chart}" role="img" aria-label="[^"]+"', text)


def test_the_diagnosis_alone_makes_a_report(sample):
    text = page(sample(without=tuple(OPTIONAL)))
    assert "Writes were throttled by a partition limit" in text
    assert all(f"<code>{name}</code> not in the run directory" in text for name in OPTIONAL)


@pytest.mark.slow
def test_what_users_wrote_is_escaped_everywhere(sample):
    run_dir = sample()
    for name in ("run.json", "evidence.json", "diagnosis.json", "keys.json"):
        content = json.loads((run_dir / name).read_text())
        (run_dir / name).write_text(json.dumps(spoiled(content)))
    text = page(run_dir)
    assert "<img" not in text
    assert text.count("</script>") == 3
    assert "&lt;img" in text
    drawn = json.dumps(figures(text)["figures"])
    assert "<img" not in drawn


FREE = {
    "question", "name", "shown", "why", "expected", "action", "because", "checks", "target", "missing",
    "python",
}  # fmt: skip


def spoiled(content):
    """Every free text replaced by hostile text."""
    if isinstance(content, dict):
        return {
            key: [HOSTILE] if key in FREE and isinstance(value, list)
            else HOSTILE if key in FREE and (value is None or isinstance(value, str))
            else spoiled(value)
            for key, value in content.items()
        }  # fmt: skip
    return [spoiled(value) for value in content] if isinstance(content, list) else content


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio"""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


TEXTS = ("ink", "muted", "accent", "partition", "failed", "good", "ceiling")
MARKS = ("partition", "table", "max_on_demand", "undetermined", "accent")


@pytest.mark.parametrize("colours", [charts.LIGHT, charts.DARK], ids=["light", "dark"])
def test_text_is_readable_on_the_page_and_on_cards_and_marks_stand_out(colours):
    for ground in ("page", "card"):
        assert [role for role in TEXTS if contrast(colours[role], colours[ground]) < 4.5] == []
    assert [role for role in MARKS if contrast(colours[role], colours["page"]) < 2.8] == []


@pytest.mark.slow
def test_keys_of_the_table_are_not_taken_for_those_of_an_index(samples):
    run = read_run(samples["hotkey"])
    verdict = run.diagnosis.verdict.model_copy(update={"resource": "by-country"})
    of_index = replace(run, diagnosis=run.diagnosis.model_copy(update={"verdict": verdict}))
    said = "Which keys of index by-country the writes met on is not recorded."
    assert said in page_of(of_index)
    assert "is not recorded" not in page_of(run)
