"""Whose a table is, as its tags say: the run that made it, the runs that load it; and what must not be lost.

keyheat                 RUN                  which run made it; without this tag it is not ours
keyheat-owner           ann                  for whom
keyheat-expires         2026-11-23T10:00:00Z from when on `keyheat clean --orphans` may delete it
keyheat-live-RUN        SINCE/UNTIL OWNER    that a run loads it: no other run loads or deletes it unawares

Tags are part of CreateTable, so that there is no moment in which the table is there without them, and say so
even after the run crashed. What cannot be read proves nothing: such a table is treated as the worse of two.

A table is protected if deletion protection or point-in-time recovery is on, or it is replicated: it is not
meant for load tests, and each of our writes would be kept or copied, and paid for, elsewhere.

Each run claims a table by a tag of its own, and takes it away when it leaves; one that was killed is over at
UNTIL. Where others are still there it says instead that it ended: they are to know, at their own end, that
they were not alone. AWS's tags are eventually consistent, and have no conditions: two runs that come within
seconds may both load, and see each other when they end.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.html
"""

import getpass
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.control import DENIED, Connect, control_client, describe_table, table_client
from keyheat.load.transport.target import Target
from keyheat.runs.manifest import TableClaim
from keyheat.runs.table_facts import replicas_of

LIVE: Final = "keyheat-live-"
CLAIM_S: Final = 600.0
LOCAL_CLAIM_S: Final = 60.0  # on this machine a killed run blocks its table for a minute
RUN, OWNER, EXPIRES = "keyheat", "keyheat-owner", "keyheat-expires"
LONGEST_VALUE = 256
NOT_IN_A_VALUE = re.compile(r"[^\w .:/=+@-]")
"""https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html"""


def tags_for(run_id: str, *, owner: str, expires: datetime) -> list[dict[str, str]]:
    values = {RUN: run_id, OWNER: as_value(owner), EXPIRES: as_text(expires)}
    return [{"Key": key, "Value": value} for key, value in values.items()]


def tags_of(client: Any, arn: str) -> dict[str, str]:
    pages = client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
    return {tag["Key"]: tag["Value"] for page in pages for tag in page["Tags"]}


def moment_of(text: str) -> datetime:
    """Parse a tag's time, in UTC. Raises `ValueError`."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # the first hour of the year 1 is before it in UTC
        raise ValueError(f"{text!r} is not a time") from error
    raise ValueError(f"{text!r} does not say in which time zone")


def as_text(moment: datetime) -> str:
    """A moment as the tag says it, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def user_name() -> str:
    """Who runs this, as the operating system says it; nothing of an AWS identity."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user may have no name
        return "unknown"


def as_value(text: str) -> str:
    """Text with nothing in it that the value of a tag cannot have."""
    return NOT_IN_A_VALUE.sub("_", text)[:LONGEST_VALUE] or "unknown"


NOT_SERVED = ("UnknownOperationException", "UnknownOperation", "NotImplemented", "InvalidAction")
NO_ARN = "this endpoint gives the table no ARN, so its tags cannot be read"
USABLE = ("CREATING", "UPDATING", "ACTIVE")
"""States of a table that answers requests, or will; of the others none does.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html"""


@dataclass(frozen=True, slots=True)
class Unread:
    """A fact that could not be read, and why."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A table that is there: DescribeTable's answer, its tags, and whether it can be put back in time."""

    description: Mapping[str, Any]
    tags: Mapping[str, str] | Unread
    recovery: bool | Unread

    @property
    def name(self) -> str:
        return str(self.description["TableName"])

    @property
    def foreign(self) -> bool:
        """Whether it was created by something else, as far as its tags show."""
        return foreign(self.tags) is not None

    @property
    def foreign_bytes(self) -> int:
        """How much there is to look through for items of ours: nothing in a table that is ours as a whole."""
        return int(self.description.get("TableSizeBytes") or 0) if self.foreign else 0


def look_at(client: Any, name: str) -> Standing | None:
    """Describe a table with its tags; None if it does not exist. Errors other than refusals are raised."""
    if (description := describe_table(client, name)) is None:
        return None
    tags, recovery = tags_read(client, description), recovery_of(client, description)
    return Standing(description=description, tags=tags, recovery=recovery)


def unusable(description: Mapping[str, Any]) -> str | None:
    """Return why the table answers no request at all; None if it does."""
    if description.get("RestoreSummary", {}).get("RestoreInProgress"):
        return "it is being restored from a backup; run again when that is done"
    status = description["TableStatus"]
    return None if status in USABLE else f"its status is {status}"


def foreign(tags: Mapping[str, str] | Unread) -> str | None:
    """Return why the table is not ours, or may not be; None if it is."""
    if isinstance(tags, Unread):
        return f"it cannot be seen to be created by a run of ours: {tags.why}"
    return None if RUN in tags else f"it was not created by a run of ours (it has no tag {RUN!r})"


def protections(table: Standing) -> list[str]:
    reasons = []
    if table.description.get("DeletionProtectionEnabled"):
        reasons.append("deletion protection is on")
    if isinstance(table.recovery, Unread):
        reasons.append(f"point-in-time recovery may be on: {table.recovery.why}")
    elif table.recovery:
        reasons.append("point-in-time recovery is on")
    if replicas := replicas_of(table.description):
        reasons.append(f"it is a global table, and each write is copied to {', '.join(replicas)}")
    return reasons


def refusals(table: Standing, allowed: Collection[str], allowed_protected: Collection[str]) -> list[str]:
    """List why the table must not be loaded, one line for each option that would allow it."""
    lines = []
    why = foreign(table.tags)
    if why is not None and table.name not in allowed:
        lines.append(
            f"table {table.name} is not loaded: {why}. If it may be, say --allow-table {table.name}; "
            "otherwise give the scenario's table another name"
        )
    protected = protections(table)
    if protected and table.name not in allowed_protected:
        lines.append(
            f"table {table.name} is not loaded: {'; '.join(protected)}. If it may be loaded all the same, "
            f"say --allow-protected {table.name}"
        )
    return lines


def recovery_of(client: Any, description: Mapping[str, Any]) -> bool | Unread:
    """Whether point-in-time recovery is on; False if a third-party endpoint lacks it."""
    try:
        answer = client.describe_continuous_backups(TableName=description["TableName"])
    except ClientError as error:
        if error.response["Error"]["Code"] in NOT_SERVED:
            return False
        return Unread(why_unread(error))
    described = answer["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    return bool(described.get("PointInTimeRecoveryStatus") == "ENABLED")


def why_unread(error: ClientError | BotoCoreError) -> str:
    """Return why a request failed, and which permission it may need."""
    if isinstance(error, BotoCoreError):
        return str(error)
    code = error.response["Error"]["Code"]
    if code in DENIED:
        return f"the permission dynamodb:{error.operation_name} is missing"
    if code in NOT_SERVED:
        return f"this endpoint does not serve {error.operation_name}"
    return f"{error.operation_name} was answered with {code}: {error.response['Error'].get('Message', '')}"


def tags_read(client: Any, description: Mapping[str, Any]) -> Mapping[str, str] | Unread:
    if "TableArn" not in description:
        return Unread(NO_ARN)
    try:
        return tags_of(client, description["TableArn"])
    except ClientError as error:
        return Unread(why_unread(error))


def look_at_tables(
    target: Target, names: Iterable[str], connect: Connect = control_client
) -> dict[str, Standing | None]:
    """Look up tables by name; None if absent. Raises `TableError` if the target does not answer."""
    names = tuple(names)
    with table_client(target, f"table {', '.join(names)}", connect) as client:
        return {name: look_at(client, name) for name in names}


def claim_key(run_id: str) -> str:
    return LIVE + run_id


def claim_tag(run_id: str, since: datetime, until: datetime) -> dict[str, str]:
    value = f"{as_text(since)}/{as_text(until)} {user_name()}"
    return {"Key": claim_key(run_id), "Value": as_value(value)}


def live_in(
    name: str, tags: Mapping[str, str], since: datetime, *, but: str | None = None
) -> list[TableClaim]:
    """The runs that table `name` is claimed by, or was after `since`; `but` is not one of them.

    A tag that cannot be read is a run without beginning or end.
    """
    claims = []
    for key, value in tags.items():
        if key.startswith(LIVE) and key.removeprefix(LIVE) != but:
            times, _, owner = value.partition(" ")
            claim = TableClaim(table=name, run=as_value(key.removeprefix(LIVE)))
            with suppress(ValueError):
                began, until = map(moment_of, times.split("/"))
                whole = {"owner": as_value(owner), "since": began, "until": until}
                claim = claim.model_copy(update=whole)
            claims += [claim] if claim.until is None or claim.until > since else []
    return claims


def claim_in_words(claim: TableClaim) -> str:
    """Return which run loads the table, and for how long."""
    if claim.until is None:
        return f"run {claim.run} may be loading it: its tag {claim_key(claim.run)} cannot be read"
    return f"run {claim.run} of {claim.owner} is loading it, until {as_text(claim.until)} at the latest"


def refusal(claim: TableClaim) -> str:
    """Return why a table is not loaded while another run is on it, and what to do."""
    return (
        f"table {claim.table} is not loaded: {claim_in_words(claim)}. Wait for that, give the scenario's "
        "table another name, or say --share to load it beside that run, which the verdicts of both then say"
    )
