"""Report the outcome of a session: its pages, exports, text and exit code."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from keyheat.masking import shown
from keyheat.pages.regression import NAME, write_regression
from keyheat.regression.exports import Exports, content, write_summary
from keyheat.regression.exports.markdown import annotations
from keyheat.regression.outcome import RunMade, SessionOutcome
from keyheat.runfiles import DIAGNOSIS, FILES, REPORT, FileProblem
from keyheat.show.report import write_report
from keyheat.terminal.console import answer, err, in_words, print_lines
from keyheat.terminal.regression import regression_text

SUMMARY: Final = "regression.json"


def tell(outcome: SessionOutcome, wanted: Exports, now: datetime, *, github: bool) -> int:
    """Write pages and exports, print the outcome; gives the exit code.

    An export that fails changes no verdict; if that is good, the exit code says that something is missing.
    """
    if outcome.verdict == "not_compared":
        outcome = wanted.write(outcome)
        _say_why_not(outcome)
    else:
        outcome = _written(outcome, wanted, now)
        answer(lambda: content(outcome), lambda: regression_text(outcome, shown(Path(outcome.folder) / NAME)))
    if github:
        print_lines(annotations(outcome), to_stderr=not in_words())
    for problem in outcome.problems:
        err.print(f"keyheat: {problem}")
    return outcome.exit_code


def _written(outcome: SessionOutcome, wanted: Exports, now: datetime) -> SessionOutcome:
    """Write pages, exports and the file of a session; gives the outcome with what could not be written."""
    folder = Path(outcome.folder)
    outcome, unwritten = with_reports(outcome, folder, now)
    unwritten += _attempt(lambda: write_regression(folder / NAME, outcome, now))
    outcome = wanted.write(outcome.model_copy(update={"problems": (*outcome.problems, *unwritten)}))
    unsaid = _attempt(lambda: write_summary(folder / SUMMARY, outcome))
    return outcome.model_copy(update={"problems": (*outcome.problems, *unsaid)})


def _say_why_not(outcome: SessionOutcome) -> None:
    """Print why a session was not begun: for a person on stderr, for a program as JSON."""
    if in_words():
        first, *others = outcome.because
        differ = (f"  {one.said}" for one in outcome.differences)
        err.print(f"keyheat: {first}", *differ, *others, sep="\n")
    else:
        answer(lambda: content(outcome), lambda: "")


def with_reports(outcome: SessionOutcome, folder: Path, now: datetime) -> tuple[SessionOutcome, list[str]]:
    """Write report.html for failed cases, invalid runs and broken thresholds; gives the outcome and problems.

    The other runs have all their files; `keyheat report` writes their pages.
    """
    failed, problems = {finding.case for finding in outcome.failed}, list[str]()

    def reported(run: RunMade) -> RunMade:
        wanted = run.case in failed or not run.valid or bool(run.broken)
        place = _inside(run, folder)
        if not wanted or place is None or run.report is not None:
            return run
        problems.extend(_attempt(lambda: write_report(place, now)))
        there = (place / REPORT).exists()
        return run.model_copy(update={"report": (place / REPORT).as_uri() if there else None})

    cases = [
        case.model_copy(
            update={"before": tuple(map(reported, case.before)), "after": tuple(map(reported, case.after))}
        )
        for case in outcome.cases
    ]
    return outcome.model_copy(update={"cases": tuple(cases)}), problems


def _inside(run: RunMade, folder: Path) -> Path | None:
    """The run's directory, if it belongs to this session and has a diagnosis."""
    parts = urlsplit(run.url)
    place = Path(unquote(parts.path))
    ours = parts.scheme == "file" and place.is_relative_to(folder.absolute())
    return place if ours and (place / FILES[DIAGNOSIS]).exists() else None


def _attempt(write: Callable[[], object]) -> list[str]:
    """The problem in words, if any."""
    try:
        write()
    except FileProblem as problem:
        return [str(problem)]
    return []
