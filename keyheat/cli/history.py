"""The verb history: sessions of suites, baselines among them, and trends of measures."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from keyheat.cli.answers import give
from keyheat.cli.mistakes import CheckedCommand
from keyheat.cli.options import a_path, in_json, the_history
from keyheat.show.answer import Answer
from keyheat.words import DONE

if TYPE_CHECKING:
    from keyheat.regression.history import History, Session

FORMAT: Final = "keyheat.history/1"
FIRST: Final = "list"
LAST_LISTED, LAST_DRAWN = 20, 60


class WithFirst(click.Group):
    """Verbs of which the first is the default."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = [FIRST, *args]
        return super().parse_args(ctx, args)


@click.group(cls=WithFirst)
def history() -> None:
    """List sessions, pin baselines, draw trends.

    Without a command it lists the newest sessions, as `keyheat history list` does.
    """


def verb(name: str, what: str) -> Callable[[Callable[..., int]], click.Command]:
    """A verb of the history, with the options that all of them have."""

    def make(function: Callable[..., int]) -> click.Command:
        return history.command(name, cls=CheckedCommand)(the_history(in_json(what)(function)))

    return make


@verb(FIRST, "the sessions")
@click.option("--suite", metavar="NAME", help="only sessions of this suite")
@click.option(
    "--last", type=click.IntRange(1), default=LAST_LISTED, show_default=True, help="number of sessions"
)
def list_sessions(file: Path, suite: str | None, last: int) -> int:
    """List sessions, the newest first; one without a verdict is running, or was killed."""
    from keyheat.show.history import sessions_answer

    sessions: tuple[Session, ...] = ()
    good: set[int] = set()
    if file.exists():
        with _opened(file) as kept:
            sessions = kept.sessions(suite, last)
            good = {best.id for name in {each.suite for each in sessions} if (best := kept.last_good(name))}
    return _give(sessions_answer(file, sessions, good))


@verb("show", "the session")
@click.argument("session")
def show(file: Path, session: str) -> int:
    """Show SESSION, by its number or pinned name: its runs, and the findings of its gates."""
    from keyheat.show.history import session_answer

    with _opened(file) as kept:
        named = kept.named(session)
        return _give(session_answer(file, named, kept.runs(named, side=None), kept.outcome(named)))


@verb("pin", "the pin")
@click.argument("name")
@click.argument("session")
def pin(file: Path, name: str, session: str) -> int:
    """Pin SESSION as NAME, for keyheat regress --baseline NAME."""
    with _opened(file) as kept:
        named = kept.named(session)
        kept.pin(name, named)
    sentence = f"{name} is session {named.id} of {named.suite}."
    data = {"format": FORMAT, "history": str(file), "pin": name, "session": named.id}
    return _give(Answer(title="History", sentence=sentence, data=data))


@verb("trend", "the points and the changes of each measure")
@click.argument("suite")
@click.option("--case", metavar="NAME", help="only this case")
@click.option("--measure", metavar="NAME", help="only this measure, such as p99_ms")
@click.option(
    "--last", type=click.IntRange(1), default=LAST_DRAWN, show_default=True, help="number of sessions"
)
@click.option("--out", "page", type=a_path, help="write a page with charts")
def trend(file: Path, suite: str, case: str | None, measure: str | None, last: int, page: Path | None) -> int:
    """Show the measures of SUITE over its sessions, with regressions and changes marked.

    A change is a session from which on a measure stays at another level.
    """
    from keyheat.regression.trend import trends_of
    from keyheat.show.history import trends_answer

    with _opened(file) as kept:
        trends = trends_of(kept, suite, last, case, measure)
    answer = trends_answer(file, suite, trends, drawn=page is not None)
    if page is not None:
        from keyheat.show.render import html_of, save

        save(page, html_of(answer, datetime.now(UTC)))
    return _give(answer)


def _give(answer: Answer) -> int:
    return give(answer, DONE, data_alone=True)


def _opened(file: Path) -> "History":
    """A history that is there already."""
    from keyheat.regression.history import History

    if not file.exists():
        raise click.UsageError(f"there is no history {file}; keyheat regress SUITE begins one")
    return History(file)
