"""Find the tables that runs left behind by their tags; delete expired ones on request.

A run deletes its tables itself. What is found here is left by one that was killed, or was told to keep them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.answers import member
from keyheat.load.tables.description import DAY_H, TablePatience, describe_table, dollars_per_hour, until_gone
from keyheat.load.tables.ownership import (
    EXPIRES,
    OWNER,
    RUN,
    expiry_of,
    tags_of,
    why_unread,
)
from keyheat.load.tables.removal import kept_by_others
from keyheat.model.limits import LIST_TAGS_PER_S
from keyheat.plan.prices import Prices
from keyheat.runs.table_facts import mode_of

PACE_S = 2 / LIST_TAGS_PER_S
"""Seconds from one table to the next: half of what an account may ask, in which others ask, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A table that a run made. `kept` says why it is not deleted; None: its time is over, and it may be."""

    name: str
    run: str
    owner: str
    expires: datetime | None
    size_bytes: int
    mode: str
    dollars_per_day: float
    kept: str | None


@dataclass(slots=True, kw_only=True)
class OrphanSearchResult:
    """What a search came to: tables of ours, those whose time is not over, and what could not be read."""

    orphans: list[Orphan] = field(default_factory=list)
    not_over: list[Orphan] = field(default_factory=list)
    problems: dict[str, list[str]] = field(default_factory=dict)  # names of tables by what kept us from them

    @property
    def removable(self) -> list[Orphan]:
        return [orphan for orphan in self.orphans if orphan.kept is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanSearch:
    """How tables are looked at: with which client, at which moment, at which prices and pace."""

    client: Any
    now: datetime
    prices: Prices
    sleep: Callable[[float], None]
    pace_s: float = PACE_S

    def names(self) -> list[str]:
        """Name all tables of the Region, foreign ones included. Raises `ClientError` or `BotoCoreError`."""
        pages = self.client.get_paginator("list_tables").paginate()
        return [name for page in pages for name in page["TableNames"]]

    def find(self, names: Iterable[str]) -> OrphanSearchResult:
        """Look at each table; one that cannot be looked at is a problem, and does not end the search."""
        result = OrphanSearchResult()
        for number, name in enumerate(names):
            if number:
                self.sleep(self.pace_s)
            try:
                orphan = self.judge(name)
            except (ClientError, BotoCoreError) as error:
                result.problems.setdefault(why_unread(error), []).append(name)
            else:
                if orphan is not None:
                    over = orphan.expires is None or orphan.expires <= self.now
                    (result.orphans if over else result.not_over).append(orphan)
        return result

    def judge(self, name: str) -> Orphan | None:
        """The table as an orphan; None if it is not ours, or is gone. Raises as `names` does."""
        description = describe_table(self.client, name)
        if description is None:
            return None
        tags = tags_of(self.client, member("DescribeTable", description, "TableArn"))
        if RUN not in tags:
            return None
        try:
            expires, kept = expiry_of(tags), None
        except ValueError as error:
            expires, kept = None, f"its tag {EXPIRES} cannot be read: {error}"
        if kept is None:
            kept = self._kept(description, tags, expires)
        return Orphan(
            name=name,
            run=tags[RUN],
            owner=tags.get(OWNER, "unknown"),
            expires=expires,
            size_bytes=description.get("TableSizeBytes", 0),
            mode=mode_of(description),
            dollars_per_day=dollars_per_hour(description, self.prices) * DAY_H,
            kept=kept,
        )

    def _kept(
        self, description: dict[str, Any], tags: dict[str, str], expires: datetime | None
    ) -> str | None:
        if expires is None:
            return f"it has no tag {EXPIRES}"
        if expires > self.now:
            return "its time is not over"
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

    def see_gone(self, orphan: Orphan, patience: TablePatience) -> str | None:
        """Wait until a table that is being deleted is gone; returns what is the matter where it is not."""
        try:
            gone = until_gone(self.client, orphan.name, patience)
        except (ClientError, BotoCoreError) as error:
            return f"it is being deleted, and cannot be watched: {error}"
        return None if gone else f"it is being deleted, and was not gone within {patience.limit_s:g} s"
