"""Delete tables that runs made: a run's own at its end, and expired ones that earlier runs left behind.

Only a table whose tags name a run is deleted, and no protected one. A run deletes its tables itself: those
that are found later are left by one that was killed, or was told to keep them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.answers import member
from keyheat.load.tables.control import (
    LOOKS,
    TablePatience,
    describe_table,
    look_again,
    until_active,
    until_gone,
)
from keyheat.load.tables.ownership import (
    EXPIRES,
    OWNER,
    RUN,
    Standing,
    Unread,
    claim_in_words,
    live_in,
    moment_of,
    protections,
    recovery_of,
    tags_of,
    why_unread,
)
from keyheat.model.limits import LIST_TAGS_PER_S
from keyheat.plan.prices import Prices
from keyheat.runs.table_facts import table_facts
from keyheat.words import Capacity

DAY_H = 24
NOT_OVER = "its time is not over"
PACE_S = 2 / LIST_TAGS_PER_S
"""Seconds from one table to the next: half of what an account may ask, in which others ask, too."""


class NotOurs(Exception):
    """A table has the name of one that the run made, and not its tag."""


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


def own_tags(
    client: Any, description: Mapping[str, Any], run_id: str, patience: TablePatience
) -> dict[str, str]:
    """The tags of the run's table, which may be seen some seconds late. Raises `NotOurs`."""
    arn = member("DescribeTable", description, "TableArn")

    def look() -> dict[str, str] | None:
        tags = tags_of(client, arn)
        return tags if RUN in tags else None

    tags = look_again(look, patience.sleep) or {}
    if tags.get(RUN) != run_id:
        raise NotOurs(f"its tag {RUN!r} is {tags.get(RUN)!r}, and that of this run was {run_id!r}")
    return tags


def by_hand(name: str, region: str) -> str:
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
    claims = map(claim_in_words, live_in(table.name, tags, now, but=run_id))
    return "; ".join([*protections(table), *claims]) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A table that a run made. `kept` says why it is not deleted; None: its time is over, and it may be."""

    name: str
    run: str
    owner: str
    expires: datetime | None
    size_bytes: int
    dollars_per_day: float
    kept: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanSearch:
    """How tables are looked at: with which client, at which moment, at which prices and pace."""

    client: Any
    now: datetime
    prices: Prices
    sleep: Callable[[float], None]
    pace_s: float = PACE_S
    problems: dict[str, list[str]] = field(default_factory=dict)  # names of tables by what kept us from them

    def names(self) -> list[str]:
        """Name all tables of the Region, foreign ones included. Raises `ClientError` or `BotoCoreError`."""
        pages = self.client.get_paginator("list_tables").paginate()
        return [name for page in pages for name in page["TableNames"]]

    def find(self, names: Iterable[str]) -> list[Orphan]:
        """The tables of ours; one that cannot be looked at is a problem, and does not end the search."""
        orphans = []
        for number, name in enumerate(names):
            if number:
                self.sleep(self.pace_s)
            try:
                orphan = self.judge(name)
            except (ClientError, BotoCoreError) as error:
                self.problems.setdefault(why_unread(error), []).append(name)
            else:
                orphans += [] if orphan is None else [orphan]
        return orphans

    def judge(self, name: str) -> Orphan | None:
        """The table as an orphan; None if it is not ours, or is gone. Raises as `names` does."""
        description = describe_table(self.client, name)
        if description is None:
            return None
        tags = tags_of(self.client, member("DescribeTable", description, "TableArn"))
        if RUN not in tags:
            return None
        try:
            expires = moment_of(tags[EXPIRES]) if EXPIRES in tags else None
            kept = self._kept(description, tags, expires)
        except ValueError as error:
            expires, kept = None, f"its tag {EXPIRES} cannot be read: {error}"
        return Orphan(
            name=name,
            run=tags[RUN],
            owner=tags.get(OWNER, "unknown"),
            expires=expires,
            size_bytes=description.get("TableSizeBytes", 0),
            dollars_per_day=dollars_per_hour(description, self.prices) * DAY_H,
            kept=kept,
        )

    def _kept(
        self, description: dict[str, Any], tags: dict[str, str], expires: datetime | None
    ) -> str | None:
        if expires is None:
            return f"it has no tag {EXPIRES}"
        if expires > self.now:
            return NOT_OVER
        if description["TableStatus"] != "ACTIVE":
            return f"its status is {description['TableStatus']}"
        return kept_by_others(self.client, description, tags, self.now, None)

    def delete(self, orphan: Orphan) -> str | None:
        """Have it deleted if it still may be; returns why it was not."""
        try:
            again = self.judge(orphan.name)
            if again is None or again.run != orphan.run:
                return "another table has its name by now" if again else "it was deleted meanwhile"
            if again.kept is None:
                self.client.delete_table(TableName=orphan.name)
            return again.kept
        except (ClientError, BotoCoreError) as error:
            return str(error)


def provisioned_in(description: Mapping[str, Any]) -> list[Capacity]:
    """Provisioned units per second of a table and its indexes; none in on-demand mode."""
    facts = table_facts(description)
    return [pair for pair in (facts.provisioned, *(index.provisioned for index in facts.indexes)) if pair]


def dollars_per_hour(description: Mapping[str, Any], prices: Prices) -> float:
    """Dollars an hour at a price list's prices, from DescribeTable's answer; nothing in on-demand mode."""
    pairs = provisioned_in(description)
    read, write = sum(pair.read or 0.0 for pair in pairs), sum(pair.write or 0.0 for pair in pairs)
    return prices.provisioned.hourly(Capacity(read, write))


def upkeep_in_words(description: Mapping[str, Any], prices: Prices) -> str:
    """Return what a table costs by the hour and by the day, for a sentence that begins with the table."""
    hourly = dollars_per_hour(description, prices)
    if not hourly:
        return "costs only its storage while it is not used"
    return f"costs ${hourly:.4f} an hour, ${hourly * DAY_H:.2f} a day ({prices.title}), used or not"
