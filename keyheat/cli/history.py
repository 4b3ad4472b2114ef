"""The verb history: what every regress came to, which sessions are baselines, and how measures went."""

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
    show_envvar=True, help="the file that keeps every session",
)  # fmt: skip


class WithFirst(click.Group):
    """Verbs of which the first is meant where none is said."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = [FIRST, *args]
        return super().parse_args(ctx, args)


@click.group(cls=WithFirst)
def history() -> None:
    """What every regress came to: sessions, the baselines among them, and how measures went.

    Alone it lists the newest sessions, as `keyheat history list` does.
    """


def verb(name: str, what: str) -> Callable[[Callable[..., int]], click.Command]:
    """A verb of the history, with the options that all of them have."""

    def make(function: Callable[..., int]) -> click.Command:
        return history.command(name)(the_file(in_json(what)(function)))

    return make


@verb(FIRST, "the sessions")
@click.option("--suite", metavar="NAME", help="only sessions of this suite")
@click.option("--last", type=click.IntRange(1), default=LAST_LISTED, show_default=True, help="how many")
def list_sessions(file: Path, suite: str | None, last: int) -> int:
    """List sessions, the newest first. One whose process is gone is lost: its runs are kept."""
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
    """Show SESSION, by its number or the name it is pinned by: its runs, and what the gates found."""
    from keyheat.terminal.regression import session_text

    with _opened(file) as kept:
        found = _named(kept, session)
        runs, findings, pins = kept.runs(found, side=None), kept.findings(found), kept.pins()
    answer(
        lambda: _json(file, session=found, runs=list(map(_run_json, runs)), findings=findings),
        lambda: session_text(found, runs, findings, pins),
    )
    return DONE


@verb("pin", "the pin")
@click.argument("name")
@click.argument("session")
def pin(file: Path, name: str, session: str) -> int:
    """Give SESSION a NAME: keyheat regress --baseline NAME holds a suite against it, and it is not pruned."""
    with _opened(file) as kept:
        found = _named(kept, session)
        before = kept.pin(name, found)
    moved = f"; it was session {before.id}" if before is not None and before != found else ""
    answer(
        lambda: _json(file, pin=name, session=found.id, before=None if before is None else before.id),
        lambda: f"{name} is session {found.id} of {found.suite}{moved}",
    )
    return DONE


@verb("unpin", "the name")
@click.argument("name")
def unpin(file: Path, name: str) -> int:
    """Take NAME away. Its session stays until it is pruned."""
    with _opened(file) as kept:
        kept.unpin(name)
    answer(lambda: _json(file, unpinned=name), lambda: f"{name} is no session any more")
    return DONE


@verb("trend", "the points and the changes of each measure")
@click.argument("suite")
@click.option("--case", metavar="NAME", help="only this case")
@click.option("--measure", metavar="NAME", help="only this measure, such as p99_ms")
@click.option("--last", type=click.IntRange(1), default=LAST_DRAWN, show_default=True, help="of so many")
def trend(file: Path, suite: str, case: str | None, measure: str | None, last: int) -> int:
    """Draw how the measures of SUITE went from session to session, with regressions and changes marked.

    A change is where a measure moved to another level and stayed there.
    """
    from keyheat.regression.history.trend import trends_of
    from keyheat.terminal.regression import trend_text, trends_text

    with _opened(file) as kept:
        trends = trends_of(kept, suite, last, case, measure)
    answer(
        lambda: _json(file, suite=suite, trends=[_trend_json(one) for one in trends]),
        lambda: trend_text(trends[0]) if len(trends) == 1 else trends_text(trends),
    )
    return DONE


@verb("export", "the files")
@click.argument("suite")
@click.option("--otava", "folder", type=a_path, required=True, metavar="DIR", help="where the files go")
def export(file: Path, suite: str, folder: Path) -> int:
    """Write the series of SUITE for another program: for Apache Otava, CSV files and their configuration."""
    from keyheat.analysis.measures import MEASURES
    from keyheat.regression.history.trend import write_otava

    with _opened(file) as kept:
        there = [(case, measure) for case, measure in kept.measured(suite) if measure in MEASURES]
        series = {(case, measure): kept.series(suite, case, measure) for case, measure in there}
    if not series:
        raise click.UsageError(f"suite {suite!r} has no measures in {file}; keyheat history lists sessions")
    written = write_otava(folder, suite, series)
    answer(
        lambda: _json(file, files=[str(path) for path in written]),
        lambda: f"{len(series)} series of {suite}: {shown(written[0])}",
    )
    return DONE


@verb("prune", "what was taken out")
@click.option("--keep", type=click.IntRange(1), required=True, metavar="N", help="how many of each suite")
def prune(file: Path, keep: int) -> int:
    """Take out old sessions of each suite; those that are pinned or running stay, and the last good one."""
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


@verb("lose", "the session")
@click.argument("session", type=int)
def lose(file: Path, session: int) -> int:
    """Say that SESSION will not go on: its process, on a machine that cannot be seen from here, is gone."""
    with _opened(file) as kept:
        kept.lose(session)
        found = kept.session(session)
    answer(
        lambda: _json(file, session=found),
        lambda: f"session {session} of {found.suite} is lost; its runs are kept",
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
        raise click.UsageError(f"no session is pinned as {session!r}; names that are: {names}")
    return found


def _json(file: Path, **content: Any) -> dict[str, Any]:
    return {"format": FORMAT, "history": str(file), **content}


def _run_json(run: Any) -> dict[str, Any]:
    return {
        "case": run.case, "repetition": run.repetition + 1, "side": run.side, "at": run.at,
        "folder": run.folder_url, "summary": run.summary.model_dump(mode="json"),
    }  # fmt: skip


def _trend_json(trend: Any) -> dict[str, Any]:
    return {
        "case": trend.case,
        "measure": trend.measure.name,
        "unit": trend.measure.unit,
        "better": trend.measure.better,
        "points": trend.points,
        "regressed": trend.regressed,
        "changes": [
            {
                "session": trend.points[one.index].session, "before": one.before, "after": one.after,
                "change": one.change, "worse": trend.is_worse(one), "chance": one.chance,
            }
            for one in trend.changes
        ],
    }  # fmt: skip
