"""The verb regress: run a suite and compare it with its last good session."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from keyheat.cli.answers import give
from keyheat.cli.mistakes import CheckedCommand, Mistakes
from keyheat.cli.options import a_path, in_json, the_history
from keyheat.cli.suite import SessionOptions, SuiteSession
from keyheat.flags import takes
from keyheat.load.options import Consent
from keyheat.regression.exports import annotations
from keyheat.regression.outcome import SessionOutcome
from keyheat.show.console import err, in_words, print_lines
from keyheat.show.regression import outcome_answer

GITHUB = Path("github")
"""Named among the files to write: annotations of GitHub Actions."""


@click.command(cls=CheckedCommand)
@click.argument("suite", envvar="KEYHEAT_SUITE", required=False)
@the_history
@takes("options", SessionOptions)
@takes("consent", Consent)
@click.option(
    "--export",
    "exports",
    type=a_path,
    multiple=True,
    metavar="FILE|github",
    help="write .xml (JUnit), .md or github; repeatable",
)
@in_json("the outcome")
def regress(
    suite: str | None,
    file: Path,
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
    from keyheat.show.regression import check_exports

    files = tuple(file for file in exports if file != GITHUB)
    mistakes = Mistakes()
    if options.new_baseline and options.baseline:
        mistakes.add("use either --new-baseline or --baseline")
    with mistakes.noted():
        loaded = find_suite(suite or "")
    with mistakes.noted():
        check_exports(files)
    mistakes.refuse()
    with History(file) as kept:
        session = SuiteSession(suite=loaded, options=options, consent=consent, history=kept)
        return tell(session.compared(), files, github=GITHUB in exports)


def tell(outcome: SessionOutcome, exports: Sequence[Path], *, github: bool) -> int:
    """Write pages and exports, print the outcome; gives the exit code.

    An export that fails changes no verdict; if that is good, the exit code says that something is missing.
    """
    from keyheat.show.regression import PAGE, write_session

    step = os.environ.get("GITHUB_STEP_SUMMARY") if github else None
    outcome = write_session(outcome, exports, Path(step) if step else None)
    page = None if outcome.verdict == "not_compared" else Path(outcome.folder) / PAGE
    give(outcome_answer(outcome), outcome.exit_code, page=page, data_alone=True)
    if github:
        print_lines(annotations(outcome), to_stderr=not in_words())
    for problem in outcome.problems:
        err.print(f"keyheat: {problem}")
    return outcome.exit_code
