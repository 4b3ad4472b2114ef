"""Whether the generator was the limit: what it noted of itself, and the verdict, with its checks in words.

A fault is the generator's own: its CPU, its event loop, users that never come back, too few users for an open
loop. A slow endpoint is not: in a closed loop fewer requests are then sent, and in an open one more users are
under way. One that hangs is: users wait for answers that never come, and what was not sent meanwhile says
nothing about the table. What was sent does: a throttle with DynamoDB's own reason stays one (`fell_behind`).

Each second a process notes its CPU, how long it waited for one and how late its event loop woke; each
request notes how late it started, and how long it waited for an answer in vain.
"""

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, inf, sqrt
from pathlib import Path
from typing import Any, Final

import psutil

from keyheat.load.record.rows import Latency
from keyheat.load.schedule import HELD_TO
from keyheat.runs.manifest import GeneratorHealth
from keyheat.scenario.spec.tasks import LoadSpec
from keyheat.terms import CPU_WAIT, DEMAND, P99

LAG_EVERY_S = 0.1
_LATENCIES = ("lag", "late")
_HIGHEST = ("cpu_percent_max", "ended_s")


@dataclass(slots=True)
class Health:
    """What the generator noted of itself, in one process or in several merged."""

    cpu_percent_max: float = 0.0
    starved_s: float = 0.0  # the process could have run, and waited for a CPU
    watched_s: float = 0.0  # how long that was watched; 0 where the system does not say
    unanswered: int = 0  # requests whose answer did not come in time
    unanswered_s: float = 0.0  # that users waited in all for answers which did not come
    missed: int = 0  # closed loop: intended starts that passed while the user waited for an answer
    offered: float = 0.0  # begun, in what the target is in; what is refused counts as what it would have cost
    sent: float = 0.0  # of that, what has gone out: the rest is held back by the rate of its own client
    demand: float = 0.0  # by the schedule, or by the rate of the users that were there
    arrivals: int = 0  # open loop: tasks that were begun
    held_s: float = 0.0  # that users waited for the rate of their own client, in the adaptive mode
    no_user: int = 0  # open loop: arrivals that were dropped while all users were under way
    began_s: float = inf  # epoch seconds: the first user was there
    ended_s: float = 0.0  # epoch seconds: nothing more was asked for
    lag: Latency = field(default_factory=Latency)  # how late the event loop woke
    late: Latency = field(default_factory=Latency)  # actual start minus intended start
    problems: list[str] = field(default_factory=list)  # what makes the run say nothing about the table
    missing: list[str] = field(default_factory=list)  # what is not there, while the rest stays valid

    def merge(self, other: "Health") -> None:
        self.lag.merge(other.lag)
        self.late.merge(other.late)
        self.began_s = min(self.began_s, other.began_s)
        for name in self.__slots__:
            if name in _HIGHEST:
                setattr(self, name, max(getattr(self, name), getattr(other, name)))
            elif name not in (*_LATENCIES, "began_s"):
                setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_wire(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, **{name: fields[name].encoded() for name in _LATENCIES}}

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "Health":
        return cls(**{**wire, **{name: Latency.decoded(wire[name]) for name in _LATENCIES}})


CPU_PERCENT = 90.0
STARVED_SHARE = 0.25
LOOP_LAG_P99_MS = 250.0
STOOD_STILL_S = 2.0
CLOSED_SHARE = 0.95
"""In a closed loop a little less is sent than asked for where answers take longer than the interval."""
OPEN_SHARE = 0.98
UNANSWERED_SHARE = 0.1
"""Of requests, or of the users' time: a load that hangs for so long is another one than was asked for."""
SIGMAS = 3.0
"""How far chance takes the number of random arrivals from what was asked for."""
HELD_SHARE = 0.5
"""Of its users' time, from which a client's own rate is what the load waits for."""
NO_LIMIT = "which does not limit the load generator"
ROOM = 1.2
"""Users beyond what it takes on average: arrivals come in groups."""


def verdict_on(
    health: Health, *, load: LoadSpec, users: int, processes: int, attempts: int
) -> GeneratorHealth:
    """Judge the generator by what it noted while it loaded."""
    judge = _Judge(health, load, users, processes, attempts)
    late = [*judge.faults()]
    other = [*health.problems, *(["nothing was sent"] if not attempts else [])]
    faults = [*other, *late]
    return GeneratorHealth(
        bound=bool(faults),
        fell_behind=bool(late) and not other,
        checks=(*faults, *judge.facts()),
        missing=tuple(health.missing),
        asked_per_s=judge.asked_per_s,
        achieved_per_s=judge.achieved_per_s,
        held_back_per_s=judge.held_back_per_s,
        target_unit=load.target_unit,
        late_ms_p99=health.late.percentile_us(99) / 1000,
    )


class _Judge:
    def __init__(self, health: Health, load: LoadSpec, users: int, processes: int, attempts: int) -> None:
        self._health, self._load, self._users = health, load, users
        duration_s = max(0.0, health.ended_s - health.began_s)
        each_s = 1 / duration_s if duration_s else 0.0
        self.asked_per_s, self.achieved_per_s = health.demand * each_s, health.sent * each_s
        self.held_back_per_s = max(0.0, health.offered - health.sent) * each_s if health.held_s else 0.0
        self._starved_share = health.starved_s / health.watched_s if health.watched_s else None
        self._unanswered_share = health.unanswered / attempts if attempts else 0.0
        self._waited_share = health.unanswered_s * each_s / users
        self._lag_p99_ms = health.lag.percentile_us(99) / 1000
        self._held_back = health.held_s > HELD_SHARE * users * duration_s  # mostly, by the client's own rate
        # Less was begun than asked for, by more than is allowed and by more than chance and what is due in
        # just this moment explain. What a client holds back was begun: its rate is the client's own.
        share = OPEN_SHARE if load.open_loop else CLOSED_SHARE
        self._behind = health.offered < share * health.demand - self._chance(processes)
        self._lacked_cpu = ""
        if health.cpu_percent_max > CPU_PERCENT:
            self._lacked_cpu = f"a process was at {health.cpu_percent_max:.0f} % of a core"
        elif (self._starved_share or 0.0) > STARVED_SHARE:
            self._lacked_cpu = f"its {CPU_WAIT} was {self._starved_share:.0%} of the time"
        self._late = self._behind and (load.open_loop or bool(self._lacked_cpu))

    def _chance(self, processes: int) -> float:
        health, demand = self._health, self._health.demand
        if not self._load.open_loop:  # a user's first request comes at any time within its interval
            return SIGMAS * sqrt(min(demand, self._users / 4))
        each = health.offered / health.arrivals if health.arrivals and health.offered else 1.0
        if self._load.arrivals == "poisson":
            return SIGMAS * each * sqrt(min(demand / each, HELD_TO * processes))
        return 2 * each * processes

    def faults(self) -> Iterator[str]:
        if self._late:
            yield f"{self._sent()}{f': {why}' if (why := self._lacked_cpu or self._lacked_users()) else ''}"
        if self._unanswered_share > UNANSWERED_SHARE:
            yield f"{self._unanswered_share:.0%} of all requests were not answered in time"
        elif not self._load.open_loop and self._behind and self._waited_share > UNANSWERED_SHARE:
            yield f"users spent {self._waited_share:.0%} of the time on requests that had no answer"
        if self._lag_p99_ms > LOOP_LAG_P99_MS:
            yield f"the event loop was {self._lag_p99_ms:,.0f} ms late ({P99})"
        if (stood_still_s := self._health.lag.max_us / 1e6) > STOOD_STILL_S:
            yield f"the process stood still for {stood_still_s:,.1f} s"

    def facts(self) -> Iterator[str]:
        if not self._late:  # what kept the rest back was not the generator
            why = f", {NO_LIMIT}" if round(self.held_back_per_s) else ""
            if self._behind:
                why = f": users waited for {f'their client, {NO_LIMIT}' if self._held_back else 'answers'}"
            yield self._sent() + why
        yield f"busiest process at {self._health.cpu_percent_max:.0f} % of a core"
        if self._starved_share is not None:
            yield f"{CPU_WAIT} {self._starved_share:.0%} of the time"
        yield f"event loop {self._lag_p99_ms:.0f} ms late ({P99})"

    def _sent(self) -> str:
        unit, held_per_s = self._load.target_unit, round(self.held_back_per_s)
        held_back = f", {held_per_s:,} held back by the client's own rate" if held_per_s else ""
        return f"sent {self.achieved_per_s:,.0f} of {self.asked_per_s:,.0f} {unit}/s of {DEMAND}{held_back}"

    def _lacked_users(self) -> str:
        """Say how many users the highest rate takes, by what these sent while all were under way.

        Little's law: while arrivals are dropped, a request takes the users' time divided by their number.
        Where a client limits its own rate, more users are not more requests: what was dropped would wait,
        too, so that each takes a user of its own.
        """
        if not self._health.no_user:
            return ""
        needed, held_back = self._users + self._health.no_user, ""
        if self._held_back:
            held_back = ", one for each request that its client holds back"
        elif self.achieved_per_s:
            highest_per_s = max(self.asked_per_s, self._load.rate_shape().highest_per_s)
            needed = min(ceil(self._users * highest_per_s / self.achieved_per_s * ROOM), needed)
        return (
            f"all {self._users:,} users were under way while arrivals were dropped; "
            f"about {needed:,} are needed{held_back}"
        )


CPUS: Final = Path("/proc/cpuinfo")
NAMED: Final = "model name"


def machine() -> dict[str, int | str]:
    """Cores that this process may use, memory, and the CPU's model, as `run.json` has them.

    The model is what `/proc/cpuinfo` names, else the architecture: to know more, Python starts `uname`.
    """
    lines = CPUS.read_text(encoding="utf-8").splitlines() if CPUS.exists() else []
    pairs = (line.partition(":") for line in lines)
    models = (" ".join(value.split()) for name, _, value in pairs if name.strip() == NAMED)
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memory_bytes": int(psutil.virtual_memory().total),
        "cpu": next(filter(None, models), platform.machine() or "unknown"),
    }
