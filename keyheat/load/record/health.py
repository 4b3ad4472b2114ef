"""What the generator noted of itself: a run in which it was the limit says nothing about the table.

Each second a process notes its CPU, how long it waited for one, how late its event loop woke and which users
do not come back; each request notes how late it started. `verdict.py` judges by these numbers.
"""

from dataclasses import dataclass, field
from math import inf
from typing import Any

from keyheat.load.record.latency import Latency

LAG_EVERY_S = 0.1
_LATENCIES = ("lag", "late")
_HIGHEST = ("cpu_percent_max", "stalled", "ended_s")
_OTHERWISE = ("began_s", "clock_jump_s")


@dataclass(slots=True)
class Health:
    """What the generator noted of itself, in one process or in several merged."""

    cpu_percent_max: float = 0.0
    starved_s: float = 0.0  # the process could have run, and waited for a CPU
    watched_s: float = 0.0  # how long that was watched; 0 where the system does not say
    stalled: int = 0  # users that did not come back, the most at one time
    silent_s: float = 0.0  # nothing was answered for so long while requests were in flight
    unanswered_s: float = 0.0  # that users waited in all for answers which did not come
    missed: int = 0  # closed loop: intended starts that passed while the user waited for an answer
    offered: float = 0.0  # sent, in what the target is in; what was refused counts as what it would have cost
    asked: float = 0.0  # what the schedule asked for, or the rate of the users that were there
    arrivals: int = 0  # open loop: tasks that were begun and came to their end
    task_s: float = 0.0  # open loop: how long those took in all
    no_user: int = 0  # open loop: arrivals that were dropped while all users were under way
    began_s: float = inf  # epoch seconds: the first user was there
    ended_s: float = 0.0  # epoch seconds: nothing more was asked for
    clock_jump_s: float = 0.0  # how far the wall clock was set while the load was under way, at most
    lag: Latency = field(default_factory=Latency)  # how late the event loop woke
    late: Latency = field(default_factory=Latency)  # actual start minus intended start
    problems: list[str] = field(default_factory=list)  # what makes the run say nothing about the table
    missing: list[str] = field(default_factory=list)  # what is not there, while the rest stays valid

    def merge(self, other: "Health") -> None:
        """Add all that another one holds."""
        self.lag.merge(other.lag)
        self.late.merge(other.late)
        self.began_s = min(self.began_s, other.began_s)
        self.note_jump(other.clock_jump_s)
        for name in self.__slots__:
            if name in _HIGHEST:
                setattr(self, name, max(getattr(self, name), getattr(other, name)))
            elif name not in (*_LATENCIES, *_OTHERWISE):
                setattr(self, name, getattr(self, name) + getattr(other, name))

    def note_jump(self, jump_s: float) -> None:
        """The wall clock is now so far from where it would be; the furthest is kept."""
        self.clock_jump_s = max(self.clock_jump_s, jump_s, key=abs)

    def to_wire(self) -> dict[str, Any]:
        """Plain values, as they travel from a worker to the master."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, **{name: fields[name].encoded() for name in _LATENCIES}}

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "Health":
        """What `to_wire` made."""
        return cls(**{**wire, **{name: Latency.decoded(wire[name]) for name in _LATENCIES}})
