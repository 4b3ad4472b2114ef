"""The verb history: sessions of suites, baselines among them, and trends of measures."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from keyheat.cli.options import a_path, in_json
from keyheat.masking import shown
from keyheat.numbers import some
from keyheat.terminal.console import answer
from keyheat.words import DONE

if TYPE_CHECKING:
    from keyheat.regression.history.records import Session
    from keyheat.regression.history.store import History

FORMAT: Final = "keyheat.history/1"
HISTORY: Final = Path("reports") / "history.sqlite"
FIRST: Final = "list"
LAST_LISTED, LAST_DRAWN = 20, 60

the_file = click.option(
    "--history", "file", type=a_path, default=HISTORY, show_default=True, envvar="KEYHEAT_HISTORY",
    show_envvar=True, help="file of all sessions",
)  # fmt: skip


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
        return history.command(name)(the_file(in_json(what)(function)))

    return make


@verb(FIRST, "the sessions")
@click.option("--suite", metavar="NAME", help="only sessions of this suite")
@click.option(
    "--last", type=click.IntRange(1), default=LAST_LISTED, show_default=True, help="number of sessions"
)
def list_sessions(file: Path, suite: str | None, last: int) -> int:
    """List sessions, the newest first. A session is lost once its process is gone; its runs are kept."""
    if not file.exists():
        return _none(file)
    from keyheat.terminal.regression import SessionRow, list_text

    with _opened(file) as kept:
        found = kept.sessions(suite, last)
        pins = kept.pins()
        good = {one.suite: kept.last_good(one.suite) for one in found}
        listed = [
            SessionRow(
                session=one,
                runs=kept.count(one),
                pins=tuple(pin.name for pin in pins if pin.session == one.id),
                baseline=one == good[one.suite],
            )
            for one in found
        ]
    if not found:
        return _none(file)
    answer(lambda: _json(file, sessions=listed), lambda: list_text(listed))
    return DONE


def _none(file: Path) -> int:
    answer(
        lambda: _json(file, sessions=[]),
        lambda: f"{shown(file)} has no sessions yet. The first one: keyheat regress SUITE",
    )
    return DONE


@verb("show", "the session")
@click.argument("session")
def show(file: Path, session: str) -> int:
    """Show SESSION, by its number or pinned name: its runs, and the findings of its gates."""
    from keyheat.terminal.regression import session_text

    with _opened(file) as kept:
        found = _named(kept, session)
        runs, findings, pins = kept.runs(found, side=None), kept.findings(found), kept.pins()
    answer(
        lambda: _json(file, session=found, runs=runs, findings=findings),
        lambda: session_text(found, runs, findings, pins),
    )
    return DONE


@verb("pin", "the pin")
@click.argument("name")
@click.argument("session")
def pin(file: Path, name: str, session: str) -> int:
    """Pin SESSION as NAME, for keyheat regress --baseline NAME; a pinned session is not pruned."""
    with _opened(file) as kept:
        found = _named(kept, session)
        before = kept.pin(name, found)
    moved = f"; it was session {before.id}" if before is not None and before != found else ""
    answer(
        lambda: _json(file, pin=name, session=found.id, before=None if before is None else before.id),
        lambda: f"{name} is session {found.id} of {found.suite}{moved}",
    )
    return DONE


@verb("trend", "the points and the changes of each measure")
@click.argument("suite")
@click.option("--case", metavar="NAME", help="only this case")
@click.option("--measure", metavar="NAME", help="only this measure, such as p99_ms")
@click.option(
    "--last", type=click.IntRange(1), default=LAST_DRAWN, show_default=True, help="number of sessions"
)
def trend(file: Path, suite: str, case: str | None, measure: str | None, last: int) -> int:
    """Draw the measures of SUITE over its sessions, with regressions and changes marked.

    A change is a session from which on a measure stays at another level.
    """
    from keyheat.regression.history.trend import trends_of
    from keyheat.terminal.regression import trend_text, trends_text

    with _opened(file) as kept:
        trends = trends_of(kept, suite, last, case, measure)
    answer(
        lambda: _json(file, suite=suite, trends=trends),
        lambda: trend_text(trends[0]) if len(trends) == 1 else trends_text(trends),
    )
    return DONE


@verb("prune", "what was taken out")
@click.option(
    "--keep", type=click.IntRange(1), required=True, metavar="N", help="number of sessions per suite to keep"
)
def prune(file: Path, keep: int) -> int:
    """Delete old sessions of each suite, except pinned, running and last good ones."""
    with _opened(file) as kept:
        pruned = kept.prune(keep)
    answer(
        lambda: _json(file, sessions=pruned.sessions, left=pruned.unreferred),
        lambda: "\n".join(
            (
                f"{some(len(pruned.sessions), 'session')} taken out",
                *(["The history no longer refers to these run directories:"] if pruned.unreferred else []),
                *(f"  {url}" for url in pruned.unreferred),
            )
        ),
    )
    return DONE


def _opened(file: Path) -> "History":
    """A history that is there already."""
    from keyheat.regression.history.store import History

    if not file.exists():
        raise click.UsageError(f"there is no history {file}; keyheat regress SUITE begins one")
    return History.open(file)


def _named(kept: "History", session: str) -> "Session":
    """A session by its number, or by the name it is pinned by."""
    if session.isdecimal():
        return kept.session(int(session))
    if (found := kept.pinned(session)) is None:
        names = ", ".join(one.name for one in kept.pins()) or "none"
        raise click.UsageError(f"no session is pinned as {session!r}; pinned names: {names}")
    return found


def _json(file: Path, **content: Any) -> dict[str, Any]:
    return {"format": FORMAT, "history": str(file), **content}
