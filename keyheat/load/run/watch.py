"""The budget of a run while it loads, and the watch that ends it at a cap or a broken stop rule.

The watch looks four times a second, and stops the run where less is left than was consumed since its last
look. Where several processes send, each watches its own even part of the caps, and the master the sum of all.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import ceil, floor
from time import monotonic
from typing import Any, Final, NamedTuple

import gevent
import numpy as np

from keyheat.load.record.attempt import ConsumedUnits
from keyheat.load.record.record import Record
from keyheat.load.record.rows import ATTEMPTS, ERRORS, THROTTLED, Counts, no_counts, percentile_of
from keyheat.load.run.consent import MINUTE_S, allow
from keyheat.load.run.plan import LoadPlan
from keyheat.plan.bill import AROUND_S, Tariff
from keyheat.plan.prices import load_prices
from keyheat.runs.manifest import STOP_AMOUNTS, Rule, Stop
from keyheat.scenario.spec.part import AbortSpec

NO_CHARGE: Final = Tariff(per_hour=0.0, per_write_unit=0.0, per_read_unit=0.0)


class Spent(NamedTuple):
    """What one run, or several together, have used of the caps."""

    units: float = 0.0
    dollars: float = 0.0
    minutes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What one run may use up in all. None: as much as it needs."""

    dollars: float | None = None
    units: float | None = None
    minutes: float | None = None
    tariff: Tariff = NO_CHARGE

    def used(self, consumed: ConsumedUnits, elapsed_s: float) -> Spent:
        """What a run has used up after `elapsed_s` of load, including its tables until they are deleted.

        A table exists for a while before and after its load, and an hour that has begun is paid for.
        """
        dollars = self.tariff.dollars(consumed.write_units, consumed.read_units, elapsed_s + AROUND_S)
        return Spent(consumed.units, dollars, elapsed_s / MINUTE_S)

    def stops(self, consumed: ConsumedUnits, elapsed_s: float) -> Iterator[Stop]:
        """Yield every cap with what a run has used of it after `elapsed_s` of load."""
        rules: tuple[Rule, ...] = ("max_units", "max_dollars", "max_minutes")
        limits = (self.units, self.dollars, self.minutes)
        for rule, limit, seen in zip(rules, limits, self.used(consumed, elapsed_s), strict=True):
            if limit is not None:
                yield Stop(rule=rule, limit=limit, seen=seen, at_s=elapsed_s)

    def exceeded(self, consumed: ConsumedUnits, elapsed_s: float) -> Stop | None:
        """The first cap that `consumed` would exceed after `elapsed_s` of load."""
        return next((stop for stop in self.stops(consumed, elapsed_s) if stop.seen > stop.limit), None)


def caps_of(plan: LoadPlan, *, local: bool, duration_s: float | None) -> Caps:
    """What a run may use up. On a local table dollars count only where the command line says how many."""
    budget = plan.budget
    minutes = budget.minutes
    if minutes is not None and duration_s is not None and duration_s <= minutes * MINUTE_S:
        minutes = None  # it ends by itself before that
    return Caps(
        dollars=budget.dollars if plan.guards.max_dollars is not None or not local else None,
        units=budget.units,
        minutes=minutes,
        tariff=Tariff.of(plan.scenario, load_prices(plan.prices), existing=plan.guards.table is not None),
    )


@dataclass(slots=True)
class Spending:
    """What the runs of one process have used up of the budget that they share. `note` is its only mutator."""

    caps: Caps  # on all of them together
    _spent: Spent | None = None  # None: no run has ended yet
    _ended_by: Stop | None = None  # the cap that ended a run: what is left of it is too little to go on

    def note(self, consumed: ConsumedUnits, elapsed_s: float, stopped: Stop | None = None) -> None:
        """Add what a run that has ended used up."""
        used = self.caps.used(consumed, elapsed_s)
        self._spent = Spent(*map(sum, zip(self._spent or Spent(), used, strict=True)))
        if stopped is not None and stopped.rule in STOP_AMOUNTS:
            self._ended_by = stopped

    def left(self) -> Caps:
        rest = {
            name: cap - spent
            for name, spent in (self._spent or Spent())._asdict().items()
            if (cap := getattr(self.caps, name)) is not None
        }
        return replace(self.caps, **rest)

    def refusal(self) -> str | None:
        """Why no run may start: the budget is spent, or less than tables cost unused. None if one may."""
        stop = self._ended_by or self.left().exceeded(ConsumedUnits(), 0.0)
        if stop is None:
            return None
        if self._spent is None:
            return (
                f"nothing was started: the first hour of its tables costs {stop.seen:,.4g} dollars, and its "
                f"budget is {stop.limit:,.4g}: {allow('dollars', stop.seen)}"
            )
        name = stop.rule.removeprefix("max_")
        whole = replace(stop, limit=getattr(self.caps, name), seen=getattr(self._spent, name))
        return (
            f"nothing was started: the budget that all starts of one process share is spent, {whole.amount}: "
            f"start Locust again for a new one, --max-{name} says how large"
        )


ENOUGH_ATTEMPTS: Final = 100
"""Of fewer attempts, chance alone moves a share by more than ten percentage points now and then: its standard
error is sqrt(p (1 - p) / n), and that is 5 points at most for 100."""
ENOUGH_ACCEPTED: Final = 500
"""Of 500 requests five are slower than the p99; of 100 it would be one, and a single slow one ends no run."""
KEPT: Final = 30  # histograms, each of the time since the one before


@dataclass(slots=True)
class Rules:
    """The stop rules of a run, checked on the last seconds of its record, over all processes."""

    rules: AbortSpec
    _then: deque[tuple[float, Counts]] = field(default_factory=deque)

    def broken(self, record: Record, now_s: float, at_s: float, *, until: int) -> Stop | None:
        """The first rule that the `over_s` seconds before the second `until` break, `at_s` into the load."""
        rules = self.rules
        counts = record.seconds.of_requests(range(until - ceil(rules.over_s), until))
        attempts = counts[ATTEMPTS]
        seen: list[tuple[Rule, float | None, float]] = []
        if attempts >= ENOUGH_ATTEMPTS:
            seen.append(("throttle_share", rules.throttle_share, counts[THROTTLED] / attempts))
            seen.append(("error_share", rules.error_share, counts[ERRORS] / attempts))
        if rules.p99_ms is not None:
            timed, p99_us = self.timed(record, now_s)
            if timed >= ENOUGH_ACCEPTED:
                seen.append(("p99_ms", rules.p99_ms, p99_us / 1000))
        for rule, limit, value in seen:
            if limit is not None and value > limit:
                return Stop(rule=rule, limit=limit, seen=value, at_s=at_s)
        return None

    def timed(self, record: Record, now_s: float) -> tuple[int, int]:
        """Return how many accepted requests the window has, and their p99 in microseconds.

        A record only grows, so a histogram of the last seconds is the difference of two. Few are kept.
        """
        now = no_counts()
        for tag, latency in record.latencies.items():
            if tag.endswith(".accepted"):
                now += latency.counts()
        while len(self._then) > 1 and self._then[1][0] <= now_s - self.rules.over_s:
            self._then.popleft()
        then = self._then[0][1] if self._then else no_counts()
        if not self._then or now_s - self._then[-1][0] >= self.rules.over_s / KEPT:
            self._then.append((now_s, now))
        recent = np.maximum(now - then, 0)
        return int(recent.sum()), percentile_of(recent, 99)


LOOK_S: Final = 0.25


@dataclass(slots=True)
class LoadWatch:
    """Check the caps and rules of one run on what it did so far.

    `seen` is the `Load` of a process, or the `Gatherer` of a master: a clock, a record, and how many seconds
    it lies behind. `consumed` says what counts for the caps, if not the record.
    """

    caps: Caps
    seen: Any
    stop: Callable[[], None]
    rules: Rules | None = None
    duration_s: float | None = None  # after which it ends anyway; None: until stopped
    consumed: Callable[[], ConsumedUnits] | None = None
    stopped: Stop | None = None
    started_s: float = field(init=False)  # epoch seconds at which the load began
    _last: ConsumedUnits = field(default_factory=ConsumedUnits)  # consumed by the last look
    _judged: int = 0
    _closed: bool = False

    def __post_init__(self) -> None:
        self.started_s = self.seen.clock()

    def follow(self) -> None:
        """Look until the run is stopped or over. Run it in a greenlet of its own."""
        while (wait_s := self.look(self.seen.clock())) is not None:
            gevent.sleep(wait_s)

    def look(self, now_s: float) -> float | None:
        """Judge what is known, and stop the run if it has to be; returns the seconds until the next look."""
        if not self._closed and self.stopped is None:
            consumed = self.consumed() if self.consumed else replace(self.seen.record.consumed)  # a copy
            next_s = now_s + LOOK_S
            more, self._last = consumed.plus(self._last, times=-1.0), consumed
            if self.duration_s is not None and next_s > self.started_s + self.duration_s:
                next_s, more = now_s, ConsumedUnits()  # it ends by itself before that
            # The cap that is exceeded by the next look if consumption goes on as since the last one.
            stop = self.caps.exceeded(consumed.plus(more), next_s - self.started_s)
            self._end(stop or self._broken(now_s), now_s)
        return None if self._closed or self.stopped is not None else LOOK_S

    def used_up(self) -> None:
        """A worker has used up its part of what the run may consume."""
        now_s = self.seen.clock()
        stops = self.caps.stops(self.seen.record.consumed, now_s - self.started_s)
        self._end(max(stops, key=lambda stop: stop.seen / max(stop.limit, 1e-9)), now_s)

    def _end(self, stop: Stop | None, now_s: float) -> None:
        if stop is not None and self.stopped is None and not self._closed:
            self.stopped = replace(stop, at_s=now_s - self.started_s)
            self.stop()

    def close(self) -> None:
        """The load is being ended for another reason: from now on nothing ends it early."""
        self._closed = True

    def outcome(self, ended_s: float) -> Stop | None:
        """Return why the run was stopped, with what had come back in the end."""
        if self.stopped is None:
            return None
        caps = self.caps.stops(self.seen.record.consumed, ended_s - self.started_s)
        seen = {cap.rule: cap.seen for cap in caps}
        return replace(self.stopped, seen=seen.get(self.stopped.rule, self.stopped.seen))

    def _broken(self, now_s: float) -> Stop | None:
        """The rule that is broken, looked at once in each second and over a whole window only."""
        until = floor(now_s) - self.seen.behind_s
        if self.rules is None or until == self._judged:
            return None
        self._judged, spec = until, self.rules.rules
        stop = self.rules.broken(self.seen.record, now_s, now_s - self.started_s, until=until)
        whole = until - ceil(spec.over_s) >= ceil(self.started_s + spec.after_s)
        return stop if whole else None


MASTER_SILENT_S: Final = 10.0
"""A worker that hears nothing of its master for so long sends no more. Locust's master answers every worker's
heartbeat once a second, and a worker by itself gives up only after a minute (`MASTER_HEARTBEAT_TIMEOUT`)."""


def watch_master(
    heard_s: Callable[[], float | None],
    stop: Callable[[], None],
    *,
    clock: Callable[[], float] = monotonic,
    sleep: Callable[[float], object] = gevent.sleep,
) -> None:
    """Stop once nothing has been heard of the master for too long. Run it in a greenlet of its own.

    `heard_s` is of the wall clock, which may jump: that it changes is what says that something was heard.
    """
    newest, newest_s = heard_s(), clock()
    while newest is None or clock() - newest_s <= MASTER_SILENT_S:
        sleep(1.0)
        if (heard := heard_s()) != newest:
            newest, newest_s = heard, clock()
    stop()
