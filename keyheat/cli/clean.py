"""The verb clean: delete items that a run wrote to an existing table, or expired tables of earlier runs."""

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.cli.guards import at_known_endpoint
from keyheat.cli.mistakes import CheckedCommand
from keyheat.cli.options import Account, Priced, a_folder, give, in_json
from keyheat.flags import Within, option, options_of, takes, values_of
from keyheat.load.run.consent import is_interactive
from keyheat.masking import short_path
from keyheat.numbers import some
from keyheat.runfiles import FileProblem
from keyheat.show.answer import Answer, Table
from keyheat.show.console import Bar, bars, confirmed, counted, err
from keyheat.show.render import text_of
from keyheat.words import DONE, INTERRUPTED, INVALID, REFUSED

if TYPE_CHECKING:
    from keyheat.load.tables.cleaning import Cleaned
    from keyheat.load.tables.removal import Orphan, OrphanSearch
    from keyheat.load.transport.target import Target
    from keyheat.runs.manifest import Manifest

ATTEMPTS = 10
NAMED = 5  # tables that one problem names


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanOptions:
    """What is deleted, and how."""

    orphans: bool = option("delete expired tables that earlier runs left behind", default=False)
    yes: bool = option("do not ask; required without a terminal", default=False)
    most_per_s: float | None = option(
        "pace  [default: a quarter of the provisioned units, or 500]",
        flag="--max-units-per-s", type=Within(min=0, min_open=True),
    )  # fmt: skip
    account: Account = options_of(Account)
    dry_run: bool = option("only list expired tables; with --orphans", default=False)
    priced: Priced = options_of(Priced)


@click.command(cls=CheckedCommand)
@click.argument("folder", metavar="[DIR]", type=a_folder, required=False)
@takes("options", CleanOptions)
@in_json("what was found and deleted")
def clean(folder: Path | None, options: CleanOptions) -> int:
    """Delete the items of the run in DIR from an existing table, and no other item.

    The whole table is read to find them. After an interrupt, the same command begins again.

    With --orphans, find tables of earlier runs by their tags and delete expired ones, but never a table
    without Keyheat's tags, nor a protected one.
    """
    account = options.account
    if options.orphans == (folder is not None):
        raise click.UsageError("name a run directory, or use --orphans")
    if folder is None:
        return _clean_tables(options)
    if options.dry_run or account.region or account.profile:
        raise click.UsageError("--dry-run, --region and --profile go with --orphans")
    from botocore.exceptions import BotoCoreError, ClientError

    from keyheat.load.tables.cleaning import loaded_run

    run, target = at_known_endpoint(lambda url: loaded_run(folder, url), account.endpoint_url)
    try:
        return _clean_items(folder, run, target, options)
    except (ClientError, BotoCoreError) as error:
        err.print(f"table {run.table.name} at {target.url}: {error}. {_how_to_go_on(folder)}")
        return INVALID


# Items of a run


def _clean_items(folder: Path, run: "Manifest", target: "Target", options: CleanOptions) -> int:
    from keyheat.load.tables.cleaning import (
        Cleaned,
        clean_table,
        cost_in_words,
        usual_pace,
        without_marks,
    )
    from keyheat.load.tables.control import describe_table
    from keyheat.load.transport.boto import make_client

    table = run.table.name
    if not run.items_marked:
        return _nothing(table, without_marks(run, target))
    with closing(make_client(target, attempts=ATTEMPTS)) as client:
        if (description := describe_table(client, table)) is None:
            return _nothing(table, f"nothing to clean: table {table} no longer exists")
        pace = options.most_per_s or usual_pace(description, local=target.local)
        err.print(cost_in_words(run, target, description, options.priced.listed, pace))
        if run.status == "running":
            err.print("The run is marked as running; if it is, wait until it ends.")
        if not (target.local or options.yes or (is_interactive() and confirmed("Delete them?"))):
            err.print("keyheat: refused: add --yes to delete them")
            return REFUSED
        cleaned, items = Cleaned(str(run.run_id), table), max(1, description.get("ItemCount", 0))
        pages = clean_table(client, description, cleaned, pace)
        code = _delete_items(pages, cleaned, items)
    return give(_items_answer(cleaned, folder), code)


def _nothing(table: str, why: str) -> int:
    """Print why there is nothing to clean."""
    data = {"deleted": 0, "finished": True, "because": why}
    return give(Answer(title=table, label="Nothing deleted", sentence=why, data=data), DONE)


def _delete_items(pages: Iterable[object], cleaned: "Cleaned", items: int) -> int:
    """Look through the table with a bar; gives the exit code."""
    what = f"cleaning table {cleaned.table}"
    with Bar(bars, what, total=items, line=what) as bar:
        try:
            for _page in pages:
                bar.show(min(items, cleaned.looked_at), f"{cleaned.deleted:,} items deleted")
        except KeyboardInterrupt:
            return INTERRUPTED
    return DONE


def _items_answer(cleaned: "Cleaned", folder: Path) -> Answer:
    more = f"The table is not looked through yet. {_how_to_go_on(folder)}"
    return Answer(
        title=cleaned.table,
        label="Cleaned" if cleaned.finished else "Not finished",
        tone="none" if cleaned.finished else "invalid",
        sentence=f"{cleaned.deleted:,} items of run {cleaned.run_id} deleted from table {cleaned.table}, for "
        f"{cleaned.read_units:,.0f} read and {cleaned.write_units:,.0f} write units.",
        notes=() if cleaned.finished else (more,),
        data=asdict(cleaned),
    )


def _how_to_go_on(folder: Path) -> str:
    return f"To go on: keyheat clean {short_path(folder)}"


# Tables of earlier runs


def _clean_tables(options: CleanOptions) -> int:
    """Find tables of earlier runs and delete expired ones after consent; return the exit code."""
    from botocore.exceptions import BotoCoreError, ClientError

    from keyheat.load.tables.ownership import why_unread

    search = _search(options)
    try:
        names = search.names()
    except (ClientError, BotoCoreError) as error:
        raise FileProblem(f"the tables cannot be listed: {why_unread(error)}") from error
    orphans, code = search.find(counted(names, len(names), "tables looked at", bars)), DONE
    fates = {orphan.name: _fate(orphan) for orphan in orphans}
    removable = [orphan for orphan in orphans if orphan.kept is None]
    if removable and not options.dry_run:
        if options.yes or _agreed(_tables_answer(orphans, search.problems, fates), len(removable)):
            for orphan in removable:
                why = search.delete(orphan)
                fates[orphan.name] = "deleted" if why is None else f"not deleted: {why}"
        elif not is_interactive():
            code = REFUSED
    failed = any(fate.startswith("not deleted: ") for fate in fates.values())
    answer = _tables_answer(orphans, search.problems, fates)
    return give(answer, code or (INVALID if failed or search.problems else DONE))


def _fate(orphan: "Orphan") -> str:
    from keyheat.load.tables.removal import NOT_OVER

    if orphan.kept == NOT_OVER:
        return "not expired"
    return "expired" if orphan.kept is None else f"not deleted, {orphan.kept}"


def _search(options: CleanOptions) -> "OrphanSearch":
    from keyheat.evidence.table import connect
    from keyheat.load.tables.removal import PACE_S, OrphanSearch

    account = options.account
    region = account.region or (None if account.profile else os.environ.get("AWS_REGION"))
    target = connect(None, clock=time.time, **values_of(replace(account, region=region)))
    return OrphanSearch(
        client=target.factory("dynamodb"), now=target.now, prices=options.priced.listed,
        sleep=time.sleep, pace_s=0.0 if target.local else PACE_S,
    )  # fmt: skip


def _agreed(answer: Answer, removable: int) -> bool:
    """Show the tables and ask."""
    tables = some(removable, "table")
    err.print(text_of(answer))
    if is_interactive():
        return confirmed(f"Delete {tables}?")
    err.print(f"keyheat: {tables} not deleted: without a terminal, add --yes or --dry-run")
    return False


def _tables_answer(
    found: "list[Orphan]", unseen: Mapping[str, list[str]], fates: Mapping[str, str]
) -> Answer:
    """All tables of earlier runs, and what was done with each; `unseen` could not be looked at."""
    from keyheat.load.tables.ownership import as_text
    from keyheat.load.tables.removal import NOT_OVER

    orphans = sorted(found, key=lambda orphan: orphan.kept == NOT_OVER)
    rows = tuple(
        {
            "table": orphan.name, "fate": fates[orphan.name], "owner": orphan.owner,
            "expires, UTC": "unknown" if orphan.expires is None else f"{orphan.expires:%F %R}",
            "bytes": f"{orphan.size_bytes:,}", "a day": f"${orphan.dollars_per_day:.2f}",
        }
        for orphan in orphans
    )  # fmt: skip
    expired, deleted = (
        some(sum(orphan.kept is None for orphan in found), "expired table"),
        [*fates.values()].count("deleted"),
    )
    problems = tuple(
        f"Not looked at: {', '.join(names[:NAMED])}"
        f"{f' and {len(names) - NAMED} more' if len(names) > NAMED else ''}: {why}"
        for why, names in unseen.items()
    )
    return Answer(
        title="Tables of earlier runs",
        sentence=f"{expired} found, {deleted} deleted." if orphans else "No table is left behind.",
        tone="invalid" if problems or any("not deleted: " in fate for fate in fates.values()) else "none",
        tables=(Table(title="Tables", rows=rows),) if rows else (),
        notes=problems,
        data={
            "tables": [
                asdict(orphan)
                | {"expires": orphan.expires and as_text(orphan.expires), "fate": fates[orphan.name]}
                for orphan in orphans
            ],
            "problems": dict(unseen),
        },
    )
