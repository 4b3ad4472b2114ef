"""What all users of one process share during one run: scenario, transport, record and pace."""

from dataclasses import dataclass, field
from itertools import count
from time import time
from typing import Any

from generator.record.record import Direction, Record
from generator.record.sketch import KeyHeat
from generator.transport.answer import Transport
from generator.transport.boto import Boto3Transport
from generator.transport.signed import SignedTransport
from generator.transport.target import credentials_for, target_at
from generator.users.cache import ReadThroughCache
from generator.users.items import ItemTemplate
from generator.users.ledger import Ledger
from tablemodel.keys import KeyPattern
from tablemodel.scenario import Scenario, scenario_from_dict

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
    of: int = 1  # how many parts there are; a process whose part is not among them sends no arrivals

    def to_wire(self) -> dict[str, Any]:
        """Plain values, as they travel from the master to a worker."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "scenario": self.scenario.model_dump(mode="json")}

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "Order":
        """What `to_wire` made."""
        return cls(**{**wire, "scenario": scenario_from_dict(wire["scenario"], "the master's scenario")})


@dataclass(slots=True)
class Load:
    """One run in one process."""

    order: Order
    transport: Transport
    items: ItemTemplate
    keys: KeyPattern
    record: Record
    started_s: float
    stopping: bool = False  # no further request is sent
    numbers: "count[int]" = field(default_factory=count)
    ledger: Ledger | None = None  # what writes were acknowledged; only where somebody reads
    cache: ReadThroughCache | None = None  # the cache that readers share, where the scenario has one

    @property
    def interval_s(self) -> float:
        """Seconds between two requests of one user: each sends its even part of the scenario's rate."""
        return self.order.users / self.order.scenario.load.requests_per_s


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
        transport = SignedTransport(target, credentials_for(target))
    return Load(
        order=order,
        transport=transport,
        items=ItemTemplate(scenario),
        keys=scenario.keys.pattern(worker=worker),
        record=empty_record(order),
        started_s=time(),
        numbers=count(worker * USERS_PER_WORKER),
    )
