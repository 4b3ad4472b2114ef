"""Who is loading a table, as its tags say: so that no run loads it unawares, or deletes it under another.

Each run has a tag of its own, so that none overwrites what another says:

keyheat-live-RUN    SINCE/UNTIL OWNER    2026-11-22T10:00:00Z/2026-11-22T10:20:00Z ann

A run takes its tag away when it leaves the table; one that was killed is over at UNTIL. Where others are
still there it says instead that it ended: they are to know, at their own end, that they were not alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from keyheat.load.tables.tags import as_text, as_value, moment_of

LIVE = "keyheat-live-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One run on one table; without times where its tag cannot be read, which proves that it is there."""

    run: str
    owner: str = "unknown"
    since: datetime | None = None
    until: datetime | None = None

    @property
    def key(self) -> str:
        """Its tag's key."""
        return LIVE + self.run

    def tag(self) -> dict[str, str]:
        """Its tag, as CreateTable and TagResource take it."""
        assert self.since is not None, "only what is read may lack them"
        assert self.until is not None
        times = f"{as_text(self.since)}/{as_text(self.until)}"
        return {"Key": self.key, "Value": as_value(f"{times} {self.owner}")}

    def live(self, now: datetime) -> bool:
        """Whether the run may still be loading the table."""
        return self.until is None or self.until > now

    def met(self, other: "Lease") -> bool:
        """Whether both were there at one time."""
        starts = max(self._earliest, other._earliest)
        return self.live(starts) and other.live(starts)

    def before(self, other: "Lease") -> bool:
        """Whether it was there first, so that the other one has to leave: both come to the same answer."""
        return (self._earliest, self.run) < (other._earliest, other.run)

    def to_json(self) -> dict[str, str | None]:
        """As `run.json` keeps it."""
        times = {"since": self.since, "until": self.until}
        said = {name: None if moment is None else as_text(moment) for name, moment in times.items()}
        return {"run": as_value(self.run), "owner": self.owner, **said}

    def in_words(self) -> str:
        """Which run loads the table, and for how long."""
        if self.until is None:
            return f"run {as_value(self.run)} may be loading it: its tag {as_value(self.key)} cannot be read"
        who = f"run {as_value(self.run)} of {self.owner}"
        return f"{who} is loading it, until {as_text(self.until)} at the latest"

    @property
    def _earliest(self) -> datetime:
        return self.since or datetime.min.replace(tzinfo=UTC)


def leases_in(tags: Mapping[str, str]) -> list[Lease]:
    """What a table's tags say of the runs on it, whoever wrote them."""
    return [_lease(key.removeprefix(LIVE), value) for key, value in tags.items() if key.startswith(LIVE)]


def live_in(tags: Mapping[str, str], now: datetime, *, but: str | None = None) -> list[Lease]:
    """The runs that may still be loading a table, `but` one of them."""
    return [lease for lease in leases_in(tags) if lease.live(now) and lease.run != but]


def refusal(name: str, lease: Lease) -> str:
    """Why a table is not loaded while another run is on it, and what somebody may do."""
    return (
        f"table {name} is not loaded: {lease.in_words()}. Wait for that, give the scenario's table another "
        "name, or say --share to load it beside that run, which the verdicts of both then say"
    )


def _lease(run: str, value: str) -> Lease:
    times, _, owner = value.partition(" ")
    since, _, until = times.partition("/")
    try:
        return Lease(
            run=run, owner=as_value(owner or "unknown"), since=moment_of(since), until=moment_of(until)
        )
    except ValueError:
        return Lease(run=run)
