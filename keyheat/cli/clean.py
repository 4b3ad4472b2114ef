"""The verb clean: delete items that a run wrote to an existing table, or expired tables of earlier runs."""

from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keyheat.cli.answers import give
from keyheat.cli.guards import at_known_endpoint
from keyheat.cli.mistakes import CheckedCommand
from keyheat.cli.options import Account, Priced, a_folder, in_json, price_list, says_yes
from keyheat.flags import Within, option, options_of, takes
from keyheat.masking import short_path
from keyheat.plan.prices import Prices
from keyheat.show.answer import Answer
from keyheat.show.console import bars, err
from keyheat.words import DONE, INTERRUPTED, INVALID, REFUSED

if TYPE_CHECKING:
    from keyheat.load.tables.cleaning import Cleaned
    from keyheat.load.transport.target import Target
    from keyheat.runs.manifest import Manifest

ATTEMPTS = 10


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
    listed = price_list(options.priced.prices)
    if folder is None:
        from keyheat.cli.orphans import sweep

        return sweep(account, listed, yes=options.yes, dry_run=options.dry_run)
    from botocore.exceptions import BotoCoreError, ClientError

    from keyheat.load.tables.cleaning import loaded_run, without_marks
    from keyheat.load.transport.boto import make_client

    if options.dry_run or account.region or account.profile:
        raise click.UsageError("--dry-run, --region and --profile go with --orphans")
    run, target = at_known_endpoint(lambda url: loaded_run(folder, url), account.endpoint_url)
    if not run.items_marked:
        return _nothing(run.table.name, without_marks(run, target))
    try:
        with closing(make_client(target, attempts=ATTEMPTS)) as client:
            return _clean(client, folder, run, target, listed, options)
    except (ClientError, BotoCoreError) as error:
        err.print(f"table {run.table.name} at {target.url}: {error}. {_how_to_go_on(folder)}")
        return INVALID


def _nothing(table: str, why: str) -> int:
    """Print why there is nothing to clean."""
    data = {"deleted": 0, "finished": True, "because": why}
    return give(Answer(title=table, label="Nothing deleted", sentence=why, data=data), DONE)


def _clean(
    client: Any, folder: Path, run: "Manifest", target: "Target", prices: Prices, options: CleanOptions
) -> int:
    from keyheat.load.tables.cleaning import (
        Cleaned,
        UnitPace,
        clean_table,
        cost_in_words,
        usual_pace,
    )
    from keyheat.load.tables.control import describe_table
    from keyheat.show.console import Bar

    table = run.table.name
    description = describe_table(client, table)
    if description is None:
        return _nothing(table, f"nothing to clean: table {table} no longer exists")
    pace = options.most_per_s or usual_pace(description, local=target.local)
    err.print(cost_in_words(run, target, description, prices, pace))
    if run.status == "running":
        err.print("The run is marked as running; if it is, wait until it ends.")
    if not (target.local or options.yes or says_yes("Delete them?")):
        err.print("keyheat: refused: add --yes to delete them")
        return REFUSED
    cleaned, code = Cleaned(str(run.run_id), table), DONE
    items = max(1, description.get("ItemCount", 0))
    pages = clean_table(client, description, cleaned, UnitPace(units_per_s=pace))
    what = f"cleaning table {cleaned.table}"
    with Bar(bars, what, total=items, line=what) as bar:
        try:
            for _page in pages:
                bar.show(min(items, cleaned.looked_at), f"{cleaned.deleted:,} items deleted")
        except KeyboardInterrupt:
            code = INTERRUPTED
        finally:
            pages.close()
    return give(_answer(cleaned, folder), code)


def _answer(cleaned: "Cleaned", folder: Path) -> Answer:
    notes = []
    if cleaned.rewritten:
        notes.append(f"{cleaned.rewritten:,} were rewritten by other clients meanwhile and are kept.")
    if not cleaned.finished:
        notes.append(f"The table is not looked through yet. {_how_to_go_on(folder)}")
    return Answer(
        title=cleaned.table,
        label="Cleaned" if cleaned.finished else "Not finished",
        tone="none" if cleaned.finished else "invalid",
        sentence=f"{cleaned.deleted:,} items of run {cleaned.run_id} deleted from table {cleaned.table}, for "
        f"{cleaned.read_units:,.0f} read and {cleaned.write_units:,.0f} write units.",
        notes=tuple(notes),
        data=asdict(cleaned),
    )


def _how_to_go_on(folder: Path) -> str:
    return f"To go on: keyheat clean {short_path(folder)}"
