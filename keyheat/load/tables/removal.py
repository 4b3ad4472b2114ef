"""Delete the table of a run: only one whose tag names the run, and no protected one."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.answers import member
from keyheat.load.tables.claims import live_in
from keyheat.load.tables.description import (
    LOOKS,
    TablePatience,
    describe_table,
    look_again,
    until_active,
    until_gone,
)
from keyheat.load.tables.ownership import RUN, Standing, Unread, protections, recovery_of, tags_with


def remove(
    client: Any, name: str, run_id: str, patience: TablePatience, *, now: datetime, new: bool
) -> str | None:
    """Delete the table that the run made, and wait until it is gone; returns why it was not.

    A table that is not there needs no deletion; `new` is one that may only not be seen yet. One that is still
    being made is waited for, since until then DynamoDB does not delete it. Raises `NotOurs`.
    """
    try:
        description = look_again(lambda: describe_table(client, name), patience.sleep, LOOKS if new else 1)
        if description is None:
            return None
        tags = own_tags(client, description, run_id, patience)
        if (why := kept_by_others(client, description, tags, now, run_id)) is not None:
            return why
        if description["TableStatus"] != "DELETING":
            if until_active(client, name, patience) is None:
                return f"it was not active within {patience.limit_s:g} s, and is not deleted before it is"
            client.delete_table(TableName=name)
        gone = until_gone(client, name, patience)
        return None if gone else f"it was being deleted, and was not gone within {patience.limit_s:g} s"
    except client.exceptions.ResourceNotFoundException:
        return None  # another process was quicker
    except (ClientError, BotoCoreError) as error:
        return str(error)


class NotOurs(Exception):
    """A table has the name of one that the run made, and not its tag."""


def own_tags(
    client: Any, description: Mapping[str, Any], run_id: str, patience: TablePatience
) -> dict[str, str]:
    """The tags of the run's table, which may be seen some seconds late. Raises `NotOurs`."""
    arn = member("DescribeTable", description, "TableArn")
    tags = look_again(lambda: tags_with(client, arn, RUN), patience.sleep) or {}
    if tags.get(RUN) != run_id:
        raise NotOurs(f"its tag {RUN!r} is {tags.get(RUN)!r}, and that of this run was {run_id!r}")
    return tags


def was_created_by(client: Any, name: str, run_id: str, patience: TablePatience) -> bool:
    """Whether the run made the table that is there."""
    try:
        description = look_again(lambda: describe_table(client, name), patience.sleep)
        return description is not None and bool(own_tags(client, description, run_id, patience))
    except (NotOurs, ClientError, BotoCoreError):
        return False


def by_hand(name: str, region: str) -> str:
    """The command with which a user deletes the table."""
    return f"aws dynamodb delete-table --table-name {name} --region {region}"


def kept_by_others(
    client: Any, description: Mapping[str, Any], tags: Mapping[str, str], now: datetime, run_id: str | None
) -> str | None:
    """Why a table of ours is not deleted: it is protected, or in use; `run_id` is the deleting run.

    A run deletes its own also where backups cannot be read.
    """
    recovery = recovery_of(client, description)
    if run_id is not None and isinstance(recovery, Unread):
        recovery = False
    table = Standing(description=description, tags=tags, recovery=recovery)
    claims = (claim.in_words() for claim in live_in(tags, now, but=run_id))
    return "; ".join([*protections(table), *claims]) or None
