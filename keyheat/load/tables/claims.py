"""Who is loading a table, as its tags say: so that no run loads it unawares, or deletes it under another.

Each run has a tag of its own, so that none overwrites what another says:

keyheat-live-RUN    SINCE/UNTIL OWNER    2026-11-22T10:00:00Z/2026-11-22T10:20:00Z ann

A run takes its tag away when it leaves the table; one that was killed is over at UNTIL. Where others are
still there it says instead that it ended: they are to know, at their own end, that they were not alone.

AWS's tags are eventually consistent, and have no conditions. So a run that comes to a table writes its tag,
waits until it can read that, and then looks who else is there: of two that came at once, the same one stays
for both of them. Two that never see each other's tags in those seconds do so when they end, and say so.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TagResource.html
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.load.tables.ownership import (
    NO_ARN,
    TableRefused,
    as_text,
    as_value,
    moment_of,
    tags_of,
    user_name,
    why_unread,
)

LIVE: Final = "keyheat-live-"
CLAIM_S: Final = 600.0
LOCAL_CLAIM_S: Final = 60.0  # on this machine nobody waits long for a run that was killed
LOOKS_IN_A_CLAIM: Final = 4
LOOKS, LOOK_S = 5, 2.0  # a table and its tags are seen a few seconds after they are there
FIRST: Final = datetime.min.replace(tzinfo=UTC)
EVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One run on one table. One whose tag cannot be read has been there ever since, and proves a run."""

    run: str
    owner: str = "unknown"
    since: datetime = FIRST
    until: datetime = EVER

    @property
    def key(self) -> str:
        return LIVE + self.run

    def tag(self) -> dict[str, str]:
        """Its tag, as CreateTable and TagResource take it."""
        value = f"{as_text(self.since)}/{as_text(self.until)} {self.owner}"
        return {"Key": self.key, "Value": as_value(value)}

    def met(self, other: "Claim") -> bool:
        """Whether both were there at one time."""
        return max(self.since, other.since) < min(self.until, other.until)

    def before(self, other: "Claim") -> bool:
        """Whether it was there first, so that the other one has to leave: both come to the same answer."""
        return (self.since, self.run) < (other.since, other.run)

    def to_json(self) -> dict[str, str | None]:
        times = {"since": self.since, "until": self.until}
        shown = {name: None if self.until == EVER else as_text(at) for name, at in times.items()}
        return {"run": as_value(self.run), "owner": self.owner, **shown}

    def in_words(self) -> str:
        """Which run loads the table, and for how long."""
        if self.until == EVER:
            return f"run {as_value(self.run)} may be loading it: its tag {as_value(self.key)} cannot be read"
        who = f"run {as_value(self.run)} of {self.owner}"
        return f"{who} is loading it, until {as_text(self.until)} at the latest"


def claims_in(tags: Mapping[str, str]) -> list[Claim]:
    """What a table's tags say of the runs on it, whoever wrote them."""
    return [_claim(key.removeprefix(LIVE), value) for key, value in tags.items() if key.startswith(LIVE)]


def _claim(run: str, value: str) -> Claim:
    times, _, owner = value.partition(" ")
    since, _, until = times.partition("/")
    try:
        return Claim(
            run=run, owner=as_value(owner or "unknown"), since=moment_of(since), until=moment_of(until)
        )
    except ValueError:
        return Claim(run=run)


def live_in(tags: Mapping[str, str], now: datetime, *, but: str | None = None) -> list[Claim]:
    """The runs that may still be loading a table, `but` one of them."""
    return [claim for claim in claims_in(tags) if claim.until > now and claim.run != but]


def refusal(name: str, claim: Claim) -> str:
    """Why a table is not loaded while another run is on it, and what somebody may do."""
    return (
        f"table {name} is not loaded: {claim.in_words()}. Wait for that, give the scenario's table another "
        "name, or say --share to load it beside that run, which the verdicts of both then say"
    )


@dataclass(slots=True)
class ClaimedTable:
    """A table that this run says it loads; `loaded` once nobody was there before it."""

    name: str
    arn: str
    claim: Claim
    loaded: bool


@dataclass(slots=True, kw_only=True)
class ClaimedTables:
    """The tables of one run, which means to load for `lasts_s` seconds; 0: nobody knows, so it renews."""

    run_id: str
    lasts_s: float
    local: bool
    share: bool
    sleep: Callable[[float], None]
    now_s: Callable[[], float]
    say: Callable[[str], None]
    unknown: list[str] = field(default_factory=list)  # of which tables it is not known who else loads them
    _claimed: dict[str, ClaimedTable] = field(default_factory=dict)

    def claim(self) -> Claim:
        """What a run that comes to a table now says: until when it is over if nobody hears of it again."""
        since = self._now()
        until = since + timedelta(seconds=self.lasts_s + self._claim_s)
        return Claim(run=self.run_id, owner=user_name(), since=since, until=until)

    def __bool__(self) -> bool:
        """Whether a table says, or may say, that this run loads it."""
        return bool(self._claimed)

    def made(self, name: str, arn: str | None, claim: Claim) -> None:
        """This run made the table, with its tag: nobody can have been there before."""
        if arn is None:
            self.cannot_know(name, NO_ARN)
        else:
            self._claimed[name] = ClaimedTable(name, arn, claim, loaded=True)

    def come_to(self, client: Any, name: str, arn: str) -> None:
        """Claim a table that was there. Raises `TableRefused` where another run is, unless it is shared."""
        table = self._claimed[name] = ClaimedTable(name, arn, self.claim(), loaded=False)
        try:
            self._tag(client, table)
            tags = self._settled(client, table)
        except ClientError as error:
            if error.operation_name == "TagResource":
                del self._claimed[name]  # it was refused, so that there is none to take away
            self.cannot_know(name, why_unread(error, error.operation_name))
        except BotoCoreError as error:
            self.cannot_know(name, str(error))
        else:
            self._stay(client, table, tags)

    def _stay(self, client: Any, table: ClaimedTable, tags: Mapping[str, str]) -> None:
        """Load the table, unless another run was there first."""
        others = live_in(tags, self._now(), but=self.run_id)
        first = next((claim for claim in others if claim.before(table.claim)), None)
        if first is not None and not self.share:
            raise TableRefused(refusal(table.name, first))
        table.loaded = True
        for claim in others:
            self.say(f"table {table.name} is shared: {claim.in_words()}")
        over = [claim.key for claim in claims_in(tags) if claim.run != self.run_id]
        if over and not others:
            with suppress(ClientError, BotoCoreError):  # they say nothing any more, and disturb nobody
                client.untag_resource(ResourceArn=table.arn, TagKeys=over)

    def cannot_know(self, name: str, why: str) -> None:
        """It is not seen whether another run loads the table, too."""
        self.unknown.append(f"whether another run loaded table {name} at the same time is not known: {why}")

    def keep_up(self, connect: Callable[[], Any]) -> None:
        """Say forever that the run is still there, whenever that is about to be over."""
        with closing(connect()) as client:  # made before the load: it takes time from whoever sends
            while True:
                self.sleep(self._claim_s / LOOKS_IN_A_CLAIM)
                self.renew(client)

    def renew(self, client: Any) -> None:
        """Say on each table that is half forgotten that the run is still there."""
        now = self._now()
        for table in list(self._claimed.values()):
            if table.claim.until - now < timedelta(seconds=self._claim_s / 2):
                table.claim = replace(table.claim, until=now + timedelta(seconds=self._claim_s))
                try:
                    self._tag(client, table)
                except (ClientError, BotoCoreError) as error:
                    self.say(f"table {table.name} does not say any more that this run loads it: {error}")

    def met(self, client: Any) -> list[dict[str, str | None]]:
        """The runs that were on a table of this one while it was, as `run.json` has them."""
        found = []
        for table in self._claimed.values():
            mine = replace(table.claim, until=self._now() + timedelta(seconds=1))  # with this second
            try:
                tags = tags_of(client, table.arn)
            except ClientError as error:
                self.cannot_know(table.name, why_unread(error, error.operation_name))
                continue
            except BotoCoreError as error:
                self.cannot_know(table.name, str(error))
                continue
            if table.claim.key not in tags:
                self.cannot_know(table.name, "its tags do not say what this run wrote there")
            others = [claim for claim in claims_in(tags) if claim.run != self.run_id and claim.met(mine)]
            found += [{"table": table.name, **claim.to_json()} for claim in others]
        return found

    def forget(self, name: str) -> None:
        """The table is gone, and its tags with it."""
        self._claimed.pop(name, None)

    def release(self, client: Any) -> None:
        """Leave all tables: the last run takes all tags away, another one says that it was there."""
        while self._claimed:
            table = next(reversed(self._claimed.values()))
            try:
                now, tags = self._now(), tags_of(client, table.arn)
                others = live_in(tags, now, but=self.run_id)
                if others and table.loaded:
                    table.claim = replace(table.claim, until=now)
                    self._tag(client, table)
                else:
                    over = {table.claim.key, *(claim.key for claim in claims_in(tags) if not others)}
                    client.untag_resource(ResourceArn=table.arn, TagKeys=sorted(over))
            except client.exceptions.ResourceNotFoundException:
                pass  # it went with its tags
            except (ClientError, BotoCoreError) as error:
                self.say(f"{_still_there(table)}: {error}")
            del self._claimed[table.name]

    def left_behind(self, *, but: Collection[str]) -> list[str]:
        """What the tables still say of this run; not of those that are to be deleted."""
        return [_still_there(table) for table in self._claimed.values() if table.name not in but]

    def _settled(self, client: Any, table: ClaimedTable) -> dict[str, str]:
        """The table's tags, once they have had time to be seen by all."""
        tags: dict[str, str] = {}
        for look in range(LOOKS):
            if look or not self.local:
                self.sleep(LOOK_S)
            tags = tags_of(client, table.arn)
            if table.claim.key in tags:
                break
        return tags

    def _tag(self, client: Any, table: ClaimedTable) -> None:
        client.tag_resource(ResourceArn=table.arn, Tags=[table.claim.tag()])

    @property
    def _claim_s(self) -> float:
        return LOCAL_CLAIM_S if self.local else CLAIM_S

    def _now(self) -> datetime:
        """To the second, as tags have it: what this run knows of itself is what others read."""
        return datetime.fromtimestamp(int(self.now_s()), UTC)


def _still_there(table: ClaimedTable) -> str:
    return (
        f"table {table.name} says until {as_text(table.claim.until)} that this run loads it, and other "
        f"runs are refused until then; its tag {table.claim.key} says so"
    )
