"""The files of a session: its page and JSON, the reports of runs to look at, exports, a CI step's summary."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from keyheat.regression.exports import write_junit, write_summary
from keyheat.regression.outcome import RunMade, SessionOutcome
from keyheat.runfiles import DIAGNOSIS, FILES, CannotWrite, FileProblem, write_text
from keyheat.show.html import html_of, save
from keyheat.show.markdown import markdown_of
from keyheat.show.regression import outcome_answer
from keyheat.show.report import write_report

PAGE: Final = "regression.html"
SUMMARY: Final = "regression.json"
EXPORTS: Final = (".xml", ".md")
Writer = Callable[[Path, SessionOutcome], object]


def check_exports(files: Sequence[Path]) -> None:
    """Raise `ValueError` before any load if an export cannot be written."""
    problems = [f"{path} is a folder; an export is a file" for path in files if path.is_dir()]
    problems += [
        f"--export {path}: end the name with .xml (JUnit) or .md, or use github"
        for path in files
        if path.suffix not in EXPORTS
    ]
    if problems:
        raise ValueError("\n".join(problems))


def write_session(
    outcome: SessionOutcome, exports: Sequence[Path], step_summary: Path | None = None
) -> SessionOutcome:
    """Write every file; return the outcome with problems and reports, which later files include.

    A failed file changes no verdict. A session that did not start has no folder, so exports alone.
    """
    files = list(exports)
    if outcome.verdict != "not_compared":
        folder = Path(outcome.folder)
        outcome = _with_reports(outcome, folder)
        files = [folder / PAGE, *exports, folder / SUMMARY]
    if step_summary is not None:
        outcome = _attempt(_append_comment, step_summary, outcome)
    for path in sorted(files, key=lambda path: [*WRITERS].index(path.suffix)):
        outcome = _attempt(WRITERS[path.suffix], path, outcome)
    return outcome


def comment(outcome: SessionOutcome) -> str:
    """The outcome for a pull request; the first line names the suite, so that a comment can be replaced."""
    suite = re.sub("[^A-Za-z0-9_.-]", "-", outcome.suite)
    return f"<!-- keyheat regress {suite} -->\n{markdown_of(outcome_answer(outcome))}"


def _attempt(write: Writer, path: Path, outcome: SessionOutcome) -> SessionOutcome:
    try:
        write(path, outcome)
    except (FileProblem, OSError, ValueError) as problem:
        return outcome.model_copy(update={"problems": (*outcome.problems, str(problem))})
    return outcome


def _with_reports(outcome: SessionOutcome, folder: Path) -> SessionOutcome:
    """Write report.html for failed cases, invalid runs and broken thresholds.

    The other runs have all their files; `keyheat report` writes their pages.
    """
    failed, problems = {finding.case for finding in outcome.failed}, list[str]()

    def reported(run: RunMade) -> RunMade:
        calm = run.valid and not run.broken and run.case not in failed
        if calm or run.report is not None or (run_folder := _folder_of(run, folder)) is None:
            return run
        try:
            report = write_report(run_folder, outcome.ended_at)
        except FileProblem as problem:
            problems.append(str(problem))
            return run
        return run.model_copy(update={"report": report.as_uri()})

    cases = tuple(
        case.model_copy(
            update={"before": tuple(map(reported, case.before)), "after": tuple(map(reported, case.after))}
        )
        for case in outcome.cases
    )
    return outcome.model_copy(update={"cases": cases, "problems": (*outcome.problems, *problems)})


def _folder_of(run: RunMade, session: Path) -> Path | None:
    """The run's directory, if it belongs to this session and has a diagnosis."""
    parts = urlsplit(run.url)
    folder = Path(unquote(parts.path))
    ours = parts.scheme == "file" and folder.is_relative_to(session.absolute())
    return folder if ours and (folder / FILES[DIAGNOSIS]).exists() else None


def _append_comment(path: Path, outcome: SessionOutcome) -> None:
    """Append to the step's summary, which other commands also write."""
    try:
        with path.open("ab") as file:
            file.write(comment(outcome).encode())
    except OSError as error:
        why = error.strerror or error
        raise CannotWrite(f"cannot write the step's summary {path}: {why}") from error


WRITERS: Final[Mapping[str, Writer]] = {
    ".html": lambda path, of: save(path, html_of(outcome_answer(of, path.parent), of.ended_at)),
    ".xml": write_junit, ".md": lambda path, of: write_text(path, comment(of)),
    ".json": write_summary,
}  # fmt: skip
"""By the end of a file's name, in their order: the JSON file is last, since it has every problem."""
