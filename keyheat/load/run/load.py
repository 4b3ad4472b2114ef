"""What all users of one process share during a run, and the work of every second: note, fold, pass on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from math import ceil, inf
from pathlib import Path
from random import Random
from time import monotonic, perf_counter, time
from typing import Any, ClassVar

import gevent
import psutil
from gevent.event import Event
from pydantic import TypeAdapter

from keyheat.load.pacer import ClosedLoop, ClosedPacer, OpenLoop, OpenPacer, TraceSchedule
from keyheat.load.record.attempt import LocustStatistics
from keyheat.load.record.generator import LAG_EVERY_S
from keyheat.load.record.record import Record, heat_of
from keyheat.load.record.sketch import KeyHeat
from keyheat.load.run.plan import LoadPlan
from keyheat.load.run.watch import Caps
from keyheat.load.schedule import Schedule, even, exponential
from keyheat.load.transport.answer import IN_FLIGHT, TIMEOUT, CheckedTransport, Transport
from keyheat.load.transport.boto import Boto3Transport
from keyheat.load.transport.retries import PolicyRetries
from keyheat.load.transport.signed import SPREAD, SignedTransport
from keyheat.load.transport.target import credentials_for, target_at
from keyheat.load.users.collections import ReadThroughCache
from keyheat.load.users.items import ItemTemplate
from keyheat.load.users.ledger import Ledger
from keyheat.load.users.outcomes import IndexEntries
from keyheat.scenario.keys import KeyPattern
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tasks import TargetUnit
from keyheat.scenario.trace import read_trace
from keyheat.sharding.knowledge import Knowledge
from keyheat.words import Direction, DirectionName, has_capacity_model


class SteadyClock:
    """The service's clock as of the start of a run, advanced by the monotonic clock, which is never set.

    It is `ahead_s` ahead of the wall clock of this machine. Only signatures take the wall clock's time.
    """

    def __init__(
        self,
        ahead_s: float = 0.0,
        wall: Callable[[], float] = time,
        monotonic: Callable[[], float] = monotonic,
    ) -> None:
        self.ahead_s, self._monotonic = ahead_s, monotonic
        self._apart_s = wall() + ahead_s - monotonic()

    def __call__(self) -> float:
        return self._apart_s + self._monotonic()


USERS_PER_WORKER = 1_000_000  # room for user numbers, so that no two workers have one in common


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the master tells every process to do: the plan, and what it came to."""

    plan: LoadPlan
    run_id: str
    url: str
    region: str
    users: int  # in all processes
    caps: Caps | None = None  # of the whole run; a worker has an even share of them
    ahead_s: float = 0.0  # by how much the service's clock is ahead of the machines that send
    worker: int = 0  # whose share of an open loop's arrivals this process sends, from 0
    workers: int = 1  # that share the arrivals; a process with a higher number sends none

    @property
    def scenario(self) -> Scenario:
        return self.plan.scenario

    @property
    def folder(self) -> Path:
        """The scenario's, where its trace is."""
        return self.plan.scenario_path.parent

    def to_wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = TypeAdapter(Order).dump_python(self, mode="json")
        return wire

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "Order":
        return TypeAdapter(cls).validate_python(wire)


@dataclass(slots=True)
class Load:
    """One run in one process."""

    behind_s: ClassVar[int] = 0  # how far the newest whole second of its record lies back
    order: Order
    transport: Transport
    items: ItemTemplate
    keys: KeyPattern
    record: Record
    started_s: float
    unit: TargetUnit  # what the shape's rates are in
    loop: OpenLoop | ClosedLoop
    clock: SteadyClock  # which time every moment of the load is of
    statistics: LocustStatistics
    retries: PolicyRetries | None = None
    stopped: Event = field(default_factory=Event)
    stopped_s: float = inf  # epoch seconds from which on nothing is sent
    cpu_percent: float = 0.0  # of a core, in the last second
    numbers: "count[int]" = field(default_factory=count)
    ledger: Ledger | None = None  # acknowledged writes; only if users read
    knowledge: Knowledge | None = None  # what writers know of keys' shards, where those are dynamic
    cache: ReadThroughCache | None = None  # the cache that readers share, where the scenario has one
    entries: IndexEntries | None = None  # what writes put into indexes, where the table has some
    key_name: Callable[[str], str] | None = None  # how the table knows a key; None: as it was drawn
    _watching: list[gevent.Greenlet] = field(default_factory=list)

    @property
    def shards(self) -> int:
        return self.order.scenario.keys.shards

    def stop(self) -> None:
        """Send no further request; back-offs end at once."""
        if not self.stopped.is_set():
            self.loop.close()
            self.stopped_s = self.clock()
        self.stopped.set()

    expect_end = stop  # nothing else is to be awaited in one process

    def wait_out(self, duration_s: float) -> None:
        gevent.sleep(duration_s)

    def missing_now(self) -> list[str]:
        return []

    def watch(self, after: Callable[[], None] = lambda: None) -> None:
        """Watch the event loop, and do the work of every second, and then `after`, until `end`."""
        self._watching = [gevent.spawn(watch_lag, self), gevent.spawn(beat, self, after)]

    def end(self) -> Record:
        """Return the whole record; no request is in flight any more."""
        gevent.killall(self._watching)
        if self.knowledge is not None and self.order.worker == 0:  # one in all processes
            self.record.count("shards.ended_with", self.knowledge.most_shards)
        fold(self)
        self.statistics.tell()
        self.transport.close()
        return self.record

    def note_failure(self, failure: str, sent_s: float) -> None:
        health = self.record.health
        health.unanswered += failure in (TIMEOUT, IN_FLIGHT)
        health.unanswered_s += max(0.0, min(self.clock(), self.stopped_s) - sent_s)

    def pace(self, rng: Random) -> ClosedPacer | OpenPacer:
        if isinstance(self.loop, ClosedLoop):
            return ClosedPacer(self.loop, rng)
        return OpenPacer(self.loop)

    def cost_of(self, direction: DirectionName, units: float, table: str | None) -> float:
        """What a request counts for in what the load's target is in: nothing where that is something else."""
        if self.unit == "requests":
            return 1.0
        judged = table is None and direction == ("write" if self.unit == "WCU" else "read")
        return units if judged else 0.0


def empty_record(order: Order) -> Record:
    indexes = [index.name for index in order.scenario.table.indexes]
    names = (name for side in Direction for name in (side, *(heat_of(side, index) for index in indexes)))
    return Record(heat={str(name): KeyHeat(show_keys=order.plan.show_keys) for name in names})


def start_load(order: Order, environment: Any, *, worker: int = 0, clock: SteadyClock | None = None) -> Load:
    """Make what an order needs, for the users of Locust's `environment`.

    Raises `TargetError` where credentials are missing.
    """
    clock = clock or SteadyClock(order.ahead_s)
    scenario = order.scenario
    target = target_at(order.url, region=order.region)
    if order.plan.transport == "boto3":
        transport: Transport = Boto3Transport(target, connections=order.users)
    else:
        transport = SignedTransport(target, credentials_for(target), connections=SPREAD)
    record, started_s = empty_record(order), clock()
    items = ItemTemplate(scenario, order.run_id if order.plan.marked else None)
    load = environment.keyheat = Load(
        order=order,
        statistics=LocustStatistics(environment),
        transport=CheckedTransport(transport, units_needed=has_capacity_model(order.plan.endpoint)),
        items=items,
        keys=scenario.keys.pattern(worker=worker, folder=order.folder),
        record=record,
        started_s=started_s,
        unit=scenario.load.target_unit,
        loop=_loop(order, items, record, started_s, clock),
        clock=clock,
        retries=_retries(order, clock),
        numbers=count(worker * USERS_PER_WORKER),
        key_name=None if items.values.plain else items.values.name,
        entries=IndexEntries.of(scenario.table),
    )
    return load


def _retries(order: Order, clock: SteadyClock) -> PolicyRetries | None:
    client = order.scenario.client
    if order.plan.retries == "off" or client.sdk == "none":
        return None
    return PolicyRetries(client.policy, clients=ceil(client.clients / order.workers), clock=clock)


def _loop(
    order: Order, items: ItemTemplate, record: Record, started_s: float, clock: SteadyClock
) -> OpenLoop | ClosedLoop:
    load, keys, shape = order.scenario.load, order.scenario.keys, order.scenario.load.rate_shape()
    if not load.open_loop:
        return ClosedLoop(shape, record, users=order.users, started_s=started_s, clock=clock)
    if load.arrivals == "trace":
        rows = read_trace(
            keys.trace_path(order.folder),
            has_sort_key=order.scenario.table.sort_key is not None,
            least=items.least_bytes,
        )
        speed = keys.speed or 1.0
        trace = TraceSchedule(rows, speed=speed, worker=order.worker, workers=order.workers)
        return OpenLoop(trace, record, started_s=started_s, clock=clock)
    random = load.arrivals == "poisson"
    gap = exponential(Random(f"{order.scenario.seed}/arrivals/{order.worker}")) if random else even
    schedule = Schedule(shape, gap, order.worker, order.workers)
    return OpenLoop(schedule, record, started_s=started_s, clock=clock)


KEYS_BETWEEN_PAUSES = 500  # about a millisecond of work, and then requests may go on
WINDOW_SETTLES_S = 2.0  # a window stays open a little longer, for answers that are still to come
BEAT_S = 1.0
LEAST_BEAT_S = 0.5  # between two beats, however late one was: CPU time is counted in steps of 10 ms
SCHEDSTAT = Path("/proc/self/schedstat")
"""Of the main thread, in which all greenlets run: nanoseconds on a CPU, and ready to run but without one.
https://docs.kernel.org/scheduler/sched-stats.html"""


def watch_lag(load: Load) -> None:
    """Note forever how late the event loop wakes. Run it in a greenlet of its own."""
    while True:
        slept_from = perf_counter()
        gevent.sleep(LAG_EVERY_S)
        late_s = perf_counter() - slept_from - LAG_EVERY_S
        load.record.health.lag.add(max(0, int(late_s * 1e6)))


def beat(load: Load, after: Callable[[], None]) -> None:
    """Do the work of every second forever, and then call `after`. Run it in a greenlet of its own."""
    process = psutil.Process()
    process.cpu_percent()
    starved_s, beat_s = starved_until_now_s(), perf_counter()
    next_s = beat_s + BEAT_S
    while True:
        gevent.sleep(max(0.0, next_s - perf_counter()))
        next_s = max(next_s + BEAT_S, perf_counter() + LEAST_BEAT_S)  # beats are not made up for
        health = load.record.health
        load.cpu_percent = process.cpu_percent()
        health.cpu_percent_max = max(health.cpu_percent_max, load.cpu_percent)
        before_s, starved_s = starved_s, starved_until_now_s()
        last_s, beat_s = beat_s, perf_counter()
        if before_s is not None and starved_s is not None:
            health.starved_s += starved_s - before_s
            health.watched_s += beat_s - last_s
        load.loop.account()
        fold(load, before_s=load.clock() - WINDOW_SETTLES_S)
        load.statistics.tell()
        after()


def starved_until_now_s() -> float | None:
    """How long this process has been ready to run and had no CPU; None if the system does not say."""
    try:
        return int(SCHEDSTAT.read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return None


def fold(load: Load, *, before_s: float = float("inf")) -> None:
    """Bound the record's memory: durations into histograms, windows that ended `before_s` into the sketch."""
    for latency in (*load.record.latencies.values(), load.record.health.late, load.record.health.lag):
        latency.fold()
    for heat in tuple(load.record.heat.values()):  # others may come while requests are let through
        for number, _ in enumerate(heat.close_windows(before_s), start=1):
            if number % KEYS_BETWEEN_PAUSES == 0:
                gevent.sleep(0)
