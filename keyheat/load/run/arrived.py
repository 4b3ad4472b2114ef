"""What has come from each worker so far, and in words what has not: a lost one leaves a hole in the load."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from keyheat.load.record.consumed import Consumed

PIECES_ARRIVE_S = 2  # how far the newest whole second of a worker lies back
NAME_CHARS = 8  # of the 32 random ones after a worker's host name


def short_name(client_id: str) -> str:
    """A worker's host name and the beginning of its number, as much as tells it from another."""
    host, _, number = client_id.rpartition("_")
    return f"{host}_{number[:NAME_CHARS]}" if host else client_id


@dataclass(slots=True)
class Arrived:
    """The pieces that came from one worker, and when, by the master's clock."""

    joined_s: float
    part: int = 0  # which part of an open loop's arrivals it sends
    share: float = 0.0  # of the run's budget that it may use up
    pieces: int = 0
    expected: int | None = None  # known once the last one has come
    users: int = 0  # that it had when it last reported
    in_flight: int = 0  # requests of theirs that had not come back then
    consumed: Consumed = field(default_factory=Consumed)  # in all
    last_s: float | None = None  # when the newest piece came
    left_early: bool = False  # it stopped by itself while the load went on

    def take(
        self,
        *,
        number: int,
        last: bool,
        users: int,
        now_s: float,
        in_flight: int = 0,
        consumed: Consumed | None = None,
    ) -> None:
        """One more piece has come."""
        self.pieces += 1
        self.in_flight = in_flight
        self.consumed = self.consumed.plus(consumed or Consumed())
        self.last_s = now_s
        if last:
            self.expected = number + 1
        else:
            self.users = users

    @property
    def whole(self) -> bool:
        """Whether every piece has come, and the last one said that it was the last."""
        return self.pieces == self.expected

    def silent_s(self, now_s: float) -> float:
        """Seconds since something was heard; 0 once all has come."""
        return 0.0 if self.whole else max(0.0, now_s - (self.last_s or self.joined_s))


def missing_words(client_id: str, arrived: Arrived, *, users: int, started_s: float) -> str | None:
    """What is missing from one worker, for the person who reads the report; None where nothing is.

    `users`: in all processes.
    """
    if arrived.whole and not arrived.left_early:
        return None
    name, since_s = short_name(client_id), arrived.last_s
    if since_s is None:
        return (
            f"worker {name} was lost before anything came from it: nothing that it sent is counted, "
            "and its part of the load is not known"
        )
    share = arrived.users / users if users else 0.0
    when = f"{datetime.fromtimestamp(since_s, UTC):%H:%M:%S} UTC, {since_s - started_s:.0f} s into the run"
    had = f"it had {arrived.users:,} of {users:,} users ({share:.0%} of the load)"
    pieces = f"{arrived.pieces:,} piece{'s' if arrived.pieces != 1 else ''} of its record came"
    if arrived.whole:
        return (
            f"worker {name} left the run at {when}: {had}; all {pieces}, so nothing that it sent is missing"
        )
    kept = f"{pieces}, one a second, and count; what it sent after the last one is not counted"
    return f"worker {name} was lost at {when}: {had}; {kept}"
