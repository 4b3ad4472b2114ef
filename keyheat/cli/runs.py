"""Verbs over all runs: the page that lists them, and the server that shows them while runs are going on."""

import shlex
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, TypeVar

import click

from keyheat.cli.common import OUT, a_file, a_path
from keyheat.cli.telling import in_json
from keyheat.numbers import some
from keyheat.terminal.console import bars, err, out, print_json, shown, strong
from keyheat.words import DONE

if TYPE_CHECKING:
    from keyheat.pages.runs.history import Recall

PORT = 8400
LOCAL = "127.0.0.1"
Thing = TypeVar("Thing")
MANY = 30  # runs that have to be read, from which on it is said how far that is


a_history = click.option(
    "--history",
    type=a_file,
    help="what keyheat regress keeps  [default: reports/history.sqlite, if there is one]",
)


@click.command()
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=a_path)
@a_history
@click.option("--out", "file", type=a_path, help="where the page goes  [default: runs.html in the FOLDER]")
@in_json("the runs with their summaries")
def runs(folders: tuple[Path, ...], history: Path | None, file: Path | None, as_json: bool) -> int:
    """Write a page over all runs below FOLDER (reports/out) and in the history.

    It lists, filters and orders them, and draws the trends of every scenario, with what became worse.
    """
    from keyheat.pages.runs.found import Search
    from keyheat.pages.runs.index import NAME, Runs, for_programs, write_runs
    from keyheat.pages.runs.rows import rows_of

    searched = _there(folders)
    found, problems = Search(_told).look(searched, time.time())
    recall = _recall(history)
    remembered, forgotten = recall.look()
    everything = Runs(
        rows=rows_of(found, remembered),
        problems=(*problems, *forgotten),
        folders=searched,
        history=recall.path,
    )
    if as_json:
        print_json(for_programs(everything.rows, everything.problems))
    if file is not None or not as_json:
        written = file or searched[0] / NAME
        write_runs(written, everything, datetime.now(UTC))
        for problem in everything.problems:
            err.print(f"keyheat: {shown(problem.place)}: {problem.why}", markup=False)
        if not as_json:
            out.print(strong(f"{some(len(everything.rows), 'run')}: ", written))
    return DONE


@click.command()
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=a_path)
@a_history
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="0: any free one"
)
@click.option("--host", default=LOCAL, show_default=True, help="another address lets other machines in")
@click.option("--show-keys", is_flag=True, help="with --host: also runs whose files hold key values")
def serve(folders: tuple[Path, ...], history: Path | None, port: int, host: str, show_keys: bool) -> int:
    """Show all runs below FOLDER (reports/out) on a local page, also while they are going on."""
    from keyheat.addresses import on_this_machine
    from keyheat.hosts import Hosts
    from keyheat.pages.runs.found import Search
    from keyheat.pages.serving.app import Site, app_of
    from keyheat.pages.serving.look import Look
    from keyheat.pages.serving.pages import Pages
    from keyheat.pages.serving.server import address_of, listening
    from keyheat.pages.serving.server import serve as answer

    searched = _there(folders)
    look = Look(folders=searched, search=Search(_told), recall=_recall(history), clock=time.time)
    listener = listening(host, port)
    site = Site(
        look=look,
        pages=Pages(clock=time.time),
        hosts=Hosts(frozenset({host, gethostname()})),
        command=_again(click.get_current_context(), listener.getsockname()[1]),
        show_keys=show_keys or on_this_machine(host),
    )
    if not on_this_machine(host):
        err.print(f"keyheat: anybody who reaches {host} can read these runs", markup=False)
    look.seen()  # a first look may take a while, and says so
    with listener:
        out.print(f"{address_of(listener)}  (Ctrl-C ends it)", markup=False)
        answer(listener, app_of(site))
    return DONE


def _again(context: click.Context, port: int) -> str:
    """The command that starts the same server at the same address."""
    said = context.params
    options = [("--history", said["history"]), ("--host", None if said["host"] == LOCAL else said["host"])]
    more = [text for name, value in options if value is not None for text in (name, str(value))]
    keys = ["--show-keys"] if said["show_keys"] else []
    return shlex.join(["keyheat", "serve", *map(str, said["folders"]), "--port", str(port), *more, *keys])


def _there(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders that were said, which have to be there; else the one where runs go by themselves."""
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        raise click.UsageError(f"no such folder: {', '.join(missing)}; runs go to {OUT} by themselves")
    return folders or (OUT,)


def _recall(history: Path | None) -> "Recall":
    from keyheat.pages.runs.history import Recall
    from keyheat.regression.history.store import default_path, utc_now

    return Recall(history or default_path(), utc_now)


def _told(places: Sequence[Thing]) -> Iterable[Thing]:
    """The places one by one, with a bar where there are many."""
    from keyheat.terminal.progress import counted

    return counted(places, len(places), "runs are read", bars) if len(places) > MANY else places
