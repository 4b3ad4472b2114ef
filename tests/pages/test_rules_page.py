"""docs/rules.md: every rule has its example, every command of the page works, the page is what is made."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import analyze_evidence
from keyheat.analysis.rules import RULES
from keyheat.pages.charts import labels as label_chart
from keyheat.pages.run.rules import EXAMPLES, LEANING, families, rules_page
from keyheat.runs.formats import Label, Verdict
from tests.outside import PATIENCE_S, a_readers_environment

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.json"))
PROGRAM = Path(sys.executable).parent / "keyheat"
LARGEST_BYTES = 6_000  # of an example: small enough to be read


@cache
def heaviest(name: str) -> Label | Verdict:
    """The label with most throttles; where nothing was throttled, the verdict."""
    diagnosis = analyze_evidence(EXAMPLES / f"{name}.json")
    return max(diagnosis.labels, key=lambda label: label.throttles, default=diagnosis.verdict)


def test_the_page_is_what_the_command_makes() -> None:
    """If not: make rules"""
    assert rules_page() == PAGE


def test_every_rule_has_an_example_and_every_example_a_rule() -> None:
    own, leaning = families()
    assert [rule.id for rule in own] == [*dict.fromkeys(rule.id for rule in own)]
    assert {rule.id for rule in own} == set(NAMES)
    assert {rule.id for rule in (*own, *leaning)} == RULES.keys()


@pytest.mark.parametrize("name", NAMES)
def test_the_example_is_decided_by_its_rule(name: str) -> None:
    """A rule that is never sure enough by itself is in the label with `undetermined-` in front."""
    label = heaviest(name)
    assert label.rule in (name, LEANING + name)
    assert label.constraint == RULES[str(label.rule)].constraint
    if label.rule != name:
        assert f"[`{label.rule}`](#not-sure-enough)" in section(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_is_small_and_of_a_reader(name: str) -> None:
    path = EXAMPLES / f"{name}.json"
    assert path.stat().st_size <= LARGEST_BYTES
    content = json.loads(path.read_text())
    assert content["table"]["name"] == "orders"
    assert content["window"]["start"].startswith("2026-")


def test_every_section_can_be_linked_to() -> None:
    anchors = re.findall(r"^##+ (.+)$", PAGE, re.MULTILINE)
    assert len(set(anchors)) == len(anchors)
    linked = re.findall(r"^\| \[`([a-z-]+)`\]\(#([a-z-]+)\) \|", PAGE, re.MULTILINE)
    assert linked == [(name, name) for name, _ in linked]
    assert {name for name, _ in linked} == set(NAMES) == set(anchors) - {"Not sure enough"}


def test_the_words_are_those_of_the_table() -> None:
    for rule in families()[0]:
        words = section(rule.id)
        for said in (rule.trigger, rule.evidence, rule.meaning, rule.mitigation, rule.cure):
            assert said in words


def test_every_command_works(
    verb: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the pages, which are large, some: all are made by one command, and all examples are analyzed."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    names = re.findall(
        r"^keyheat analyze --evidence docs/examples/(.+)\.json$", "\n".join(COMMANDS), re.MULTILINE
    )
    assert sorted(names) == NAMES
    expected = {
        f"keyheat {verb_}" for name in names for verb_ in (
            f"analyze --evidence docs/examples/{name}.json",
            f"report --evidence docs/examples/{name}.json --out {name}.html",
        )
    }  # fmt: skip
    assert set(COMMANDS) == expected
    for command in COMMANDS:
        words = command.split()[1:]
        if words[0] == "analyze" or words[-1] in ("reason-key-range.html", "undetermined-resource.html"):
            answer = verb(*words)
            invalid = words[0] == "analyze" and heaviest(Path(words[-1]).stem).constraint == "undetermined"
            assert answer.code == (3 if invalid else 0), answer.err
    assert "reason-key-range" in (tmp_path / "reason-key-range.html").read_text()


def test_the_first_command_prints_what_the_page_shows() -> None:
    """As its reader runs it, in a terminal of 80 columns."""
    said = subprocess.run(
        [PROGRAM, *COMMANDS[0].split()[1:]], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S,
        env={**a_readers_environment(), "COLUMNS": "80"},
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    printed = "\n".join(line.rstrip() for line in said.stdout.splitlines())
    assert f"```\n{printed}\n```" in section(Path(COMMANDS[0].split()[-1]).stem)


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


def section(name: str) -> str:
    found = re.search(rf"^##+ {re.escape(name)}$(.*?)(?=^##+ |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, name
    return found[1]
