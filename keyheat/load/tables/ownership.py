"""Whose a table is, as its tags say: which run made it, and what must not be lost.

ours       an earlier run created it: it carries our tag
protected  deletion protection or point-in-time recovery is on, or it is replicated to other Regions: it is
           not meant for load tests, and each of our writes would be kept or copied, and paid for, elsewhere

What cannot be read proves nothing: such a table is treated as the worse of the two.

The tags by which a table says which run made it, for whom, and until when: even after that run crashed.
They are part of CreateTable, so that there is no moment in which the table is there without them.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.html
"""

import getpass
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.description import describe_table
from keyheat.runs.table_facts import replicas_of

RUN, OWNER, EXPIRES = "keyheat", "keyheat-owner", "keyheat-expires"
LONGEST_VALUE = 256
NOT_IN_A_VALUE = re.compile(r"[^\w .:/=+@-]")
"""https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html"""


def tags_for(run_id: str, *, owner: str, expires: datetime) -> list[dict[str, str]]:
    """The tags of a table that a run makes, as CreateTable takes them."""
    values = {RUN: run_id, OWNER: as_value(owner), EXPIRES: as_text(expires)}
    return [{"Key": key, "Value": value} for key, value in values.items()]


def tags_of(client: Any, arn: str) -> dict[str, str]:
    pages = client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
    return {tag["Key"]: tag["Value"] for page in pages for tag in page["Tags"]}


def tags_with(client: Any, arn: str, key: str) -> dict[str, str] | None:
    """The tags of a table; None if `key` is not among them, which are seen some seconds late."""
    tags = tags_of(client, arn)
    return tags if key in tags else None


def expiry_of(tags: Mapping[str, str]) -> datetime | None:
    """Return when the table expires; None if its tags do not say. Raises `ValueError`."""
    text = tags.get(EXPIRES)
    return None if text is None else moment_of(text)


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


DENIED = ("AccessDeniedException", "AccessDenied", "UnauthorizedOperation")
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

    @property
    def replicas(self) -> list[str]:
        """The Regions that each write is copied to."""
        return list(replicas_of(self.description))


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
    if table.replicas:
        reasons.append(f"it is a global table, and each write is copied to {', '.join(table.replicas)}")
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


class TableError(Exception):
    """A table cannot be made, described or loaded; every reason is a line of its own."""

    def __init__(self, *errors: str) -> None:
        super().__init__("\n".join(errors))
        self.errors = list(errors)


class TableRefused(TableError):
    """A table could be loaded, and must not be; the text names the option that allows it."""
