"""The outcome as Markdown for a pull request, and in GitHub Actions: annotations, a step's summary."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from keyheat.numbers import some, span
from keyheat.regression.outcome import GateFinding, SessionOutcome, worst_first
from keyheat.regression.phrases import against, changed, decision, headline, value
from keyheat.runfiles import CannotWrite, write_atomically
from keyheat.words import plain_in_markdown

MOST_ROWS: Final = 100  # GitHub takes 65,536 characters in a comment
MOST_LINES: Final = 20


def write_markdown(path: Path, outcome: SessionOutcome) -> None:
    """Write the file, whole or not at all. Raises `CannotWrite`."""
    body = markdown(outcome).encode()
    write_atomically(path, lambda file: file.write(body))


def markdown(outcome: SessionOutcome) -> str:
    """The whole text."""
    return "\n".join(_parts(outcome)) + "\n"


def _parts(outcome: SessionOutcome) -> Iterator[str]:
    yield f"<!-- keyheat regress {re.sub('[^A-Za-z0-9_.-]', '-', outcome.suite)} -->"
    yield f"### Keyheat: {plain_in_markdown(headline(outcome))}\n"
    if outcome.forced:
        yield "**Forced**: the setups of the two sessions differ, so numbers may differ for that reason.\n"
    if outcome.question:
        yield f"{plain_in_markdown(outcome.question)}\n"
    made = outcome.verdict != "not_compared"
    if made:
        yield f"Session `{_code(outcome.session)}`, {plain_in_markdown(against(outcome))}.\n"
    yield from _listed(outcome.because)
    yield from _reports(outcome)
    if outcome.measured:
        yield from _table(worst_first(outcome.measured))
    if outcome.differences:
        yield "What differs between the setups:\n"
        yield from _listed([one.said for one in outcome.differences])
    if made:
        runs = some(sum(len(case.after) for case in outcome.cases), "run")
        yield f"<sub>{runs} in {span(outcome.took_s)}, in `{_code(outcome.folder)}`.</sub>"
    else:
        yield "<sub>Nothing was sent, and no session was begun.</sub>"


def _listed(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"- {plain_in_markdown(line)}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"- and {len(lines) - MOST_LINES} more"
    if lines:
        yield ""


def _reports(outcome: SessionOutcome) -> Iterator[str]:
    """The page of a run of each case that failed: a link, or where it lies below the session's folder."""
    failed = {finding.case for finding in outcome.failed}
    pages = [
        (case.name, page)
        for case in outcome.cases
        if case.name in failed and (page := next((run.report for run in case.after if run.report), None))
    ]
    for name, page in pages[:MOST_LINES]:
        below = f"`{_code('/'.join(page.split('/')[-3:]))}` in the folder of the session"
        shown = f"[report]({page})" if page.startswith(("https://", "http://")) else below
        yield f"- {plain_in_markdown(name)}: {shown}"
    if pages:
        yield ""


def _table(findings: Sequence[GateFinding]) -> Iterator[str]:
    yield "| | case | measure | before | now | change |"
    yield "|---|---|---|---:|---:|---:|"
    for one in findings[:MOST_ROWS]:
        measure = one.gate.measure
        decided = f"**{decision(one)}**" if one.failed else decision(one)
        cells = (one.case, measure, value(one.before, measure), value(one.after, measure), changed(one))
        yield f"| {decided} | {' | '.join(plain_in_markdown(cell) for cell in cells)} |"
    if len(findings) > MOST_ROWS:
        yield f"\n{len(findings) - MOST_ROWS} more are not shown."
    yield ""


def _code(text: str) -> str:
    return text.replace("`", "'")


MOST: Final = 10  # of a kind, in a step
Level = Literal["error", "warning", "notice"]
Note = tuple[str, str]  # title, message


def annotations(outcome: SessionOutcome) -> tuple[str, ...]:
    """The lines to print: errors for gates that failed, warnings for those that are undecided."""
    errors = [*_invalid(outcome), *_broken(outcome), *(_note(finding) for finding in outcome.failed)]
    warnings = [_note(finding) for finding in outcome.of("undecided")]
    if outcome.forced:
        warnings.insert(0, ("compared by force", "the setups of the two sessions differ"))
    if outcome.exit_code and not errors:
        differ = (f"{one.said}." for one in outcome.differences)
        said = (headline(outcome), *outcome.because, *differ, *outcome.problems)
        errors = [(f"keyheat regress {outcome.suite}", " ".join(said))]
    lines = [*_lines("error", errors, outcome.suite_path), *_lines("warning", warnings, outcome.suite_path)]
    if not outcome.exit_code:
        lines.append(command("notice", f"keyheat regress {outcome.suite}", headline(outcome)))
    return tuple(lines)


def append_step_summary(path: Path, outcome: SessionOutcome) -> None:
    """Add the outcome to the step's summary, which other steps' commands write to as well.

    Raises `CannotWrite`.
    """
    body = markdown(outcome).encode()
    try:
        with path.open("ab") as file:
            file.write(body)
    except OSError as error:
        raise CannotWrite(f"cannot write the step's summary {path}: {error.strerror or error}") from error


def command(level: Level, title: str, message: str, file: str | None = None) -> str:
    """One annotation."""
    where = f",file={_property(file)}" if file else ""
    return f"::{level} title={_property(title)}{where}::{_data(message)}"


def _lines(level: Level, notes: Sequence[Note], file: str) -> Iterator[str]:
    shown = notes if len(notes) <= MOST else notes[: MOST - 1]
    yield from (command(level, title, message, file) for title, message in shown)
    if len(shown) < len(notes):
        rest = [title for title, _ in notes[len(shown) :]]
        yield command(level, f"{len(rest)} more", "\n".join(rest), file)


def _note(finding: GateFinding) -> Note:
    return f"{finding.case}: {finding.gate.measure} {finding.decision}", finding.because


def _invalid(outcome: SessionOutcome) -> list[Note]:
    return [(f"{run.name} is not valid", run.problem or "it says nothing") for run in outcome.invalid]


def _broken(outcome: SessionOutcome) -> list[Note]:
    return [(f"{run.name}: a threshold is broken", line) for run in outcome.runs for line in run.broken]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
