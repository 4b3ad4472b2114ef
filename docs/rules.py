"""Writes docs/rules.md, every rule in the order in which they are asked, and what is said of an example.

    make rules

The words are those of keyheat/analysis/rules.py.
"""

from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import Console

from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.report.run import evidence_alone
from keyheat.analysis.rules import (
    BY_MINUTES,
    BY_SECONDS,
    CAUSES,
    CIRCUMSTANCES,
    HELP,
    LACKING,
    LEANING,
    LIMITS_SET,
    MINUTES,
    ON_DEMAND,
    REASONS,
    SECONDS,
    STATED,
    Rule,
)
from keyheat.analysis.thresholds import Thresholds, load_thresholds
from keyheat.runs.plausibility import read_evidence
from keyheat.show.run import run_answer
from keyheat.show.text import text_of

PAGE: Final = Path(__file__).with_suffix(".md")
EXAMPLES: Final = PAGE.parents[1] / "tests" / "analysis" / "examples"
COLUMNS: Final = 80
SHOWN: Final = "reason-key-range"
"""The example that stands on the page."""

HEAD: Final = """# Which rule decides, and when?

Every label names the **rule** that decided it: below the labels in the page of a report, and as `rule` in
`diagnosis.json`. This page has them all, in the order in which they are asked; why they are as they are is on
[labels.md](labels.md), and the code is in
[`analyzers/partition_or_table`](../analyzers/partition_or_table/__init__.py).

```
   throttled moments of one resource in one direction
        |
        v
   did DynamoDB give a reason?          --yes-->  reason-*                       (1)
        | no
        v
   does CloudWatch count one cause?     --yes-->  metric-*                       (2)
        | no
        v
   is it provisioned?
        | yes                                  | no, it pays per request
        v                                      v
   seconds of the client?               the same, against its maximum and
    yes: (3)      no: minutes (4)       the account's quota: seconds (3), minutes (5)
        |                                      |
        +---------> confident? ----no-->  undetermined-*
                         | yes
                         v
   what happened around it?             --yes-->  another rule, the same label   (6)
```

In the tables the first line that holds decides. **Confidence** is the one to begin with, of an inference as
it was [measured](accuracy.md); what agrees or not changes it. Small files of evidence, one for each grade and
constraint, are in [tests/analysis/examples](../tests/analysis/examples), each beside what a terminal shows.
Change a number in one and see what comes of it.

This page is made from the rules themselves, by `make rules`.
"""
TABLE: Final = "| rule | constraint | speaks when | confidence |\n|---|---|---|---|"
PARTS: Final[tuple[tuple[str, str, tuple[Rule, ...]], ...]] = (
    (
        "1, 2. Somebody says so",
        f"{REASONS} {CAUSES}",
        STATED,
    ),
    ("3. By the client's seconds", SECONDS, BY_SECONDS),
    ("4. By minutes, against what is provisioned", MINUTES, BY_MINUTES),
    ("5. By minutes, on-demand", LIMITS_SET, ON_DEMAND),
    (
        "6. What happened around it",
        "A label of any grade gets another rule where something else helps; constraint, grade and confidence "
        "stay.",
        CIRCUMSTANCES,
    ),
    (
        "Nothing to decide by",
        "`because` says what is lacking.",
        LACKING,
    ),
)
UNSURE: Final = """## Not sure enough

A rule with less confidence than {decide_at:g} does not decide: the constraint is `undetermined`, the id of
the rule has `{leaning}` in front, and `because` says what it leaned to. That can happen to {count} rules of
the grade `inferred`. To be sure, keep the `ThrottlingReasons` of exceptions, or collect the metrics by cause.
"""
MEANINGS: Final = """## What it means, and what helps

Of a rule that has no line of its own, its constraint's counts.

| constraint or rule | means | helps now | lasts |
|---|---|---|---|"""
EXAMPLE: Final = """## An example

```sh
keyheat analyze --evidence tests/analysis/examples/{name}.json
```

```text
{said}
```
"""


def rules_page() -> str:
    """The whole page as Markdown. Raises `FileProblem` where an example is not there or wrong."""
    numbers = load_thresholds()
    parts = [HEAD, *(_part(*part, numbers) for part in PARTS)]
    measured = len((*BY_SECONDS, *BY_MINUTES, *ON_DEMAND))
    decide_at = numbers.inferred.decide_at
    parts.append(UNSURE.format(decide_at=decide_at, leaning=LEANING, count=measured))
    parts.append("\n".join((MEANINGS, *_meanings(), "")))
    parts.append(EXAMPLE.format(name=SHOWN, said=shown(SHOWN)))
    return "\n".join(parts)


def _part(title: str, evidence: str, rules: Sequence[Rule], numbers: Thresholds) -> str:
    rows = (_row(rule, evidence, numbers) for rule in rules)
    return "\n".join((f"## {title}", "", evidence, "", TABLE, *rows, ""))


def _row(rule: Rule, evidence: str, numbers: Thresholds) -> str:
    own = "" if rule.evidence == evidence or rule in STATED else f" _{rule.evidence}_"
    cells = (
        f'<a id="{rule.id}"></a>`{rule.id}`',
        f"`{rule.constraint}`",
        f"{rule.trigger}{own}",
        _sure(rule, numbers),
    )
    return f"| {' | '.join(cells)} |"


def _sure(rule: Rule, numbers: Thresholds) -> str:
    """The confidence to begin with; a rule that is too weak never decides alone."""
    confidence = numbers.confidence
    if rule in STATED:
        return f"{confidence.reason if rule.grade == 'reason' else confidence.cause_metric:g}"
    if rule.id not in confidence.rules:
        return "–"
    sure = confidence.rules[rule.id]
    weak = "" if sure >= numbers.inferred.decide_at else ": [not enough](#not-sure-enough)"
    return f"{sure:.2f}{weak}"


def _meanings() -> Iterator[str]:
    for constraint, words in HELP.items():
        yield f"| `{constraint}` | {' | '.join(words)} |"
    for rule in (*CIRCUMSTANCES, *LACKING):
        own = (rule.meaning, rule.mitigation, rule.cure)
        if own != HELP[rule.constraint]:
            yield f"| `{rule.id}` | {' | '.join(own)} |"


def shown(name: str) -> str:
    """What a terminal of 80 columns shows of an example."""
    evidence = read_evidence(EXAMPLES / f"{name}.json")
    run = evidence_alone(evidence, diagnosed(evidence))
    paper = StringIO()
    Console(file=paper, width=COLUMNS, color_system=None, force_terminal=False).print(
        text_of(run_answer(run))
    )
    return "\n".join(line.rstrip() for line in paper.getvalue().splitlines())


def main() -> None:
    """Write the page."""
    PAGE.write_text(rules_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
