"""The tables of one run, from before CreateTable until they are gone, or kept.

A table that was there before the run is never deleted. One that the run makes is noted before CreateTable is
sent: whatever ends the run, it is deleted, or its tags say since when it may be. While the run loads a table,
a tag says so (`ownership`): written when it comes, renewed while the run goes on, taken away when it leaves.
"""

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import time
from typing import Any

import gevent
from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.options import Guards, TableError
from keyheat.load.tables.control import (
    Connect,
    TablePatience,
    control_client,
    create,
    describe_table,
    look_again,
    table_client,
    until_active,
)
from keyheat.load.tables.existing import check_tables
from keyheat.load.tables.ownership import (
    CLAIM_S,
    LIVE,
    LOCAL_CLAIM_S,
    NO_ARN,
    RUN,
    Standing,
    Unread,
    as_text,
    claim_in_words,
    claim_key,
    claim_tag,
    live_in,
    look_at,
    tags_for,
    tags_of,
    tags_read,
    user_name,
    why_unread,
)
from keyheat.load.tables.removal import NotOurs, by_hand, own_tags, remove, upkeep_in_words
from keyheat.load.transport.target import Target
from keyheat.plan.prices import load_prices
from keyheat.runs.manifest import TableClaim
from keyheat.scenario.spec.tables import TableSpec
from keyheat.words import WAITING

POLL_S = 1.0
LOCAL_POLL_S = 0.05


@dataclass(slots=True)
class RunTable:
    """A table of the run: whether the run made it, and what its tags say of the run."""

    spec: TableSpec
    since: datetime
    until: datetime  # the run's claim ends by itself
    expires: datetime
    created: bool  # CreateTable was asked for it
    active: bool = False
    arn: str | None = None  # of a table whose tags say that the run loads it


@dataclass(slots=True, kw_only=True)
class RunTables:
    """What a run makes, finds and leaves behind.

    `lasts_s` is how long it means to load (0: unknown); `alone` says that no other run can reach its tables;
    `say` prints a message, `phase` announces a phase.
    """

    target: Target
    run_id: str
    guards: Guards = field(default_factory=Guards)
    lasts_s: float = 0.0
    alone: bool = False
    say: Callable[[str], None] = lambda _words: None
    phase: Callable[[str, str], None] = lambda _name, _words: None
    sleep: Callable[[float], None] = gevent.sleep
    now_s: Callable[[], float] = time
    connect: Connect = control_client
    _tables: dict[str, RunTable] = field(default_factory=dict)
    _unknown: list[str] = field(default_factory=list)  # of which tables it is not known who else loads them

    def prepare(self, spec: TableSpec) -> dict[str, Any]:
        """The table, ACTIVE and as the scenario describes it, made where it was not there.

        Raises `TableRefused` if Keyheat did not create it, or another run did; `TableError` where it
        cannot be had.
        """
        with table_client(self.target, f"table {spec.name}", self.connect) as client:
            if self._check(client, spec) is None:
                self._make(client, spec)
            active = until_active(client, spec.name, self._patience)
            if active is None:
                raise TableError(f"table {spec.name} was not active in {self._patience.limit_s:g} s")
            table = self._tables.get(spec.name)
            if table is not None:  # which this run made: no other was there before
                table.active = True
                table.arn = None if self.alone else active.get("TableArn")
                if table.arn is None and not self.alone:
                    self._cannot_know(spec.name, NO_ARN)
            elif (there := self._check(client, spec)) is not None and not self.alone:  # as it is by now
                self._come_to(client, spec, there)
            return active

    def _check(self, client: Any, spec: TableSpec) -> Standing | None:
        table = look_at(client, spec.name)
        check_tables([(spec, table)], self.guards, self._now(), local=self.target.local)
        return table

    def leave(self) -> None:
        """Delete what the run made, or say what it costs to keep it. What cannot be deleted is said."""
        for table in reversed(self._created()):
            try:
                with table_client(self.target, f"table {table.spec.name}", self.connect) as client:
                    self._put_back(client, table)
            except NotOurs as error:
                self.say(f"table {table.spec.name} is another one by now, and left alone: {error}")
            except TableError as error:
                self.say(f"{error}. It may be there, and cost. {self._by_hand(table)}")
            table.created = False
        if not (claimed := self._claimed()):
            return
        try:
            with table_client(self.target, "the run's tables", self.connect) as client:
                for table in reversed(claimed):
                    self._release(client, table)
                    table.arn = None
        except TableError as error:
            self.say(str(error))

    def left_behind(self) -> list[str]:
        """Return what this run has neither deleted nor left as it was meant to be, with what to do."""
        created = self._created()
        kept = [self._claim_words(table) for table in self._claimed() if table not in created]
        return [
            f"table {table.spec.name}, which this run made, is there, and costs. {self._by_hand(table)}"
            for table in created
        ] + kept

    def _created(self) -> list[RunTable]:
        """The tables that are to be put back; on this machine they go with their endpoint."""
        return [] if self.target.local else [table for table in self._tables.values() if table.created]

    def _claimed(self) -> list[RunTable]:
        return [table for table in self._tables.values() if table.arn is not None]

    @property
    def _patience(self) -> TablePatience:
        return TablePatience(
            sleep=self.sleep,
            clock=self.now_s,
            poll_s=LOCAL_POLL_S if self.target.local else POLL_S,
            show=lambda what, left_s: self.say(f"{WAITING} {what}, at most {left_s:.0f} s more"),
        )

    @property
    def _claim_s(self) -> float:
        return LOCAL_CLAIM_S if self.target.local else CLAIM_S

    def _now(self) -> datetime:
        """To the second, as tags have it: what this run knows of itself is what others read."""
        return datetime.fromtimestamp(int(self.now_s()), UTC)

    def _table(self, spec: TableSpec, *, created: bool) -> RunTable:
        """Register a table of the run; its claim ends by itself if the run is killed."""
        now, lasts = self._now(), timedelta(seconds=self.lasts_s)
        until = now + lasts + timedelta(seconds=self._claim_s)
        table = RunTable(spec, now, until, now + lasts + timedelta(hours=spec.expires_h), created)
        self._tables[spec.name] = table
        return table

    def _make(self, client: Any, spec: TableSpec) -> None:
        """Request the table, unless another process did a moment before.

        It is this run's as well where the answer was lost, and the request sent again by the SDK was refused.
        """
        table = self._table(spec, created=True)
        tags = tags_for(self.run_id, owner=user_name(), expires=table.expires)
        if not self.alone:
            tags.append(claim_tag(self.run_id, table.since, table.until))
        if create(client, spec, tags):
            return
        with suppress(NotOurs, ClientError, BotoCoreError):
            there = look_again(lambda: describe_table(client, spec.name), self.sleep)
            if there is not None and own_tags(client, there, self.run_id, self._patience):
                return
        del self._tables[spec.name]

    def _come_to(self, client: Any, spec: TableSpec, there: Standing) -> None:
        """Say on a table that was there that this run loads it; one that is not ours stays untouched."""
        if isinstance(there.tags, Unread):
            return self._cannot_know(spec.name, there.tags.why)
        if RUN not in there.tags and not self.target.local:
            return self._cannot_know(spec.name, "Keyheat did not create it, and no run writes tags there")
        table = self._table(spec, created=False)
        table.arn = there.description["TableArn"]
        for claim in live_in(spec.name, there.tags, self._now(), but=self.run_id):
            self.say(f"table {spec.name} is shared: {claim_in_words(claim)}")
        try:
            self._tag(client, table)
        except (ClientError, BotoCoreError) as error:
            if isinstance(error, ClientError):
                table.arn = None  # the tag was refused, so there is no tag to remove
            self._cannot_know(spec.name, why_unread(error))

    def keep_up(self) -> None:
        """Say forever, on the tables themselves, that they are loaded. Run it in a greenlet of its own."""
        if self.alone:
            return
        with closing(self.connect(self.target)) as client:  # before the load: making a client delays requests
            while True:
                self.sleep(self._claim_s / 2)
                until = self._now() + timedelta(seconds=self._claim_s)
                for table in self._claimed():
                    if table.until >= until:
                        continue
                    table.until = until
                    try:
                        self._tag(client, table)
                    except (ClientError, BotoCoreError) as error:
                        name = table.spec.name
                        self.say(f"table {name} does not say any more that this run loads it: {error}")

    def company(self) -> tuple[list[TableClaim], list[str]]:
        """Other runs on the tables meanwhile, and what is not known of them."""
        others = list[TableClaim]()
        if not self._claimed():
            return others, self._unknown
        try:
            with table_client(self.target, "the run's tables", self.connect) as client:
                for table in self._claimed():
                    name = table.spec.name
                    tags = tags_read(client, {"TableArn": table.arn})
                    if isinstance(tags, Unread):
                        self._cannot_know(name, tags.why)
                        continue
                    if claim_key(self.run_id) not in tags:
                        self._cannot_know(name, "its tags do not say what this run wrote there")
                    others += live_in(name, tags, table.since, but=self.run_id)
        except TableError as error:
            self._unknown.append(f"whether other runs loaded the tables, too, is not known: {error}")
        return others, self._unknown

    def _release(self, client: Any, table: RunTable) -> None:
        """Leave a table: the last run takes all tags away, another one says that it was there."""
        try:
            now, tags = self._now(), tags_of(client, str(table.arn))
            if live_in(table.spec.name, tags, now, but=self.run_id):
                table.until = now
                self._tag(client, table)
            else:
                over = {claim_key(self.run_id), *(key for key in tags if key.startswith(LIVE))}
                client.untag_resource(ResourceArn=table.arn, TagKeys=sorted(over))
        except client.exceptions.ResourceNotFoundException:
            return  # it went with its tags
        except (ClientError, BotoCoreError) as error:
            self.say(f"{self._claim_words(table)}: {error}")

    def _tag(self, client: Any, table: RunTable) -> None:
        claim = claim_tag(self.run_id, table.since, table.until)
        client.tag_resource(ResourceArn=table.arn, Tags=[claim])

    def _claim_words(self, table: RunTable) -> str:
        return (
            f"table {table.spec.name} stays claimed by this run until {as_text(table.until)} (its tag "
            f"{claim_key(self.run_id)}); other runs are refused until then"
        )

    def _cannot_know(self, name: str, why: str) -> None:
        """It is not seen whether another run loads the table, too."""
        self._unknown.append(f"whether another run loaded table {name} at the same time is not known: {why}")

    def _put_back(self, client: Any, table: RunTable) -> None:
        """Keep or delete a table that the run made. Raises `NotOurs`."""
        name = table.spec.name
        if not (table.active and (self.guards.keep_table or table.spec.on_end == "keep")):
            self._delete(client, table)
        elif (description := describe_table(client, name)) is None:
            self.say(f"table {name} was to be kept, but was deleted during the run")
        else:
            own_tags(client, description, self.run_id, self._patience)
            costs = upkeep_in_words(description, load_prices())
            self.say(f"table {name} is kept, and {costs}. {self._by_hand(table)}")

    def _delete(self, client: Any, table: RunTable) -> None:
        name = table.spec.name
        self.phase("deleting", f"keyheat: deleting table {name}, which this run made")
        why = remove(client, name, self.run_id, self._patience, now=self._now(), new=not table.active)
        if why is None:
            table.arn = None  # its tags are gone with it
            self.say(f"table {name}, which this run made, is deleted")
        else:
            self.say(f"table {name}, which this run made, is not deleted: {why}. {self._by_hand(table)}")

    def _by_hand(self, table: RunTable) -> str:
        return (
            f"Delete it with: {by_hand(table.spec.name, self.target.region)}; "
            f"from {as_text(table.expires)} on, keyheat clean --orphans does it"
        )
