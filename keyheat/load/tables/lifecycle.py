"""The tables of one run, from before CreateTable until they are gone, or kept.

A table that was there before the run is never deleted. One that the run makes is noted before CreateTable is
sent: whatever ends the run, it is deleted, or its tags say since when it may be.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import time
from typing import Any

import gevent
from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.claims import Claim, ClaimedTables
from keyheat.load.tables.control import asking, control_client, create
from keyheat.load.tables.description import TablePatience, described, until_active, upkeep_in_words
from keyheat.load.tables.obstacles import Allowed, check_tables, obstacles
from keyheat.load.tables.ownership import (
    EXPIRES,
    RUN,
    TableError,
    Unread,
    as_text,
    expiry_of,
    tags_for,
    tags_read,
    user_name,
)
from keyheat.load.tables.removal import by_hand, identity_of, made_by, remove, replaced
from keyheat.load.transport.target import Target
from keyheat.plan.prices import load_prices
from keyheat.scenario.spec.tables import TableSpec
from keyheat.words import WAITING

POLL_S = 1.0
LOCAL_POLL_S = 0.05
Connect = Callable[[Target], Any]


def look_at_tables(
    target: Target,
    specs: Iterable[TableSpec],
    allowed: Allowed,
    connect: Connect = control_client,
    now_s: Callable[[], float] = time,
) -> None:
    """See, before anything starts, whether the target answers and all tables can and may be loaded.

    Raises `TableRefused` or `TableError` with everything that is in the way.
    """
    with asking(target, "the scenario's tables", connect) as client:
        found = [(spec, described(client, spec.name)) for spec in specs]
        check_tables(found, client, allowed, datetime.fromtimestamp(now_s(), UTC))


@dataclass(slots=True)
class RunTable:
    """A table that the run asked for: until when it lives, whether it was ever ACTIVE, and which it is."""

    spec: TableSpec
    expires: datetime
    claim: Claim
    active: bool = False
    identity: str | None = None


def prepare_table(target: Target, spec: TableSpec, run_id: str) -> dict[str, Any]:
    """Make sure that a table is there, and describe it; it stays. Raises `TableRefused` or `TableError`."""
    return RunTables(target=target, run_id=run_id, alone=True).prepare(spec)


@dataclass(slots=True, kw_only=True)
class RunTables:
    """What a run makes, finds and leaves behind.

    `lasts_s` is how long it means to load; `alone` says that nobody else can come to its tables; `say` tells
    a person something, `phase` that something begins.
    """

    target: Target
    run_id: str
    allowed: Allowed | None = None  # None: nothing beyond what everybody may
    keep: bool = False
    lasts_s: float = 0.0
    alone: bool = False
    say: Callable[[str], None] = lambda _words: None
    phase: Callable[[str, str], None] = lambda _name, _words: None
    sleep: Callable[[float], None] = gevent.sleep
    now_s: Callable[[], float] = time
    connect: Connect = control_client
    _made: dict[str, RunTable] = field(default_factory=dict)
    _claimed: ClaimedTables = field(init=False)

    def __post_init__(self) -> None:
        self._claimed = ClaimedTables(
            run_id=self.run_id, lasts_s=self.lasts_s, local=self.target.local, share=self._allowed.share,
            sleep=self.sleep, now_s=self.now_s, say=self.say,
        )  # fmt: skip

    def prepare(self, spec: TableSpec) -> dict[str, Any]:
        """The table, ACTIVE and as the scenario describes it, made where it was not there.

        Raises `TableRefused` where it is somebody else's, or another run's; `TableError` where it
        cannot be had.
        """
        with asking(self.target, f"table {spec.name}", self.connect) as client:
            description = described(client, spec.name)
            check_tables([(spec, description)], client, self._allowed, self._now())
            if description is None and not self._make(client, spec):  # somebody was quicker
                check_tables([(spec, described(client, spec.name))], client, self._allowed, self._now())
            active = until_active(client, spec.name, self._patience)
            if active is None:
                raise TableError(f"table {spec.name} was not active in {self._patience.limit_s:g} s")
            if spec.name in self._made:
                self._is_there(self._made[spec.name], active)
            elif wrong := obstacles(spec, active, self._allowed):
                raise TableError(*wrong)
            elif not self.alone:
                self._come_to(client, spec, active)
            return active

    def keep_up(self) -> None:
        """Say forever, on the tables themselves, that they are loaded. Run it in a greenlet of its own."""
        if not self.alone:
            self._claimed.keep_up(lambda: self.connect(self.target))

    def company(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Other runs on the tables meanwhile, as `run.json` has them, and what is not known of them."""
        if not self._claimed:
            return [], self._claimed.unknown
        try:
            with asking(self.target, "the run's tables", self.connect) as client:
                return self._claimed.met(client), self._claimed.unknown
        except TableError as error:
            return [], [f"whether other runs loaded the tables, too, is not known: {error}"]

    def leave(self) -> None:
        """Delete what the run made, or say what it costs to keep it. What cannot be deleted is said."""
        while self._made and not self.target.local:  # there, tables go with their endpoint
            one = next(reversed(self._made.values()))
            try:
                with asking(self.target, f"table {one.spec.name}", self.connect) as client:
                    self._put_back(client, one)
            except TableError as error:
                self.say(f"{error}. It may be there, and cost. {self._by_hand(one)}")
            del self._made[one.spec.name]
        if not self._claimed:
            return
        try:
            with asking(self.target, "the run's tables", self.connect) as client:
                self._claimed.release(client)
        except TableError as error:
            self.say(str(error))

    def left_behind(self) -> list[str]:
        """The tables that this run made and has neither deleted nor left as they were meant to be."""
        made = {} if self.target.local else self._made
        return [
            *(
                f"table {one.spec.name}, which this run made, is there, and costs. {self._by_hand(one)}"
                for one in made.values()
            ),
            *self._claimed.left_behind(but=made),
        ]

    @property
    def _allowed(self) -> Allowed:
        return self.allowed or Allowed(local=self.target.local)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.now_s(), UTC)

    def _keeps(self, one: RunTable) -> bool:
        return one.active and (self.keep or one.spec.on_end == "keep")

    @property
    def _patience(self) -> TablePatience:
        return TablePatience(
            sleep=self.sleep,
            clock=self.now_s,
            poll_s=LOCAL_POLL_S if self.target.local else POLL_S,
            show=lambda what, left_s: self.say(f"{WAITING} {what}, at most {left_s:.0f} s more"),
        )

    def _expires(self, spec: TableSpec) -> datetime:
        """When a table that is left behind may be swept away: so many hours after the load."""
        return self._now() + timedelta(seconds=self.lasts_s, hours=spec.expires_h)

    def _make(self, client: Any, spec: TableSpec) -> bool:
        """Ask for the table; False where somebody else did a moment before.

        It is this run's as well where the answer was lost, and the request sent again by the SDK was refused.
        """
        expires, claim = self._expires(spec), self._claimed.claim()
        self._made[spec.name] = RunTable(spec, expires, claim)
        tags = tags_for(self.run_id, owner=user_name(), expires=expires)
        made = create(client, spec, tags if self.alone else [*tags, claim.tag()])
        made = made or made_by(client, spec.name, self.run_id, self._patience)
        if not made:
            del self._made[spec.name]
        return made

    def _is_there(self, made: RunTable, description: Mapping[str, Any]) -> None:
        """A table that the run asked for can be loaded from now on."""
        made.active, made.identity = True, identity_of(description)
        if not self.alone:
            self._claimed.made(made.spec.name, description.get("TableArn"), made.claim)

    def _come_to(self, client: Any, spec: TableSpec, description: Mapping[str, Any]) -> None:
        """Say on a table that was there that this run loads it; one that is not ours stays untouched."""
        tags = tags_read(client, description)
        if isinstance(tags, Unread):
            self._claimed.cannot_know(spec.name, tags.why)
        elif RUN not in tags and not self.target.local:
            self._claimed.cannot_know(spec.name, "it is somebody else's, and no run writes tags there")
        else:
            self._claimed.come_to(client, spec.name, description["TableArn"])
            if not self.target.local:
                self._live_long_enough(client, spec, description["TableArn"], tags)

    def _live_long_enough(self, client: Any, spec: TableSpec, arn: str, tags: Mapping[str, str]) -> None:
        """Have a table of an earlier run not expire under this one."""
        try:
            expires = self._expires(spec)
            if (until := expiry_of(tags)) is None or until >= expires:
                return
            client.tag_resource(ResourceArn=arn, Tags=[{"Key": EXPIRES, "Value": as_text(expires)}])
        except (ClientError, BotoCoreError, ValueError) as error:
            self.say(f"table {spec.name} may expire during this run, and be swept away: {error}")

    def _put_back(self, client: Any, made: RunTable) -> None:
        """Keep or delete a table that the run made; another one that has its name by now is left alone."""
        description = described(client, made.spec.name)
        if description is not None and (words := replaced(description, made.identity)) is not None:
            self.say(words)
        elif self._keeps(made):
            self._kept(description, made)
        else:
            self._delete(client, made)

    def _kept(self, description: Mapping[str, Any] | None, made: RunTable) -> None:
        name = made.spec.name
        if description is None:
            self.say(f"table {name} is to be kept, and is not there any more: somebody deleted it")
            return
        self.say(
            f"table {name} is kept, and {upkeep_in_words(description, load_prices())}. {self._by_hand(made)}"
        )

    def _delete(self, client: Any, made: RunTable) -> None:
        name = made.spec.name
        self.phase("deleting", f"keyheat: deleting table {name}, which this run made")
        why = remove(client, name, self.run_id, self._patience, now=self._now(), new=not made.active)
        if why is None:
            self._claimed.forget(name)
            self.say(f"table {name}, which this run made, is deleted")
        else:
            self.say(f"table {name}, which this run made, is not deleted: {why}. {self._by_hand(made)}")

    def _by_hand(self, made: RunTable) -> str:
        """How somebody deletes the table later."""
        return (
            f"Delete it with: {by_hand(made.spec.name, self.target.region)}; "
            f"from {as_text(made.expires)} on, keyheat clean --orphans does it"
        )
