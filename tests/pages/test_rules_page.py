"""docs/rules.md: every rule has its line, and the page is what `make rules` writes."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.rules import LEANING, MEASURED, RULES, Rule
from keyheat.pages.charts import labels as label_chart
from tests.made_runs import load_evidence

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
OWN = [rule for rule in RULES.values() if rule.id not in {LEANING + name for name in MEASURED}]


def test_the_page_is_what_the_command_makes() -> None:
    """If not: make rules"""
    assert runpy.run_path(str(ROOT / "docs" / "rules.py"))["rules_page"]() == PAGE


def test_every_rule_can_be_linked_to() -> None:
    anchors = re.findall(r'<a id="([a-z-]+)"></a>`([a-z-]+)`', PAGE)
    assert [name for name, _ in anchors] == [rule.id for rule in OWN] == [said for _, said in anchors]
    headings = {head.lower().replace(" ", "-") for head in re.findall(r"^## (.+)$", PAGE, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([a-z-]+)\)", PAGE)) <= headings
    others = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    assert set(re.findall(r"rules\.md#([a-z-]+)", others)) <= {name for name, _ in anchors} | headings


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: rule.id)
def test_the_words_are_those_of_the_table(rule: Rule) -> None:
    (line,) = re.findall(rf'^\| <a id="{rule.id}"></a>.*$', PAGE, re.MULTILINE)
    assert rule.trigger in line
    assert f"| `{rule.constraint}` |" in line
    for said in (rule.evidence, rule.meaning, rule.mitigation, rule.cure):
        assert said in PAGE


def test_every_command_works(
    verb: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    assert [command.split()[1] for command in COMMANDS] == ["analyze", "report"]
    for command in COMMANDS:
        assert verb(*command.split()[1:]).code == 0
    assert "reason-key-range" in (tmp_path / "reason-key-range.html").read_text()
    unsure = "tests/analysis/examples/undetermined-resource.json"
    assert verb("analyze", "--evidence", unsure).code == 3
    assert verb("report", "--evidence", unsure, "--out", "unsure.html").code == 0


def test_a_report_says_what_its_rules_mean() -> None:
    run = load_evidence(ROOT / "tests/analysis/examples/minutes-burst-spent.json")
    (label, *_) = run.diagnosis.labels
    unknown = label.model_copy(update={"rule": "of-a-later-version", "throttles": 1})
    table = label_chart.rule_table([label, unknown])
    assert table is not None
    first, second = table.rows
    assert first[0] == label.rule
    assert RULES[str(label.rule)].meaning in first
    assert second[:1] == ("of-a-later-version",)
    assert label_chart.rule_table([]) is None
