"""The verb regress: run a suite and compare it with its last good session."""

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import click

from keyheat.cli.answers import give
from keyheat.cli.options import a_path, in_json
from keyheat.cli.suite import SessionOptions, SuiteSession
from keyheat.flags import takes
from keyheat.load.guard.options import Consent
from keyheat.regression.exports import Exports, annotations, write_summary
from keyheat.regression.outcome import RunMade, SessionOutcome
from keyheat.runfiles import DIAGNOSIS, FILES, REPORT, FileProblem
from keyheat.show.console import err, in_words, print_lines
from keyheat.show.markdown import markdown_of
from keyheat.show.regression import outcome_answer

GITHUB = Path("github")
"""Named among the files to write: annotations of GitHub Actions."""


@click.command()
@click.argument("suite", envvar="KEYHEAT_SUITE", required=False)
@click.option(
    "--history",
    type=a_path,
    envvar="KEYHEAT_HISTORY",
    show_envvar=True,
    help="file of all sessions  [default: reports/history.sqlite]",
)
@takes("options", SessionOptions)
@takes("consent", Consent)
@click.option(
    "--export",
    "exports",
    type=a_path,
    multiple=True,
    metavar="FILE|github",
    help="write .xml (JUnit), .md, .prom, .json or github; repeatable",
)
@in_json("the outcome")
def regress(
    suite: str | None,
    history: Path | None,
    options: SessionOptions,
    consent: Consent,
    exports: tuple[Path, ...],
) -> int:
    """Run every case of SUITE and compare it with the last good session.

    SUITE is a file, or a name in configs/suites  [default: $KEYHEAT_SUITE]. Its file says how loads are run
    and what they may consume.

    `--export github` annotates a step of GitHub Actions, and writes its summary.

    Exit code 1: a gate failed, or a threshold. 3: a run is invalid, so nothing is decided.
    """
    from keyheat.regression.history import History
    from keyheat.regression.suite import find_suite

    github = GITHUB in exports
    step = os.environ.get("GITHUB_STEP_SUMMARY") if github else None
    files = tuple(file for file in exports if file != GITHUB)
    exported = Exports(files=files, step_summary=Path(step) if step else None, markdown=comment)
    if options.new_baseline and options.baseline:
        raise click.UsageError("use either --new-baseline or --baseline")
    loaded = find_suite(suite or "")
    exported.check()
    with History.open(history) as kept:
        session = SuiteSession(suite=loaded, options=options, consent=consent, history=kept)
        return tell(session.compared(), exported, datetime.now(UTC), github=github)


SUMMARY: Final = "regression.json"
PAGE: Final = "regression.html"


def tell(outcome: SessionOutcome, exports: Exports, now: datetime, *, github: bool) -> int:
    """Write pages and exports, print the outcome; gives the exit code.

    An export that fails changes no verdict; if that is good, the exit code says that something is missing.
    """
    page = None
    if outcome.verdict == "not_compared":
        outcome = exports.write(outcome)
    else:
        outcome, page = _written(outcome, exports, now), Path(outcome.folder) / PAGE
    give(outcome_answer(outcome), outcome.exit_code, page=page, data_alone=True)
    if github:
        print_lines(annotations(outcome), to_stderr=not in_words())
    for problem in outcome.problems:
        err.print(f"keyheat: {problem}")
    return outcome.exit_code


def comment(outcome: SessionOutcome) -> str:
    """The outcome for a pull request; the first line names the suite, so that a comment can be replaced."""
    suite = re.sub("[^A-Za-z0-9_.-]", "-", outcome.suite)
    return f"<!-- keyheat regress {suite} -->\n{markdown_of(outcome_answer(outcome))}"


def _written(outcome: SessionOutcome, exports: Exports, now: datetime) -> SessionOutcome:
    """Write pages, exports and the file of a session; gives the outcome with what could not be written."""
    from keyheat.show.html import html_of, save

    folder = Path(outcome.folder)
    outcome, unwritten = with_reports(outcome, folder, now)
    page = html_of(outcome_answer(outcome, folder), now)
    unwritten += _attempt(lambda: save(folder / PAGE, page))
    outcome = exports.write(outcome.model_copy(update={"problems": (*outcome.problems, *unwritten)}))
    unsaid = _attempt(lambda: write_summary(folder / SUMMARY, outcome))
    return outcome.model_copy(update={"problems": (*outcome.problems, *unsaid)})


def with_reports(outcome: SessionOutcome, folder: Path, now: datetime) -> tuple[SessionOutcome, list[str]]:
    """Write report.html for failed cases, invalid runs and broken thresholds; gives the outcome and problems.

    The other runs have all their files; `keyheat report` writes their pages.
    """
    from keyheat.show.report import write_report

    failed, problems = {finding.case for finding in outcome.failed}, list[str]()

    def reported(run: RunMade) -> RunMade:
        is_failed = run.case in failed or not run.valid or bool(run.broken)
        run_folder = _inside(run, folder)
        if not is_failed or run_folder is None or run.report is not None:
            return run
        problems.extend(_attempt(lambda: write_report(run_folder, now)))
        there = (run_folder / REPORT).exists()
        return run.model_copy(update={"report": (run_folder / REPORT).as_uri() if there else None})

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
    run_folder = Path(unquote(parts.path))
    ours = parts.scheme == "file" and run_folder.is_relative_to(folder.absolute())
    return run_folder if ours and (run_folder / FILES[DIAGNOSIS]).exists() else None


def _attempt(write: Callable[[], object]) -> list[str]:
    """The problem in words, if any."""
    try:
        write()
    except FileProblem as problem:
        return [str(problem)]
    return []
