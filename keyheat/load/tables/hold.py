"""One run says on the tables that it loads that it does, for as long as it does.

AWS's tags are eventually consistent, and have no conditions. So a run that comes to a table writes its tag,
waits until it can read that, and then looks who else is there: of two that came at once, the same one stays
for both of them. Two that never see each other's tags in those seconds do so when they end, and say so.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TagResource.html
"""

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.ownership import (
    NO_ARN,
    Lease,
    TableRefused,
    as_text,
    leases_in,
    live_in,
    refusal,
    tags_of,
    user_name,
    why_unread,
)
from keyheat.load.tables.removal import LOOK_S, LOOKS

LEASE_S = 600.0
LOCAL_LEASE_S = 60.0  # on this machine nobody waits long for a run that was killed
LOOKS_IN_A_LEASE = 4


@dataclass(slots=True)
class HeldTable:
    """A table that this run says it loads; `loaded` once nobody was there before it."""

    name: str
    arn: str
    lease: Lease
    loaded: bool


@dataclass(slots=True, kw_only=True)
class HeldTables:
    """The tables of one run, which means to load for `lasts_s` seconds; 0: nobody knows, so it renews."""

    run_id: str
    lasts_s: float
    local: bool
    share: bool
    sleep: Callable[[float], None]
    now_s: Callable[[], float]
    say: Callable[[str], None]
    unknown: list[str] = field(default_factory=list)  # of which tables it is not known who else loads them
    _held: dict[str, HeldTable] = field(default_factory=dict)

    def lease(self) -> Lease:
        """What a run that comes to a table now says: until when it is over if nobody hears of it again."""
        since = self._now()
        until = since + timedelta(seconds=self.lasts_s + self._lease_s)
        return Lease(run=self.run_id, owner=user_name(), since=since, until=until)

    @property
    def names(self) -> list[str]:
        """The tables that say, or may say, that this run loads them."""
        return list(self._held)

    def made(self, name: str, arn: str | None, lease: Lease) -> None:
        """This run made the table, with its tag: nobody can have been there before."""
        if arn is None:
            self.cannot_know(name, NO_ARN)
        else:
            self._held[name] = HeldTable(name, arn, lease, loaded=True)

    def claim(self, client: Any, name: str, arn: str) -> None:
        """Come to a table that was there. Raises `TableRefused` where another run is, unless it is shared."""
        held = self._held[name] = HeldTable(name, arn, self.lease(), loaded=False)
        try:
            self._tag(client, held)
            tags = self._settled(client, held)
        except ClientError as error:
            if error.operation_name == "TagResource":
                del self._held[name]  # it was refused, so that there is none to take away
            self.cannot_know(name, why_unread(error, error.operation_name))
        except BotoCoreError as error:
            self.cannot_know(name, str(error))
        else:
            self._stay(client, held, tags)

    def cannot_know(self, name: str, why: str) -> None:
        """It is not seen whether another run loads the table, too."""
        self.unknown.append(f"whether another run loaded table {name} at the same time is not known: {why}")

    def keep_up(self, connect: Callable[[], Any]) -> None:
        """Say forever that the run is still there, whenever that is about to be over."""
        with closing(connect()) as client:  # made before the load: it takes time from whoever sends
            while True:
                self.sleep(self._lease_s / LOOKS_IN_A_LEASE)
                self.renew(client)

    def renew(self, client: Any) -> None:
        """Say on each table that is half forgotten that the run is still there."""
        now = self._now()
        for held in list(self._held.values()):
            assert held.lease.until is not None
            if held.lease.until - now < timedelta(seconds=self._lease_s / 2):
                held.lease = replace(held.lease, until=now + timedelta(seconds=self._lease_s))
                try:
                    self._tag(client, held)
                except (ClientError, BotoCoreError) as error:
                    self.say(f"table {held.name} does not say any more that this run loads it: {error}")

    def met(self, client: Any) -> dict[str, list[Lease]]:
        """The runs that were on a table of this one while it was, as far as tags tell; by table."""
        found = {held.name: self._met(client, held) for held in self._held.values()}
        return {name: others for name, others in found.items() if others}

    def forget(self, name: str) -> None:
        """The table is gone, and its tags with it."""
        self._held.pop(name, None)

    def release(self, client: Any) -> None:
        """Leave all tables: the last one takes all tags away, another one says that it was there."""
        while self._held:
            held = next(reversed(self._held.values()))
            try:
                self._leave(client, held)
            except client.exceptions.ResourceNotFoundException:
                pass  # it went with its tags
            except (ClientError, BotoCoreError) as error:
                self.say(f"{self._still_there(held)}: {error}")
            del self._held[held.name]

    def left_behind(self, *, but: Mapping[str, Any]) -> list[str]:
        """What the tables still say of this run; not of those that are to be deleted."""
        return [self._still_there(held) for held in self._held.values() if held.name not in but]

    def _met(self, client: Any, held: HeldTable) -> list[Lease]:
        try:
            tags = tags_of(client, held.arn)
        except ClientError as error:
            self.cannot_know(held.name, why_unread(error, error.operation_name))
            return []
        except BotoCoreError as error:
            self.cannot_know(held.name, str(error))
            return []
        if held.lease.key not in tags:
            self.cannot_know(held.name, "its tags do not say what this run wrote there")
        mine = replace(held.lease, until=self._now() + timedelta(seconds=1))  # with this second
        return [one for one in leases_in(tags) if one.run != self.run_id and one.met(mine)]

    def _stay(self, client: Any, held: HeldTable, tags: Mapping[str, str]) -> None:
        """Load the table, unless another run was there first."""
        others = live_in(tags, self._now(), but=self.run_id)
        first = next((one for one in others if one.before(held.lease)), None)
        if first is not None and not self.share:
            raise TableRefused(refusal(held.name, first))
        held.loaded = True
        for one in others:
            self.say(f"table {held.name} is shared: {one.in_words()}")
        over = [one.key for one in leases_in(tags) if one.run != self.run_id]
        if over and not others:
            with suppress(ClientError, BotoCoreError):  # they say nothing any more, and disturb nobody
                client.untag_resource(ResourceArn=held.arn, TagKeys=over)

    def _leave(self, client: Any, held: HeldTable) -> None:
        now, tags = self._now(), tags_of(client, held.arn)
        others = live_in(tags, now, but=self.run_id)
        if others and held.loaded:
            held.lease = replace(held.lease, until=now)
            self._tag(client, held)
        else:
            over = {held.lease.key, *(one.key for one in leases_in(tags) if not others)}
            client.untag_resource(ResourceArn=held.arn, TagKeys=sorted(over))

    def _settled(self, client: Any, held: HeldTable) -> dict[str, str]:
        """The table's tags, once they have had time to be seen by all."""
        tags: dict[str, str] = {}
        for look in range(LOOKS):
            if look or not self.local:
                self.sleep(LOOK_S)
            tags = tags_of(client, held.arn)
            if held.lease.key in tags:
                break
        return tags

    def _tag(self, client: Any, held: HeldTable) -> None:
        client.tag_resource(ResourceArn=held.arn, Tags=[held.lease.tag()])

    def _still_there(self, held: HeldTable) -> str:
        assert held.lease.until is not None
        return (
            f"table {held.name} says until {as_text(held.lease.until)} that this run loads it, and other "
            f"runs are refused until then; its tag {held.lease.key} says so"
        )

    @property
    def _lease_s(self) -> float:
        return LOCAL_LEASE_S if self.local else LEASE_S

    def _now(self) -> datetime:
        """To the second, as tags have it: what this run knows of itself is what others read."""
        return datetime.fromtimestamp(int(self.now_s()), UTC)
