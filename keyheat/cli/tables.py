"""The verb sweep-orphans: tables that runs left behind are found by their tags, shown, and deleted."""

import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keyheat.cli.common import price_list, some_prices
from keyheat.cli.telling import in_json
from keyheat.runfiles import FileProblem
from keyheat.terminal.console import bars, confirmed, err, out, print_json
from keyheat.words import DONE, INVALID, REFUSED

if TYPE_CHECKING:
    from keyheat.load.tables.orphans import Found, Orphan, Search

FORMAT = "keyheat.orphans/1"
MANY = 20  # tables from which on a bar is shown
NAMED = 5  # tables that one problem names
MODES = {"PROVISIONED": "provisioned", "PAY_PER_REQUEST": "on demand"}


@click.command("sweep-orphans")
@click.option("--target", default="aws", show_default=True, help="aws, or the URL of an endpoint")
@click.option("--region", help="where to look  [default: as the AWS SDK finds it]")
@click.option("--profile", help="of the AWS configuration  [default: as the AWS SDK finds it]")
@click.option("--yes", is_flag=True, help="delete without asking; needed where nobody can be asked")
@click.option("--dry-run", is_flag=True, help="only look")
@in_json("what was found and done")
@some_prices
def sweep_orphans(
    target: str,
    region: str | None,
    profile: str | None,
    yes: bool,
    dry_run: bool,
    as_json: bool,
    prices: Path,
) -> int:
    """Find tables that runs left behind, by their tags, and delete those whose time is over.

    Never a table without Keyheat's tags, never one that is protected.
    """
    search = _search(target, region, profile, prices)
    found = _found(search)
    if not as_json:
        _show(found)
    wanted, code = _consent(found.removable, yes=yes, dry_run=dry_run)
    failed = _delete(search, wanted, said=not as_json)
    if as_json:
        print_json(_json(found, wanted, failed))
    return code or (INVALID if failed or found.problems else DONE)


def _search(target: str, region: str | None, profile: str | None, prices: Path) -> "Search":
    from botocore.exceptions import BotoCoreError, NoRegionError

    from keyheat.evidence.clients import boto3_clients
    from keyheat.load.tables.orphans import PACE_S, Search
    from keyheat.load.transport.target import target_at

    if target == "local":
        raise click.UsageError(
            "a local endpoint's tables go with it; to sweep one that is running, say --target http://..."
        )
    region = region or (None if profile else os.environ.get("AWS_REGION"))  # which botocore does not read
    try:
        found = None if target == "aws" else target_at(target, region=region)
        url, local = (None, False) if found is None else (found.url, found.local)
        region = region if found is None else found.region
        client = boto3_clients(region=region, profile=profile, endpoint_url=url, local=local)("dynamodb")
    except NoRegionError as error:
        raise click.UsageError("no AWS region is set: say --region, or set AWS_REGION") from error
    except (BotoCoreError, ValueError) as error:
        raise click.UsageError(f"--target {target}: {error}") from error
    return Search(
        client=client,
        now=datetime.now(UTC),
        prices=price_list(prices),
        sleep=time.sleep,
        pace_s=0.0 if local else PACE_S,
    )


def _found(search: "Search") -> "Found":
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


def _show(found: "Found") -> None:
    """What there is, in words: what is deleted first, then what is not and why."""
    for orphan in found.removable:
        out.print(f"{orphan.name}: left behind, and its time is over ({_facts(orphan)})", markup=False)
    for orphan in found.orphans:
        if orphan.kept is not None:
            out.print(f"{orphan.name}: not deleted, {orphan.kept} ({_facts(orphan)})", markup=False)
    if not found.orphans:
        out.print("No table is left behind.")
    for orphan in found.not_over:
        out.print(f"{orphan.name}: its time is not over ({_facts(orphan)})", markup=False)
    for why, names in found.problems.items():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        err.print(f"keyheat: not looked at: {', '.join(names[:NAMED])}{more}: {why}", markup=False)


def _facts(orphan: "Orphan") -> str:
    time_over = "no expiry" if orphan.expires is None else f"expires {orphan.expires:%Y-%m-%dT%H:%M:%SZ}"
    return (
        f"run {orphan.run} of {orphan.owner}, {time_over}, {orphan.size_bytes:,} bytes, "
        f"{MODES.get(orphan.mode, orphan.mode)}, ${orphan.dollars_per_day:.2f} a day"
    )


def _consent(removable: "list[Orphan]", *, yes: bool, dry_run: bool) -> "tuple[list[Orphan], int]":
    """What is going to be deleted, and the exit code where somebody has to say so first."""
    if not removable or dry_run:
        return [], DONE
    from keyheat.load.guard.consent import somebody_there

    tables = f"{len(removable)} table{'s' if len(removable) > 1 else ''}"
    asked = not yes and somebody_there()
    if yes or (asked and confirmed(f"Delete {tables}?")):
        return removable, DONE
    if asked:
        return [], DONE
    err.print(f"keyheat: {tables} not deleted, since nobody can be asked here: say --yes, or --dry-run")
    return [], REFUSED


def _delete(search: "Search", wanted: "list[Orphan]", *, said: bool) -> dict[str, str]:
    """Delete them all, then wait until they are gone; gives what was not done, by name of the table."""
    from keyheat.load.tables.waiting import Patience
    from keyheat.terminal.progress import Countdown

    failed = {orphan.name: why for orphan in wanted if (why := search.delete(orphan)) is not None}
    with Countdown(bars, "deleting") as countdown:
        patience = Patience(sleep=search.sleep, show=countdown.show)
        for orphan in wanted:
            if orphan.name in failed:
                continue
            if (why := search.see_gone(orphan, patience)) is not None:
                failed[orphan.name] = why
            elif said:
                out.print(f"{orphan.name}: deleted", markup=False)
    for name, why in failed.items():
        err.print(f"keyheat: table {name} is not deleted: {why}", markup=False)
    return failed


def _json(found: "Found", wanted: "list[Orphan]", failed: dict[str, str]) -> dict[str, Any]:
    from dataclasses import asdict

    from keyheat.load.tables.tags import as_text

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
