"""The watch beside a run: looks at what has come back, and ends the run at a cap or a broken rule.

It looks ahead. A stop takes effect a moment after it is decided, and what is in flight then still comes back;
so the run is stopped when a cap would be exceeded by what is consumed until then. The nearer a cap is, the
more often it looks.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import ceil, floor, inf
from typing import Final

import gevent

from keyheat.load.guard.budget import Caps
from keyheat.load.guard.meter import Meter, Source
from keyheat.load.guard.recent import RecentLooks
from keyheat.load.guard.stop_rules import broken
from keyheat.load.record.record import Record
from keyheat.runs.manifest import Stop
from keyheat.scenario.spec.part import AbortSpec

LOOKS_S: Final = (1.0, 0.5, 0.25, 0.1)
SOONEST_S: Final = 0.05
AHEAD: Final = 2.0  # a cap is looked for so many times further ahead than the next look: a load may grow
REACTION_S: Final = 0.05
"""From the decision until nothing more is sent, in the process that decides: the event loop's delay."""
WORKERS_REACT_S: Final = 0.3
"""The same where workers have to be told, and where the last that is known of them is a second old."""


@dataclass(slots=True)
class Watch:
    """The caps and the rules of one run, held against what is known of it."""

    caps: Caps
    rules: AbortSpec | None
    started_s: float  # epoch seconds at which the load began
    ends_s: float  # and at which it is over anyway; infinite where nobody knows
    record: Callable[[], Record]
    sources: Callable[[], Iterable[Source]]
    stop: Callable[[], None]
    clock: Callable[[], float]
    reaction_s: float = REACTION_S
    known_after_s: int = 0  # how far the newest whole second lies back, where pieces arrive
    stopped: Stop | None = None
    _meter: Meter = field(default_factory=Meter)
    _looks: RecentLooks | None = None
    _judged: int = 0
    _closed: bool = False

    def __post_init__(self) -> None:
        if self.rules is not None:
            self._looks = RecentLooks(over_s=self.rules.over_s, timed=self.rules.p99_ms is not None)

    def follow(self) -> None:
        """Look until the run is stopped or over. Run it in a greenlet of its own."""
        while (wait_s := self.look(self.clock())) is not None:
            gevent.sleep(wait_s)

    def look(self, now_s: float) -> float | None:
        """Judge what is known, and stop the run if it has to be; gives the seconds until the next look."""
        if self._closed or self.stopped is not None:
            return None
        self._meter.read(self.sources())
        stop = self._exceeded(now_s + self.reaction_s) or self._broken(now_s)
        if stop is None:
            return self._next_look_s(now_s)
        self._end(stop, now_s)
        return None

    def used_up(self) -> None:
        """No further request fits into what the run may consume."""
        now_s = self.clock()
        if not self._closed and self.stopped is None:
            self._end(self.caps.nearest(self.record().consumed, now_s - self.started_s), now_s)

    def _end(self, stop: Stop, now_s: float) -> None:
        self.stopped = Stop(rule=stop.rule, limit=stop.limit, seen=stop.seen, at_s=now_s - self.started_s)
        self.stop()

    def close(self) -> None:
        """The load is being ended for another reason: from now on nothing ends it early."""
        self._closed = True

    def outcome(self, ended_s: float) -> Stop | None:
        """Why the run was stopped, with what had come back in the end."""
        if self.stopped is None:
            return None
        return self.caps.as_it_ended(self.stopped, self.record().consumed, ended_s - self.started_s)

    def _next_look_s(self, now_s: float) -> float:
        """The longest wait after which no cap is exceeded yet, even if consumption grows a good deal."""
        for wait_s in LOOKS_S:
            if self._exceeded(now_s + AHEAD * wait_s + self.reaction_s) is None:
                return wait_s
        return SOONEST_S

    def _exceeded(self, at_s: float) -> Stop | None:
        """The cap that is exceeded if the load goes on until then."""
        at_s = min(at_s, self.ends_s)
        return self.caps.exceeded(self._meter.expected(at_s), at_s - self.started_s)

    def _broken(self, now_s: float) -> Stop | None:
        """The rule that is broken, looked at once in each second and over a whole window only."""
        until = floor(now_s) - self.known_after_s
        if self._looks is None or self.rules is None or until == self._judged:
            return None
        self._judged = until
        recent = self._looks.look(self.record(), now_s, until=until)
        if until - ceil(self.rules.over_s) < ceil(self.started_s + self.rules.after_s):
            return None
        return broken(self.rules, recent, now_s - self.started_s)


def ends_at(started_s: float, duration_s: float | None) -> float:
    """When a load is over that lasts so long; None: until somebody stops it."""
    return inf if duration_s is None else started_s + duration_s
