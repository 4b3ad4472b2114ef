"""docs/rules.md: every rule has its line and its example, and the page and its examples are what is made."""

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.rules import LEANING, MEASURED, RULES, Rule
from keyheat.pages.charts import labels as label_chart
from keyheat.runs.formats import Label, Verdict
from keyheat.runs.plausibility import read_evidence
from tests.outside import PATIENCE_S, a_readers_environment

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.json"))
PROGRAM = Path(sys.executable).parent / "keyheat"
LARGEST_BYTES = 6_000  # of an example: small enough to be read
MOST_LINES = 250  # of a page that is read
OWN = [rule for rule in RULES.values() if rule.id not in {LEANING + name for name in MEASURED}]
MAKER = runpy.run_path(str(ROOT / "docs" / "rules.py"))
"""What `make rules` runs."""


@cache
def heaviest(name: str) -> Label | Verdict:
    """The label with most throttles; where nothing was throttled, the verdict."""
    diagnosis = diagnosed(read_evidence(EXAMPLES / f"{name}.json"))
    return max(diagnosis.labels, key=lambda label: label.throttles, default=diagnosis.verdict)


def test_the_page_is_what_the_command_makes() -> None:
    """If not: make rules"""
    assert MAKER["rules_page"]() == PAGE
    assert len(PAGE.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_says_what_the_text_beside_it_shows(name: str) -> None:
    """If not: make rules"""
    assert (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8") == f"{MAKER['shown'](name)}\n"


def test_every_rule_has_an_example_and_every_example_a_rule() -> None:
    assert {rule.id for rule in OWN} == set(NAMES)
    assert {path.stem for path in EXAMPLES.iterdir()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_is_decided_by_its_rule(name: str) -> None:
    """A rule that is never sure enough by itself is in the label with `undetermined-` in front."""
    label = heaviest(name)
    assert label.rule in (name, LEANING + name)
    assert label.constraint == RULES[str(label.rule)].constraint
    if label.rule != name:
        assert "[not enough](#not-sure-enough)" in line_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_is_small_and_of_a_reader(name: str) -> None:
    path = EXAMPLES / f"{name}.json"
    assert path.stat().st_size <= LARGEST_BYTES
    content = json.loads(path.read_text())
    assert content["table"]["name"] == "orders"
    assert content["window"]["start"].startswith("2026-")


def test_every_rule_can_be_linked_to() -> None:
    anchors = re.findall(r'<a id="([a-z-]+)"></a>`([a-z-]+)`', PAGE)
    assert [name for name, _ in anchors] == [rule.id for rule in OWN] == [said for _, said in anchors]
    headings = {head.lower().replace(" ", "-") for head in re.findall(r"^## (.+)$", PAGE, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([a-z-]+)\)", PAGE)) <= headings
    others = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    assert set(re.findall(r"rules\.md#([a-z-]+)", others)) <= {name for name, _ in anchors} | headings


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: rule.id)
def test_the_words_are_those_of_the_table(rule: Rule) -> None:
    line = line_of(rule.id)
    assert rule.trigger in line
    assert f"| `{rule.constraint}` |" in line
    for said in (rule.evidence, rule.meaning, rule.mitigation, rule.cure):
        assert said in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_example_can_be_asked_by_its_reader(name: str, verb: Callable[..., Any]) -> None:
    answer = verb("analyze", "--evidence", EXAMPLES / f"{name}.json")
    assert answer.code == (3 if heaviest(name).constraint == "undetermined" else 0), answer.err


def test_every_command_works(
    verb: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    assert [command.split()[1] for command in COMMANDS] == ["analyze", "report"]
    for command in COMMANDS:
        assert verb(*command.split()[1:]).code == 0
    assert "reason-key-range" in (tmp_path / "reason-key-range.html").read_text()
    unsure = EXAMPLES / "undetermined-resource.json"
    assert verb("report", "--evidence", unsure, "--out", tmp_path / "unsure.html").code == 0


@pytest.mark.opens
def test_the_first_command_prints_what_the_page_shows() -> None:
    """As its reader runs it, in a terminal of 80 columns."""
    said = subprocess.run(
        [PROGRAM, *COMMANDS[0].split()[1:]], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S,
        env={**a_readers_environment(), "COLUMNS": "80"},
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    printed = "\n".join(line.rstrip() for line in said.stdout.splitlines())
    assert f"```\n{printed}\n```" in PAGE


def test_a_report_says_what_its_rules_mean() -> None:
    label = heaviest("minutes-at-ceiling")
    assert isinstance(label, Label)
    unknown = label.model_copy(update={"rule": "of-a-later-version", "throttles": 1})
    table = label_chart.rule_table([label, unknown])
    assert table is not None
    first, second = table.rows
    assert first[0] == label.rule
    assert RULES[str(label.rule)].meaning in first
    assert second[:1] == ("of-a-later-version",)
    assert label_chart.rule_table([]) is None


def line_of(name: str) -> str:
    """A rule's line in its table."""
    (line,) = re.findall(rf'^\| <a id="{name}"></a>.*$', PAGE, re.MULTILINE)
    return str(line)
