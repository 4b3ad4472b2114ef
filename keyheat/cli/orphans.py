"""Tables that earlier runs left behind: which there are, which have expired, and their deletion."""

import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime

import click
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

from keyheat.cli.answers import give
from keyheat.cli.options import Account, says_yes
from keyheat.evidence.clients import boto3_clients
from keyheat.load.tables.control import TablePatience
from keyheat.load.tables.ownership import as_text, why_unread
from keyheat.load.tables.removal import NOT_OVER, PACE_S, Orphan, OrphanSearch, OrphanSearchResult
from keyheat.load.transport.target import target_at
from keyheat.numbers import some
from keyheat.plan.prices import Prices
from keyheat.runfiles import FileProblem
from keyheat.show.answer import Answer, Table
from keyheat.show.console import Countdown, bars, counted, err
from keyheat.show.render import text_of
from keyheat.words import DONE, INVALID, REFUSED

MANY = 20  # tables from which on a bar is shown
NAMED = 5  # tables that one problem names


def sweep(account: Account, prices: Prices, *, yes: bool, dry_run: bool) -> int:
    """Find tables of earlier runs and delete expired ones after consent; return the exit code."""
    search = _search(account, prices)
    result, code, chosen = _result_of(search), DONE, list[Orphan]()
    if result.removable and not dry_run:
        agreed = yes or _agreed(result)
        chosen = result.removable if agreed else []
        code = REFUSED if agreed is None else DONE
    failed = _delete(search, chosen)
    answer = _answer(result, {orphan.name for orphan in chosen}, failed)
    return give(answer, code or (INVALID if failed or result.problems else DONE))


def _search(account: Account, prices: Prices) -> OrphanSearch:
    region = account.region or (None if account.profile else os.environ.get("AWS_REGION"))
    url = account.endpoint_url
    try:
        target = None if url is None else target_at(url, region=region)
        local = target is not None and target.local
        region = region if target is None else target.region
        client = boto3_clients(region=region, profile=account.profile, endpoint_url=url, local=local)(
            "dynamodb"
        )
    except NoRegionError as error:
        raise click.UsageError("no AWS region is set: add --region, or set AWS_REGION") from error
    except (BotoCoreError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    pace_s = 0.0 if local else PACE_S
    return OrphanSearch(client=client, now=datetime.now(UTC), prices=prices, sleep=time.sleep, pace_s=pace_s)


def _result_of(search: OrphanSearch) -> OrphanSearchResult:
    try:
        names = search.names()
    except ClientError as error:
        raise FileProblem(f"the tables cannot be listed: {why_unread(error)}") from error
    except NoCredentialsError as error:
        raise click.UsageError(
            "no AWS credentials found: add --profile, set AWS_PROFILE, or log in"
        ) from error
    except BotoCoreError as error:
        raise FileProblem(f"the tables cannot be listed: {error}") from error
    if len(names) < MANY:
        return search.find(names)
    return search.find(counted(names, len(names), "tables looked at", bars))


def _agreed(result: OrphanSearchResult) -> bool | None:
    """Show the tables and ask; None without a terminal."""
    tables = some(len(result.removable), "table")
    err.print(text_of(_answer(result, set(), {})))
    agreed = says_yes(f"Delete {tables}?")
    if agreed is None:
        err.print(f"keyheat: {tables} not deleted: without a terminal, add --yes or --dry-run")
    return agreed


def _delete(search: OrphanSearch, orphans: list[Orphan]) -> dict[str, str]:
    """Delete the tables and wait until they are gone; gives failures by table."""
    failed = {orphan.name: why for orphan in orphans if (why := search.delete(orphan)) is not None}
    with Countdown(bars, "deleting") as countdown:
        patience = TablePatience(sleep=search.sleep, show=countdown.count)
        for orphan in orphans:
            if orphan.name not in failed and (why := search.see_gone(orphan, patience)) is not None:
                failed[orphan.name] = why
    return failed


def _answer(result: OrphanSearchResult, chosen: set[str], failed: Mapping[str, str]) -> Answer:
    """All tables of earlier runs, and what was done with each."""
    orphans = sorted(result.orphans, key=lambda orphan: orphan.kept == NOT_OVER)
    deleted = chosen - failed.keys()
    rows = tuple(
        {
            "table": orphan.name, "fate": _fate(orphan, chosen, failed), "owner": orphan.owner,
            "expires, UTC": "unknown" if orphan.expires is None else f"{orphan.expires:%F %R}",
            "bytes": f"{orphan.size_bytes:,}", "a day": f"${orphan.dollars_per_day:.2f}",
        }
        for orphan in orphans
    )  # fmt: skip
    several = some(len(result.removable), "expired table")
    sentence = f"{several} found, {len(deleted)} deleted." if orphans else "No table is left behind."
    problems = [
        f"Not looked at: {', '.join(names[:NAMED])}"
        f"{f' and {len(names) - NAMED} more' if len(names) > NAMED else ''}: {why}"
        for why, names in result.problems.items()
    ]
    return Answer(
        title="Tables of earlier runs",
        sentence=sentence,
        tone="invalid" if failed or problems else "none",
        tables=(Table(title="Tables", rows=rows),) if rows else (),
        notes=tuple(problems),
        data={
            "tables": [
                asdict(orphan)
                | {"expires": orphan.expires and as_text(orphan.expires), "deleted": orphan.name in deleted}
                for orphan in orphans
            ],
            "problems": [{"why": why, "tables": names} for why, names in result.problems.items()],
            "failed": dict(failed),
        },
    )


def _fate(orphan: Orphan, chosen: set[str], failed: Mapping[str, str]) -> str:
    if orphan.name in failed:
        return f"not deleted: {failed[orphan.name]}"
    if orphan.name in chosen:
        return "deleted"
    if orphan.kept == NOT_OVER:
        return "not expired"
    return "expired" if orphan.kept is None else f"not deleted, {orphan.kept}"
