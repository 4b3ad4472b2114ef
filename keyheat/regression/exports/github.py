"""The outcome in GitHub Actions: annotations on the run, and the summary of the step.

    ::error title=TITLE,file=FILE::MESSAGE      a line on stdout

In a message `%` and line ends are escaped, in a title or file also `:` and `,`
(https://github.com/actions/toolkit, packages/core/src/command.ts). GitHub shows ten errors and ten warnings
of a step; more of them are counted in the last one.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from keyheat.regression.exports.markdown import markdown
from keyheat.regression.finding import Finding
from keyheat.regression.outcome import Outcome
from keyheat.regression.words import headline
from keyheat.runfiles import CannotWrite

MOST: Final = 10  # of a kind, in a step
Level = Literal["error", "warning", "notice"]
Note = tuple[str, str]  # title, message


def annotations(outcome: Outcome) -> tuple[str, ...]:
    """The lines to print: errors for gates that failed, warnings for those that are undecided."""
    errors = [*_invalid(outcome), *_broken(outcome), *(_note(finding) for finding in outcome.failed)]
    warnings = [_note(finding) for finding in outcome.of("undecided")]
    if outcome.forced:
        warnings.insert(0, ("compared by force", "the setups of the two sessions differ"))
    if outcome.exit_code and not errors:
        said = (headline(outcome), *outcome.because, *outcome.problems)
        errors = [(f"keyheat regress {outcome.suite}", " ".join(said))]
    lines = [*_lines("error", errors, outcome.suite_path), *_lines("warning", warnings, outcome.suite_path)]
    if not outcome.exit_code:
        lines.append(command("notice", f"keyheat regress {outcome.suite}", headline(outcome)))
    return tuple(lines)


def append_step_summary(path: Path, outcome: Outcome) -> None:
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


def _note(finding: Finding) -> Note:
    return f"{finding.case}: {finding.gate.measure} {finding.decision}", finding.because


def _invalid(outcome: Outcome) -> list[Note]:
    return [(f"{run.name} is not valid", run.problem or "it says nothing") for run in outcome.invalid]


def _broken(outcome: Outcome) -> list[Note]:
    return [(f"{run.name}: a threshold is broken", line) for run in outcome.runs for line in run.broken]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
