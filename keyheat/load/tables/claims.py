"""Claims: tags that say which run loads a table, so that no other run loads or deletes it unawares.

Each run has a tag of its own, so that none overwrites what another says:

keyheat-live-RUN    SINCE/UNTIL OWNER    2026-11-22T10:00:00Z/2026-11-22T10:20:00Z ann

A run takes its tag away when it leaves the table; one that was killed is over at UNTIL. Where others are
still there it says instead that it ended: they are to know, at their own end, that they were not alone.

AWS's tags are eventually consistent, and have no conditions. So a run that comes to a table writes its tag,
waits until it can read that, and then looks who else is there: of two that came at once, the same one stays
for both of them. Two that never see each other's tags in those seconds do so when they end, and say so.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TagResource.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from keyheat.load.tables.ownership import as_text, as_value, moment_of

LIVE: Final = "keyheat-live-"
CLAIM_S: Final = 600.0
LOCAL_CLAIM_S: Final = 60.0  # on this machine a killed run blocks its table for a minute
FIRST: Final = datetime.min.replace(tzinfo=UTC)
EVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One run on one table. An unreadable tag counts as a run without beginning or end."""

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

    def overlaps(self, other: "Claim") -> bool:
        return max(self.since, other.since) < min(self.until, other.until)

    def before(self, other: "Claim") -> bool:
        """Whether this run came first, so that the other one has to leave; both runs agree on the answer."""
        return (self.since, self.run) < (other.since, other.run)

    def to_json(self) -> dict[str, str | None]:
        times = {"since": self.since, "until": self.until}
        texts = {name: None if self.until == EVER else as_text(at) for name, at in times.items()}
        return {"run": as_value(self.run), "owner": self.owner, **texts}

    def in_words(self) -> str:
        """Return which run loads the table, and for how long."""
        if self.until == EVER:
            return f"run {as_value(self.run)} may be loading it: its tag {as_value(self.key)} cannot be read"
        who = f"run {as_value(self.run)} of {self.owner}"
        return f"{who} is loading it, until {as_text(self.until)} at the latest"


def claims_in(tags: Mapping[str, str]) -> list[Claim]:
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
    """Return why a table is not loaded while another run is on it, and what to do."""
    return (
        f"table {name} is not loaded: {claim.in_words()}. Wait for that, give the scenario's table another "
        "name, or say --share to load it beside that run, which the verdicts of both then say"
    )
