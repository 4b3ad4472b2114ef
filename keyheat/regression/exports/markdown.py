"""The outcome as Markdown, for a comment on a pull request and for the summary of a CI step.

The first line is a comment that no reader sees: by it a program finds the comment that it made before, and
replaces it.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from keyheat.numbers import some, span
from keyheat.regression.finding import Finding
from keyheat.regression.outcome import Outcome, worst_first
from keyheat.regression.words import against, changed, decision, headline, value
from keyheat.runfiles import write_atomically

MOST_ROWS: Final = 100  # GitHub takes 65,536 characters in a comment
MOST_LINES: Final = 20
_MEANT: Final = re.compile(r"([\\`*_{}\[\]<>|~#&@$])")  # something else to Markdown, HTML or GitHub


def write_markdown(path: Path, outcome: Outcome) -> None:
    """Write the file, whole or not at all. Raises `CannotWrite`."""
    body = markdown(outcome).encode()
    write_atomically(path, lambda file: file.write(body))


def markdown(outcome: Outcome) -> str:
    """The whole text."""
    return "\n".join(_parts(outcome)) + "\n"


def _parts(outcome: Outcome) -> Iterator[str]:
    yield f"<!-- keyheat regress {re.sub('[^A-Za-z0-9_.-]', '-', outcome.suite)} -->"
    yield f"### Keyheat: {plain(headline(outcome))}\n"
    if outcome.forced:
        yield "**Forced**: the setups of the two sessions differ, so numbers may differ for that reason.\n"
    if outcome.question:
        yield f"{plain(outcome.question)}\n"
    yield f"Session `{_code(outcome.session)}`, {plain(against(outcome))}.\n"
    yield from _listed(outcome.because)
    if outcome.measured:
        yield from _table(worst_first(outcome.measured))
    if outcome.differences:
        yield "What differs between the setups:\n"
        yield from _listed(
            [f"{one.case}: {one.what} was {one.before}, is {one.after}" for one in outcome.differences]
        )
    runs = some(sum(len(case.after) for case in outcome.cases), "run")
    yield f"<sub>{runs} in {span(outcome.took_s)}, in `{_code(outcome.folder)}`.</sub>"


def _listed(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"- {plain(line)}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"- and {len(lines) - MOST_LINES} more"
    if lines:
        yield ""


def _table(findings: Sequence[Finding]) -> Iterator[str]:
    yield "| | case | measure | before | now | change |"
    yield "|---|---|---|---:|---:|---:|"
    for one in findings[:MOST_ROWS]:
        measure = one.gate.measure
        decided = f"**{decision(one)}**" if one.failed else decision(one)
        cells = (one.case, measure, value(one.before, measure), value(one.after, measure), changed(one))
        yield f"| {decided} | {' | '.join(plain(cell) for cell in cells)} |"
    if len(findings) > MOST_ROWS:
        yield f"\n{len(findings) - MOST_ROWS} more are not shown."
    yield ""


def plain(text: str) -> str:
    """Text that says what it says, whatever Markdown could take it for, on one line."""
    return _MEANT.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    return text.replace("`", "'")
