"""A regress in a terminal: the verdict first, then what failed, and where to look; ten seconds to read."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from keyheat.analysis.words import capital
from keyheat.numbers import some, span
from keyheat.regression.finding import Finding
from keyheat.regression.outcome import Outcome, Verdict, worst_first
from keyheat.regression.words import DECISIONS, against, headline
from keyheat.terminal.diagnosis import Paragraph

STYLES: Final[dict[Verdict, str]] = {
    "good": "green", "baseline": "green", "regressed": "red", "invalid": "yellow", "refused": "yellow",
    "interrupted": "yellow", "calibrated": "green",
}  # fmt: skip
DECIDED: Final = {"worse": "bold red", "missing": "bold red", "undecided": "yellow", "better": "green"}
MOST: Final = 10  # of a kind; the page has all
INDENT: Final = "  "
WIDEST: Final = max(len(word) for word in DECISIONS.values())


def regression_text(outcome: Outcome, page: str | None) -> RenderableType:
    """The whole answer, narrow enough for 80 columns. `page` is where all of it is shown."""
    return Group(*_parts(outcome, page))


def _parts(outcome: Outcome, page: str | None) -> Iterator[RenderableType]:
    colour = STYLES[outcome.verdict]
    yield Paragraph(headline(outcome), style=f"bold {colour}")
    yield Paragraph(f"{capital(against(outcome))}.", style="bold yellow" if outcome.forced else "")
    yield from _lines("", outcome.because)
    yield from _lines("What differs", [
        f"{one.case}: {one.what} was {one.before}, is {one.after}" for one in outcome.differences
    ])  # fmt: skip
    yield from _gates(outcome)
    yield Text("")
    yield Paragraph(_ending(outcome))
    if page is not None:
        yield Text.assemble("All of it: ", (page, "bold"))


def _gates(outcome: Outcome) -> Iterator[RenderableType]:
    """Those that did not hold, two lines each; the others counted."""
    told = [one for one in worst_first(outcome.measured) if one.decision != "same"]
    held = len(outcome.of("same"))
    if told or held:
        yield Text("")
    for one in told[:MOST]:
        yield from _gate(one)
    if len(told) > MOST:
        yield Text(f"{INDENT}and {len(told) - MOST} more")
    if held:
        yield Text(f"{INDENT}{some(held, 'gate')} {'is' if held == 1 else 'are'} as good as before")
    if idle := len(outcome.findings) - len(outcome.measured):
        yield Text(f"{INDENT}{some(idle, 'gate')} {'has' if idle == 1 else 'have'} nothing to measure")


def _gate(one: Finding) -> Iterator[RenderableType]:
    word = Text(f"{DECISIONS[one.decision]:<{WIDEST}}", style=DECIDED[one.decision])
    yield Text.assemble(INDENT, word, "  ", (f"{one.case}: {one.gate.measure}", "bold"))
    indent = INDENT + " " * (WIDEST + 2)
    yield Paragraph(one.because, indent, indent)


def _lines(heading: str, lines: Sequence[str]) -> Iterator[RenderableType]:
    if not lines:
        return
    yield Text(f"\n{heading}" if heading else "", style="bold")
    yield from (Paragraph(line, "  - ", "    ") for line in lines[:MOST])
    if len(lines) > MOST:
        yield Text(f"  - and {len(lines) - MOST} more")


def _ending(outcome: Outcome) -> str:
    runs, bad = len(outcome.runs), sum(not run.valid for run in outcome.runs)
    again = sum(len(case.before) for case in outcome.cases) if outcome.paired else 0
    beside = f" beside {some(again, 'run')} of the baseline's scenarios" if again else ""
    valid = f"{bad} of them not valid" if bad else "all valid" if runs else "none made"
    pinned = f", pinned as {outcome.pinned!r}" if outcome.pinned else ""
    where = f"Session {outcome.session}{pinned} in {outcome.history}."
    return f"{some(runs, 'run')}{beside} in {span(outcome.took_s)}, {valid}. {where}"
