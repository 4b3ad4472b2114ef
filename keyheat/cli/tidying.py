"""The verb clean: delete items that a run wrote to an existing table, or expired tables of earlier runs."""

import os
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keyheat.cli.options import Account, a_folder, in_json, price_list, says_yes, some_prices
from keyheat.flags import Within, takes
from keyheat.masking import shown
from keyheat.plan.prices import Prices
from keyheat.runfiles import FileProblem
from keyheat.terminal.console import answer, bars, err, in_words, out, print_json
from keyheat.words import DONE, INTERRUPTED, INVALID, REFUSED

if TYPE_CHECKING:
    from keyheat.load.tables.cleaning import Cleaned, Leftovers
    from keyheat.load.tables.orphans import Orphan, OrphanSearch, OrphanSearchResult

ATTEMPTS = 10


@click.command()
@click.argument("folder", metavar="[DIR]", type=a_folder, required=False)
@click.option("--orphans", is_flag=True, help="delete expired tables that earlier runs left behind")
@click.option("--yes", is_flag=True, help="do not ask; required where nobody can answer")
@click.option(
    "--max-units-per-s",
    "most_per_s",
    type=Within(min=0, min_open=True),
    help="pace  [default: a quarter of the provisioned units, or 500]",
)
@takes("account", Account)
@click.option("--dry-run", is_flag=True, help="only list expired tables; with --orphans")
@in_json("what was found and deleted")
@some_prices
def clean(
    folder: Path | None,
    orphans: bool,
    yes: bool,
    most_per_s: float | None,
    account: Account,
    dry_run: bool,
    prices: Path,
) -> int:
    """Delete the items of the run in DIR from an existing table, and no other item.

    The whole table is read to find them. After an interrupt, the same command begins again.

    With --orphans, find tables of earlier runs by their tags and delete expired ones, but never a table
    without Keyheat's tags, nor a protected one.
    """
    if orphans == (folder is not None):
        raise click.UsageError("name a run directory, or use --orphans")
    if folder is None:
        return _sweep(_search(account, prices), yes=yes, dry_run=dry_run)
    from botocore.exceptions import BotoCoreError, ClientError

    from keyheat.cli.guards import at_known_endpoint
    from keyheat.load.tables.cleaning import leftovers_of
    from keyheat.load.transport.boto import make_client

    if dry_run or account.region or account.profile:
        raise click.UsageError("--dry-run, --region and --profile go with --orphans")
    left = at_known_endpoint(lambda url: leftovers_of(folder, url), account.endpoint_url)
    listed = price_list(prices)
    if not left.marked:
        return _nothing(left.without_marks)
    try:
        with closing(make_client(left.target, attempts=ATTEMPTS)) as client:
            return _clean(client, folder, left, listed, yes=yes, most_per_s=most_per_s)
    except (ClientError, BotoCoreError) as error:
        err.print(f"table {left.table} at {left.target.url}: {error}. {_how_to_go_on(folder)}")
        return INVALID


def _nothing(why: str) -> int:
    """Print why there is nothing to clean."""
    answer(lambda: {"deleted": 0, "finished": True, "because": why}, lambda: why)
    return DONE


def _clean(
    client: Any,
    folder: Path,
    left: "Leftovers",
    prices: Prices,
    *,
    yes: bool,
    most_per_s: float | None,
) -> int:
    from keyheat.load.tables.cleaning import Cleaned, Cleaner, UnitPace, cost_in_words, usual_pace
    from keyheat.load.tables.description import described
    from keyheat.terminal.progress import CleaningBar

    description = described(client, left.table)
    if description is None:
        return _nothing(f"nothing to clean: table {left.table} is not there any more")
    pace = most_per_s or usual_pace(description, local=left.target.local)
    err.print(cost_in_words(left, description, prices, pace))
    if left.running:
        err.print("Its run says that it is still going on: if it is, wait for its end.")
    if not (left.target.local or yes or says_yes("Delete them?")):
        err.print("keyheat: refused: say --yes to have them deleted")
        return REFUSED
    cleaned, code = Cleaned(left.run_id, left.table), DONE
    items = max(1, description.get("ItemCount", 0))
    pages = Cleaner(
        client=client, description=description, cleaned=cleaned, pace=UnitPace(units_per_s=pace)
    ).clean()
    with CleaningBar(cleaned.table, items, bars) as bar:
        try:
            for _page in pages:
                bar.show(min(items, cleaned.looked_at), cleaned.deleted)
        except KeyboardInterrupt:
            code = INTERRUPTED
        finally:
            pages.close()
    answer(lambda: asdict(cleaned), lambda: _cleaned_text(cleaned))
    _say_rest(cleaned, folder)
    return code


def _cleaned_text(cleaned: "Cleaned") -> str:
    return (
        f"{cleaned.deleted:,} items of run {cleaned.run_id} deleted from table {cleaned.table}, "
        f"for {cleaned.read_units:,.0f} read and {cleaned.write_units:,.0f} write units"
    )


def _say_rest(cleaned: "Cleaned", folder: Path) -> None:
    if cleaned.left and in_words():
        err.print(f"{cleaned.left:,} were somebody else's by then, and are left as they are")
    if not cleaned.finished and in_words():
        err.print(f"the table is not looked through yet. {_how_to_go_on(folder)}")


def _how_to_go_on(folder: Path) -> str:
    return f"To go on: keyheat clean {shown(folder)}"


FORMAT = "keyheat.orphans/1"
MANY = 20  # tables from which on a bar is shown
NAMED = 5  # tables that one problem names
MODES = {"PROVISIONED": "provisioned", "PAY_PER_REQUEST": "on demand"}


def _sweep(search: "OrphanSearch", *, yes: bool, dry_run: bool) -> int:
    found = _found(search)
    if in_words():
        _show(found)
    wanted, code = _consent(found.removable, yes=yes, dry_run=dry_run)
    failed = _delete(search, wanted)
    if not in_words():
        print_json(_orphans_json(found, wanted, failed))
    return code or (INVALID if failed or found.problems else DONE)


def _search(account: Account, prices: Path) -> "OrphanSearch":
    from botocore.exceptions import BotoCoreError, NoRegionError

    from keyheat.evidence.clients import boto3_clients
    from keyheat.load.tables.orphans import PACE_S, OrphanSearch
    from keyheat.load.transport.target import target_at

    region = account.region or (None if account.profile else os.environ.get("AWS_REGION"))
    url = account.endpoint_url
    try:
        target = None if url is None else target_at(url, region=region)
        local = target is not None and target.local
        region = region if target is None else target.region
        factory = boto3_clients(region=region, profile=account.profile, endpoint_url=url, local=local)
        client = factory("dynamodb")
    except NoRegionError as error:
        raise click.UsageError("no AWS region is set: add --region, or set AWS_REGION") from error
    except (BotoCoreError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    return OrphanSearch(
        client=client,
        now=datetime.now(UTC),
        prices=price_list(prices),
        sleep=time.sleep,
        pace_s=0.0 if local else PACE_S,
    )


def _found(search: "OrphanSearch") -> "OrphanSearchResult":
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    from keyheat.load.tables.ownership import why_unread
    from keyheat.terminal.progress import counted

    try:
        names = search.names()
    except ClientError as error:
        raise FileProblem(f"the tables cannot be listed: {why_unread(error, 'ListTables')}") from error
    except NoCredentialsError as error:
        raise click.UsageError(
            "no AWS credentials found: say --profile, set AWS_PROFILE, or log in"
        ) from error
    except BotoCoreError as error:
        raise FileProblem(f"the tables cannot be listed: {error}") from error
    looked: Iterable[str] = names
    if len(names) >= MANY:
        looked = counted(names, len(names), "tables looked at", bars)
    return search.find(looked)


def _show(found: "OrphanSearchResult") -> None:
    """Print the tables that are deleted, then those that are kept and why."""
    for orphan in found.removable:
        out.print(f"{orphan.name}: left behind, and its time is over ({_facts(orphan)})")
    for orphan in found.orphans:
        if orphan.kept is not None:
            out.print(f"{orphan.name}: not deleted, {orphan.kept} ({_facts(orphan)})")
    if not found.orphans:
        out.print("No table is left behind.")
    for orphan in found.not_over:
        out.print(f"{orphan.name}: its time is not over ({_facts(orphan)})")
    for why, names in found.problems.items():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        err.print(f"keyheat: not looked at: {', '.join(names[:NAMED])}{more}: {why}")


def _facts(orphan: "Orphan") -> str:
    time_over = "no expiry" if orphan.expires is None else f"expires {orphan.expires:%Y-%m-%dT%H:%M:%SZ}"
    return (
        f"run {orphan.run} of {orphan.owner}, {time_over}, {orphan.size_bytes:,} bytes, "
        f"{MODES.get(orphan.mode, orphan.mode)}, ${orphan.dollars_per_day:.2f} a day"
    )


def _consent(removable: "list[Orphan]", *, yes: bool, dry_run: bool) -> "tuple[list[Orphan], int]":
    """The tables to delete, and the exit code where a person has to agree first."""
    if not removable or dry_run:
        return [], DONE
    tables = f"{len(removable)} table{'s' if len(removable) > 1 else ''}"
    agreed = yes or says_yes(f"Delete {tables}?")
    if agreed is not None:
        return removable if agreed else [], DONE
    err.print(f"keyheat: {tables} not deleted, since nobody can be asked here: say --yes, or --dry-run")
    return [], REFUSED


def _delete(search: "OrphanSearch", wanted: "list[Orphan]") -> dict[str, str]:
    """Delete the tables and wait until they are gone; gives failures by table."""
    from keyheat.load.tables.description import TablePatience
    from keyheat.terminal.progress import Countdown

    failed = {orphan.name: why for orphan in wanted if (why := search.delete(orphan)) is not None}
    with Countdown(bars, "deleting") as countdown:
        patience = TablePatience(sleep=search.sleep, show=countdown.show)
        for orphan in wanted:
            if orphan.name in failed:
                continue
            if (why := search.see_gone(orphan, patience)) is not None:
                failed[orphan.name] = why
            else:
                out.print(f"{orphan.name}: deleted")
    for name, why in failed.items():
        err.print(f"keyheat: table {name} is not deleted: {why}")
    return failed


def _orphans_json(
    found: "OrphanSearchResult", wanted: "list[Orphan]", failed: dict[str, str]
) -> dict[str, Any]:
    from keyheat.load.tables.ownership import as_text

    deleted = {orphan.name for orphan in wanted} - failed.keys()
    return {
        "format": FORMAT,
        "tables": [
            asdict(orphan)
            | {"expires": orphan.expires and as_text(orphan.expires), "deleted": orphan.name in deleted}
            for orphan in (*found.orphans, *found.not_over)
        ],
        "problems": [{"why": why, "tables": names} for why, names in found.problems.items()],
        "failed": failed,
    }
