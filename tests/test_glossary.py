"""docs/glossary.md: every word that pages and terminals share, and none of those that they had before."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyheat.terms import MEANINGS, titled

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| (.+?) \| (.+?) \| .*\|$", GLOSSARY, re.MULTILINE))
SAYING = ("pages", "terminal", "testing", "load", "analysis")
RETIRED = {
    "half within": "p50",
    "99 % within": "p99",
    "99th percentile": "p99",
    r"late in \d+ % of": "p99",
    r"\*{0,2}intended\*{0,2} start": "response time",
    "how sure|% sure|less sure": "confidence",
    r"(units|[A-Z]CU/s) asked for\b|[\"|>] ?[aA]sked (for|of)\b|^[aA]sked (for|of)$": "demand",
    "wait(ed|ing) for a CPU": "CPU wait",
    r"\b[lL]imited by\b(?! itself)": "throttled by",
}


def said_in_code() -> Iterator[tuple[Path, str]]:
    """What Python may say to a person: its texts, but for docstrings."""
    for room in SAYING:
        for path in (ROOT / "keyheat" / room).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            silent = {
                id(node.value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
                    yield path, node.value


def written() -> Iterator[tuple[Path, str]]:
    """What is read as it stands: docs, what examples say, templates and scripts of pages."""
    places = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.txt")]
    places += [*(ROOT / "reports" / "templates").iterdir(), *(ROOT / "keyheat").rglob("static/*")]
    for path in places:
        yield path, path.read_text(encoding="utf-8")


def test_every_word_that_is_shared_is_explained_as_pages_explain_it() -> None:
    assert {word: ROWS.get(word) for word in MEANINGS} == dict(MEANINGS)


def test_words_are_in_the_order_of_the_alphabet() -> None:
    words = [word.lower() for word in ROWS if word not in ("word", "---")]
    assert words == sorted(words)


@pytest.mark.slow
def test_what_was_said_before_is_said_nowhere() -> None:
    lines = [(path, text) for path, whole in (*said_in_code(), *written()) for text in whole.splitlines()]
    found = [
        f"{path.relative_to(ROOT)}: {text.strip()[:80]} (the word is {word})"
        for wording, word in RETIRED.items()
        for path, text in lines
        if re.search(wording, text)
    ]
    assert found == []


def test_the_readme_leads_to_it() -> None:
    assert "(docs/glossary.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_headings_keep_the_spelling_of_percentiles_and_of_cpu() -> None:
    assert [titled(word) for word in ("p99", "CPU wait", "demand")] == ["p99", "CPU wait", "Demand"]
