"""The verb history: sessions of suites, baselines among them, and trends of measures."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.cli.mistakes import CheckedCommand
from keyheat.cli.options import a_path, give, in_json, the_history
from keyheat.show.history import session_answer, sessions_answer, trends_answer
from keyheat.words import DONE

if TYPE_CHECKING:
    from keyheat.regression.history import History

LAST_LISTED, LAST_DRAWN = 20, 60


@click.group(invoke_without_command=True)
@the_history
@click.option("--suite", metavar="NAME", help="only sessions of this suite")
@click.option(
    "--last", type=click.IntRange(1), default=LAST_LISTED, show_default=True, help="newest sessions"
)
@in_json("the sessions")
@click.pass_context
def history(context: click.Context, file: Path, suite: str | None, last: int) -> int:
    """List sessions, the newest first; show one, draw trends.

    A session without a verdict is running, or was killed.
    """
    if context.invoked_subcommand is not None:
        context.default_map = {context.invoked_subcommand: {"file": file}}
        return DONE
    if not file.exists():
        return give(sessions_answer(file, (), set()), DONE, data_alone=True)
    with _opened(file) as kept:
        sessions = kept.sessions(suite, last)
        good = {best.id for name in {each.suite for each in sessions} if (best := kept.last_good(name))}
    return give(sessions_answer(file, sessions, good), DONE, data_alone=True)


@history.command(cls=CheckedCommand)
@click.argument("session")
@the_history
@in_json("the session")
def show(file: Path, session: str) -> int:
    """Show SESSION, by its number or label: its runs, and the findings of its gates."""
    with _opened(file) as kept:
        named = kept.session(session)
        answer = session_answer(file, named, kept.runs(named, side=None), kept.outcome(named))
    return give(answer, DONE, data_alone=True)


@history.command(cls=CheckedCommand)
@click.argument("suite")
@click.option("--case", metavar="NAME", help="only this case")
@click.option("--measure", metavar="NAME", help="only this measure, such as p99_ms")
@click.option("--last", type=click.IntRange(1), default=LAST_DRAWN, show_default=True, help="newest sessions")
@click.option("--out", "page", type=a_path, help="write a page with charts")
@the_history
@in_json("the points of each measure")
def trend(file: Path, suite: str, case: str | None, measure: str | None, last: int, page: Path | None) -> int:
    """Show the measures of SUITE over its sessions, with regressions marked."""
    from keyheat.regression.history import trends_of

    with _opened(file) as kept:
        answer = trends_answer(
            file, suite, trends_of(kept, suite, last, case, measure), drawn=page is not None
        )
    if page is not None:
        from keyheat.show.render import html_of, save

        save(page, html_of(answer, datetime.now(UTC)))
    return give(answer, DONE, data_alone=True)


def _opened(file: Path) -> "History":
    """A history that is there already."""
    from keyheat.regression.history import History

    if not file.exists():
        raise click.UsageError(f"there is no history {file}; keyheat regress SUITE begins one")
    return History(file)
