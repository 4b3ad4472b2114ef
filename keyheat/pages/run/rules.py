"""docs/rules.md: every rule of the labels, with an example that anyone can run.

    make rules

The words are those of keyheat/analysis/labelling/rules.py; an example is docs/examples/RULE.json, as
a terminal shows it.
"""

from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import Console

from keyheat.analysis.rules import RULES, Rule
from keyheat.analysis.thresholds import load_thresholds
from keyheat.pages.run.load import load_evidence
from keyheat.pages.run.sentences import GRADE_MEANINGS
from keyheat.shipped import ROOT
from keyheat.terminal.diagnosis import summary

EXAMPLES: Final = ROOT / "docs" / "examples"
COLUMNS: Final = 80
LEANING: Final = "undetermined-"
"""Before the id of a rule that fired without being sure enough."""

HEAD: Final = """# What does each rule say, and what does a report of it look like?

Every label names the **rule** that decided it: below the labels in the page of a report, and as `rule` in
`diagnosis.json`. This page has them all; how they work together is on [labels.md](labels.md).
Each example is a small file of evidence: change a number in it and see what comes of it.

This page is made from the rules themselves, by `make rules`.
"""
GRADES_HEAD: Final = "The grades, best first:"
WEAK: Final = "By itself it is not sure enough to decide: its labels are [`{leaning}{id}`](#not-sure-enough)."
UNSURE: Final = "Another rule fired, and is not sure enough."
FAMILY: Final = """## Not sure enough

A rule that is less sure than {decide_at:g} does not decide: the constraint is `undetermined`, the id of the
rule has `{leaning}` in front, and `because` says what it leaned to. That can happen to {count} rules of the
grade `inferred`. To be sure, keep the `ThrottlingReasons` of exceptions, or collect the metrics by cause.
"""


def families() -> tuple[list[Rule], list[Rule]]:
    """The rules that have a section each, and those that are one of them, too weak to decide."""
    leaning = [rule for rule in RULES.values() if rule.id.removeprefix(LEANING) in RULES.keys() - {rule.id}]
    return [rule for rule in RULES.values() if rule not in leaning], leaning


def rules_page() -> str:
    """The whole page as Markdown. Raises `FileProblem` where an example is not there or wrong."""
    own, leaning = families()
    return "\n".join((HEAD, *_index(own), *map(_section, own), _family(leaning)))


def _index(rules: Sequence[Rule]) -> Iterator[str]:
    rows = [f"| [`{r.id}`](#{r.id}) | `{r.constraint}` | `{r.grade}` | {r.trigger} |" for r in rules]
    rows.append(f"| [`{LEANING}…`](#not-sure-enough) | `undetermined` | `none` | {UNSURE} |")
    yield "\n".join(("| rule | constraint | grade | when |", "|---|---|---|---|", *rows, ""))
    grades = [f"- `{grade}`: {meaning}." for grade, meaning in GRADE_MEANINGS.items()]
    yield "\n".join((GRADES_HEAD, "", *grades, "- `none`: nobody says so.", ""))


def _section(rule: Rule) -> str:
    facts = {
        "Trigger": rule.trigger,
        "Evidence": rule.evidence,
        "Meaning": rule.meaning,
        "Mitigation (now)": rule.mitigation,
        "Cure (lasting)": rule.cure,
    }
    lines = [f"- **{name}:** {said}" for name, said in facts.items()]
    verdict = f"`{rule.constraint}`, by the grade `{rule.grade}`.{_weak(rule)}"
    return "\n".join((f"## {rule.id}", "", verdict, "", *lines, "", _example(rule.id)))


def _weak(rule: Rule) -> str:
    """That the rule never decides alone, where its measured confidence is too low for that."""
    numbers = load_thresholds()
    sure = numbers.confidence.rules.get(rule.id, 1.0) >= numbers.inferred.decide_at
    return "" if sure else f" {WEAK.format(leaning=LEANING, id=rule.id)}"


def _family(leaning: Sequence[Rule]) -> str:
    numbers = load_thresholds()
    return FAMILY.format(decide_at=numbers.inferred.decide_at, leaning=LEANING, count=len(leaning))


def _example(name: str) -> str:
    file = f"docs/examples/{name}.json"
    commands = (f"keyheat analyze --evidence {file}", f"keyheat report --evidence {file} --out {name}.html")
    said = f"[The evidence](examples/{name}.json), and what is said of it:"
    return "\n".join((said, "", "```sh", *commands, "```", "", "```", *shown(name), "```", ""))


def shown(name: str) -> list[str]:
    """What a terminal of 80 columns shows of an example, line by line."""
    run = load_evidence(_file(name))
    paper = StringIO()
    Console(file=paper, width=COLUMNS, color_system=None, force_terminal=False).print(
        summary(run.diagnosis, run)
    )
    return [line.rstrip() for line in paper.getvalue().splitlines()]


def _file(name: str) -> Path:
    return EXAMPLES / f"{name}.json"


if __name__ == "__main__":
    print(rules_page(), end="")
