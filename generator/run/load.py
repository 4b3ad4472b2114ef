"""What all users of one process share during one run: scenario, transport, record and pace."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from time import time
from typing import Any

from gevent.event import Event

from generator.pace.arrivals import Arrivals, OpenPace
from generator.pace.closed import ClosedPace
from generator.pace.pace import Pace
from generator.pace.retries import SdkRetries
from generator.pace.schedule import Schedule, even, exponential
from generator.pace.traced import TracePace, TraceSchedule
from generator.record.record import Direction, Record
from generator.record.sketch import KeyHeat
from generator.transport.answer import Transport
from generator.transport.boto import Boto3Transport
from generator.transport.idle import SPREAD
from generator.transport.signed import SignedTransport
from generator.transport.target import credentials_for, target_at
from generator.users.cache import ReadThroughCache
from generator.users.items import ItemTemplate
from generator.users.ledger import Ledger
from sharding.knowledge import Knowledge
from tablemodel.keys import KeyPattern
from tablemodel.scenario import Scenario, scenario_from_dict
from tablemodel.shape import Shape
from tablemodel.spec.load import TargetUnit
from tablemodel.trace import read_trace

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
    of: int = 1  # how many parts there are; a process whose part is not among them sends no arrivals
    marked: bool = False  # whether items name the run: the table is somebody else's

    def to_wire(self) -> dict[str, Any]:
        """Plain values, as they travel from the master to a worker."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "scenario": self.scenario.model_dump(mode="json")}

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "Order":
        """What `to_wire` made."""
        return cls(**{**wire, "scenario": scenario_from_dict(wire["scenario"], "the master's scenario")})


class NotSeen(Exception):
    """What was to be looked up after the load could not be; the message says what is now not known."""


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
    shape: Shape
    arrivals: Arrivals | None = None  # of an open loop
    retries: SdkRetries | None = None
    stopped: Event = field(default_factory=Event)
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
    def stopping(self) -> bool:
        """Whether no further request is sent."""
        return bool(self.stopped.is_set())

    def stop(self) -> None:
        """Send no further request; back-offs end at once."""
        if self.arrivals is not None:
            self.arrivals.close()
        self.stopped.set()

    def look_back(self) -> None:
        """Take the last looks; one that fails makes the record say what is not known."""
        for look in self.last_looks:
            try:
                look()
            except NotSeen as failure:
                self.record.health.problems.append(str(failure))

    def in_flight(self, now_s: float) -> int:
        """How many requests have been sent and not answered; who waits for a turn has sent none."""
        return sum(since_s <= now_s for since_s in self.under_way.values())

    def account(self) -> None:
        """Note how much has been asked for until now."""
        if self.arrivals is not None:
            self.arrivals.account()

    def pace(self, rng: Random) -> Pace:
        """The pace of one more user."""
        if self.arrivals is not None:
            timetable = self.arrivals.schedule
            if isinstance(timetable, TraceSchedule):
                return TracePace(self.arrivals, timetable)
            return OpenPace(self.arrivals)
        return ClosedPace(self.shape, self.record, users=self.order.users, started_s=self.started_s, rng=rng)

    def cost_of(self, direction: Direction, units: float, table: str | None) -> float:
        """What a request counts for in what the load's target is in: nothing where that is something else."""
        if self.unit == "requests":
            return 1.0
        judged = table is None and direction == ("write" if self.unit == "WCU" else "read")
        return units if judged else 0.0


def empty_record(order: Order) -> Record:
    """A record of nothing yet, which names keys as the order says."""
    directions: tuple[Direction, ...] = ("read", "write")
    return Record(heat={direction: KeyHeat(show_keys=order.show_keys) for direction in directions})


def start_load(order: Order, *, worker: int = 0) -> Load:
    """Make what an order needs. Raises `TargetError` where credentials are missing."""
    scenario = order.scenario
    target = target_at(order.url, region=order.region)
    if order.transport == "boto3":
        transport: Transport = Boto3Transport(target, connections=order.users)
    else:
        transport = SignedTransport(target, credentials_for(target), connections=SPREAD)
    record, shape, started_s = empty_record(order), scenario.load.rate_shape(), time()
    items = ItemTemplate(scenario, order.run_id if order.marked else None)
    return Load(
        order=order,
        transport=transport,
        items=items,
        keys=scenario.keys.pattern(worker=worker, folder=Path(order.folder)),
        record=record,
        started_s=started_s,
        unit=scenario.load.target_unit,
        shape=shape,
        arrivals=_arrivals(order, shape, items, record, started_s) if scenario.load.open_loop else None,
        retries=SdkRetries(order.region) if order.retries == "sdk" else None,
        numbers=count(worker * USERS_PER_WORKER),
        key_name=None if items.values.plain else items.values.name,
    )


def _arrivals(order: Order, shape: Shape, items: ItemTemplate, record: Record, started_s: float) -> Arrivals:
    load, keys = order.scenario.load, order.scenario.keys
    if load.arrivals == "trace":
        rows = read_trace(
            keys.trace_path(Path(order.folder)),
            has_sort_key=order.scenario.table.sort_key is not None,
            least=items.least_bytes,
        )
        traced = TraceSchedule(rows, speed=keys.speed or 1.0, part=order.part, parts=order.of)
        return Arrivals(traced, record, started_s=started_s)
    random = load.arrivals == "poisson"
    gap = exponential(Random(f"{order.scenario.seed}/arrivals/{order.part}")) if random else even
    return Arrivals(Schedule(shape, gap, order.part, order.of), record, started_s=started_s)
