"""What all users of one process share during one run: scenario, transport, record and pace."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import inf
from pathlib import Path
from random import Random
from typing import Any

from gevent.event import Event

from keyheat.load.around.steady import SteadyClock
from keyheat.load.guard.allowance import Allowance
from keyheat.load.guard.budget import Caps
from keyheat.load.pace.arrivals import Arrivals, OpenPace
from keyheat.load.pace.closed import ClosedLoop, ClosedPace
from keyheat.load.pace.pace import Pace, Timetable
from keyheat.load.pace.retries import SdkRetries
from keyheat.load.pace.schedule import Schedule, even, exponential
from keyheat.load.pace.traced import TracePace, TraceSchedule
from keyheat.load.record.record import Record
from keyheat.load.record.silence import Silence
from keyheat.load.record.sketch import KeyHeat
from keyheat.load.transport.answer import Transport
from keyheat.load.transport.boto import Boto3Transport
from keyheat.load.transport.idle import SPREAD
from keyheat.load.transport.judged import Judged
from keyheat.load.transport.signed import SignedTransport
from keyheat.load.transport.target import credentials_for, target_at
from keyheat.load.users.cache import ReadThroughCache
from keyheat.load.users.items import ItemTemplate
from keyheat.load.users.ledger import Ledger
from keyheat.load.users.outcomes import NotSeen
from keyheat.scenario.keys import KeyPattern
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.scenario.shape import LoadShape
from keyheat.scenario.spec.load import TargetUnit
from keyheat.scenario.trace import read_trace
from keyheat.sharding.knowledge import Knowledge
from keyheat.words import DirectionName

USERS_PER_WORKER = 1_000_000  # room for user numbers, so that no two workers have one in common


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the master tells every process to do; it travels as plain values."""

    run_id: str
    scenario: Scenario
    url: str
    region: str
    transport: str  # "signed" | "boto3"
    show_keys: bool
    users: int  # in all processes
    part: int = 0  # which part of an open loop's arrivals this process sends, from 0
    retries: str = "off"  # "off" | "sdk"
    folder: str = ""  # the scenario's, where its trace is
    caps: Mapping[str, Any] | None = None  # of the whole run (`Caps`), which a worker holds itself to as well
    share: float = 1.0  # of what it may consume that is this process's until it asks for more
    of: int = 1  # how many parts there are; a process whose part is not among them sends no arrivals
    without_units: tuple[str, ...] = ()  # operations of which the endpoint tells no consumed capacity
    marked: bool = False  # whether items name the run: the table is somebody else's

    def to_wire(self) -> dict[str, Any]:
        """Plain values, as they travel from the master to a worker."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "scenario": self.scenario.model_dump(mode="json")}

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "Order":
        """What `to_wire` made."""
        scenario = scenario_from_dict(wire["scenario"], "the master's scenario")
        return cls(**{**wire, "scenario": scenario, "without_units": tuple(wire["without_units"])})


@dataclass(slots=True)
class Load:
    """One run in one process."""

    order: Order
    transport: Transport
    items: ItemTemplate
    keys: KeyPattern
    record: Record
    started_s: float
    unit: TargetUnit  # what the shape's rates are in
    loop: Arrivals | ClosedLoop
    clock: SteadyClock  # which time every moment of the load is of
    retries: SdkRetries | None = None
    stopped: Event = field(default_factory=Event)
    stopped_s: float = inf  # epoch seconds from which on nothing is sent
    allowance: Allowance = field(default_factory=lambda: Allowance(Caps()))
    silence: Silence = field(default_factory=Silence)  # how long nothing has been answered
    under_way: dict[int, float] = field(default_factory=dict)  # users by number, since when (epoch seconds)
    numbers: "count[int]" = field(default_factory=count)
    ledger: Ledger | None = None  # what writes were acknowledged; only where somebody reads
    knowledge: Knowledge | None = None  # what writers know of keys' shards, where those are dynamic
    cache: ReadThroughCache | None = None  # the cache that readers share, where the scenario has one
    key_name: Callable[[str], str] | None = None  # how the table knows a key; None: as it was drawn
    last_looks: list[Callable[[], None]] = field(default_factory=list)
    """What is looked up once the load is over. Not in a user's `on_stop`: Locust waits for no user whom it
    stops between two tasks, so that the record would be written without it."""

    @property
    def shards(self) -> int:
        """On how many shards each key is."""
        return self.order.scenario.keys.shards

    @property
    def stopping(self) -> bool:
        """Whether no further request is sent."""
        return bool(self.stopped.is_set())

    def stop(self) -> None:
        """Send no further request; back-offs end at once."""
        if not self.stopping:
            self.loop.close()
            self.stopped_s = self.clock()
        self.stopped.set()

    def look_back(self) -> None:
        """Take the last looks; one that fails makes the record say what is not known."""
        for look in self.last_looks:
            try:
                look()
            except NotSeen as failure:
                self.record.health.problems.append(str(failure))

    def came_back(self, sent_s: float, *, answered: bool) -> None:
        """A user is back from a request: with an answer, or with the time lost that it waited for one."""
        self.silence.in_flight -= 1
        if answered:
            self.silence.answers += 1
        else:
            waited_s = min(self.clock(), self.stopped_s) - sent_s
            self.record.health.unanswered_s += max(0.0, waited_s)

    def in_flight(self, now_s: float) -> int:
        """How many requests have been sent and not answered; who waits for a turn has sent none."""
        return sum(since_s <= now_s for since_s in self.under_way.values())

    def account(self) -> None:
        """Note how much has been asked for until now."""
        self.loop.account()

    def pace(self, rng: Random) -> Pace:
        """The pace of one more user."""
        if isinstance(self.loop, ClosedLoop):
            return ClosedPace(self.loop, rng)
        timetable = self.loop.schedule
        if isinstance(timetable, TraceSchedule):
            return TracePace(self.loop, timetable, clock=self.clock)
        return OpenPace(self.loop, clock=self.clock)

    def cost_of(self, direction: DirectionName, units: float, table: str | None) -> float:
        """What a request counts for in what the load's target is in: nothing where that is something else."""
        if self.unit == "requests":
            return 1.0
        judged = table is None and direction == ("write" if self.unit == "WCU" else "read")
        return units if judged else 0.0


def empty_record(order: Order) -> Record:
    """A record of nothing yet, which names keys as the order says."""
    directions: tuple[DirectionName, ...] = ("read", "write")
    return Record(heat={direction: KeyHeat(show_keys=order.show_keys) for direction in directions})


def start_load(order: Order, *, worker: int = 0, clock: SteadyClock | None = None) -> Load:
    """Make what an order needs. Raises `TargetError` where credentials are missing."""
    clock = clock or SteadyClock()
    scenario = order.scenario
    target = target_at(order.url, region=order.region)
    if order.transport == "boto3":
        transport: Transport = Boto3Transport(target, connections=order.users)
    else:
        transport = SignedTransport(target, credentials_for(target), connections=SPREAD)
    record, started_s = empty_record(order), clock()
    items = ItemTemplate(scenario, order.run_id if order.marked else None)
    return Load(
        order=order,
        transport=Judged(transport, frozenset(order.without_units)),
        items=items,
        keys=scenario.keys.pattern(worker=worker, folder=Path(order.folder)),
        record=record,
        started_s=started_s,
        unit=scenario.load.target_unit,
        loop=_loop(order, items, record, started_s, clock),
        clock=clock,
        allowance=Allowance(Caps.from_wire(order.caps) if order.caps else Caps(), order.share),
        retries=SdkRetries(order.region) if order.retries == "sdk" else None,
        numbers=count(worker * USERS_PER_WORKER),
        key_name=None if items.values.plain else items.values.name,
    )


def _loop(
    order: Order, items: ItemTemplate, record: Record, started_s: float, clock: SteadyClock
) -> Arrivals | ClosedLoop:
    load, shape = order.scenario.load, order.scenario.load.rate_shape()
    if not load.open_loop:
        return ClosedLoop(shape, record, users=order.users, started_s=started_s, clock=clock)
    return Arrivals(_timetable(order, shape, items), record, started_s=started_s, clock=clock)


def _timetable(order: Order, shape: LoadShape, items: ItemTemplate) -> Timetable:
    load, keys = order.scenario.load, order.scenario.keys
    if load.arrivals == "trace":
        rows = read_trace(
            keys.trace_path(Path(order.folder)),
            has_sort_key=order.scenario.table.sort_key is not None,
            least=items.least_bytes,
        )
        return TraceSchedule(rows, speed=keys.speed or 1.0, part=order.part, parts=order.of)
    random = load.arrivals == "poisson"
    gap = exponential(Random(f"{order.scenario.seed}/arrivals/{order.part}")) if random else even
    return Schedule(shape, gap, order.part, order.of)
