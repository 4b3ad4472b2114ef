"""A scenario whose requests are sent one by one under a virtual clock, to the model or to somebody else.

The simulator is held against it. Keys are drawn as a load test draws them, by the scenario's pattern, and
connections are used as its transport uses them where every answer comes at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Protocol

import numpy as np

from keyheat.load.transport.signed import SPREAD, Idle
from keyheat.model.resources import Refusal
from keyheat.model.splits import HASH_BYTES, position
from keyheat.model.table import IndexWrite, Op, TableModel
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.capacity import CapacityTimeline, capacity_of
from keyheat.simulator.flow import Flow, FlowAnswer, sent_together
from keyheat.simulator.masses import Floats, Masses
from keyheat.simulator.simulate import SIMULATED_START_S, ClientRecord, Simulation
from keyheat.simulator.traffic import Sending, traffic_of
from keyheat.words import Direction


@dataclass(frozen=True, slots=True)
class Place:
    """Where an item, or its entry in an index, lies: a partition key, and a sort key in bytes."""

    key: str
    within: bytes

    @property
    def position(self) -> bytes:
        return position(self.key.encode(), self.within)


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a request as it was drawn."""

    place: Place
    units: float
    entries: tuple[Place, ...]  # in the indexes that the flow writes to, in its order


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one item: why it was refused, or the units that it consumed."""

    refusal: Refusal | None
    units: float = 0.0
    index_units: Mapping[str, float] = field(default_factory=dict)


class Asked(Protocol):
    """Who is asked for each request; `models` are those of its tables, by name."""

    models: Mapping[str, TableModel]

    def ask(self, flows: Sequence[Flow], items: Sequence[Item], at_s: float) -> list[Outcome | None]:
        """One request with an item of each flow: what came of each; None where it is not to blame."""


def asked_one_by_one(scenario: Scenario, folder: Path, asked: Asked | None = None) -> Simulation:
    """The scenario's traffic, request by request; it is the model that is asked unless somebody else is."""
    sender = _Sender(scenario, folder, asked or _Models(scenario))
    seconds = int(scenario.load.duration_s)
    for at_s in range(seconds):
        sender.second(at_s)
    sender.client.end()
    return Simulation(
        scenario=scenario,
        seed=scenario.seed,
        started_s=SIMULATED_START_S,
        ended_s=SIMULATED_START_S + seconds,
        models=sender.asked.models,
        client=sender.client,
    )


class Connections:
    """A load's connections to somebody who answers at once: says on which one each request is."""

    def __init__(self, at_least: int = SPREAD) -> None:
        self._idle: Idle[int] = Idle(at_least)
        self._numbers = count()

    def use(self, at_s: float) -> int:
        """The number of the connection that the next request comes on."""
        idle = self._idle.take(at_s)
        number = next(self._numbers) if idle is None else idle[0]
        self._idle.add(number, at_s)
        return number


class _Models:
    """The model, asked directly."""

    def __init__(self, scenario: Scenario) -> None:
        self._own = scenario.table.name
        self._connections = Connections()
        self.models: Mapping[str, TableModel] = {
            table.name: TableModel(
                capacity_of(table),
                now_s=SIMULATED_START_S,
                scale=scenario.local.scale,
                seed=scenario.seed + number,
            )
            for number, table in enumerate((scenario.table, *scenario.companions))
        }

    def ask(self, flows: Sequence[Flow], items: Sequence[Item], at_s: float) -> list[Outcome | None]:
        model = self.models[flows[0].table or self._own]
        connection = self._connections.use(at_s)
        ops = [_op(flow, item) for flow, item in zip(flows, items, strict=True)]
        if flows[0].together:
            answers = model.admit_together(ops, at_s, connection=connection)
            cancelled = any(answers)
            return [
                _outcome(answer, op) if answer or not cancelled else None
                for answer, op in zip(answers, ops, strict=True)
            ]
        return [_outcome(_admit(model, op, at_s, connection), op) for op in ops]


def _op(flow: Flow, item: Item) -> Op:
    return Op(
        direction=flow.direction,
        position=item.place.position,
        units=item.units,
        index=flow.index,
        index_writes=tuple(
            IndexWrite(one.index, place.position, one.units)
            for one, place in zip(flow.index_writes, item.entries, strict=True)
        ),
        eventual=flow.eventual,
    )


def _admit(model: TableModel, op: Op, at_s: float, connection: int) -> Refusal | None:
    if op.direction is Direction.READ:
        how = {"index": op.index, "eventual": op.eventual, "connection": connection}
        return model.admit_read(op.position, op.units, at_s, **how)  # type: ignore[arg-type]
    return model.admit_write(op.position, op.units, at_s, op.index_writes, connection=connection)


def _outcome(refusal: Refusal | None, op: Op) -> Outcome:
    if refusal is not None:
        return Outcome(refusal)
    index_units: Counter[str] = Counter()
    for entry in op.index_writes:
        index_units[entry.index] += entry.units  # type: ignore[assignment]
    return Outcome(None, op.units, index_units)


class _Sender:
    def __init__(self, scenario: Scenario, folder: Path, asked: Asked) -> None:
        self.asked = asked
        self.client = ClientRecord()
        self._own = scenario.table.name
        self._traffic = traffic_of(scenario, scenario.seed, folder)
        self._pattern = scenario.keys.pattern(folder=folder)
        self._rng = Random(f"{scenario.seed} one by one")
        self._left: Counter[tuple[int, str]] = Counter()
        self._sums: dict[int, tuple[Masses, Floats]] = {}  # of the shares of keys, each kept alive
        self._timeline = CapacityTimeline(scenario, started_s=SIMULATED_START_S, seed=scenario.seed)

    def second(self, at_s: int) -> None:
        now_s = SIMULATED_START_S + at_s
        self._timeline(self.asked.models[self._own], now_s)
        flows = self._traffic.second(at_s)
        outcomes: list[list[Outcome]] = [[] for _ in flows]
        for due_s, places in sorted(self._due(flows)):
            sent_s = now_s + due_s
            whose = [place for place in places for _ in range(flows[place].items)]
            items = [self._item(flows[place], sent_s) for place in whose]
            for place, one in zip(
                whose, self.asked.ask([flows[place] for place in whose], items, sent_s), strict=True
            ):
                outcomes[place] += [] if one is None else [one]
        answers = [_answer(flow, found) for flow, found in zip(flows, outcomes, strict=True)]
        self._traffic.answered(at_s, answers)
        self.client.saw(int(now_s), answers)

    def _due(self, flows: Sequence[Flow]) -> list[tuple[float, tuple[int, ...]]]:
        """When the requests of each kind are sent: evenly, or at random, and never two kinds in step."""
        due = []
        for places in sent_together(flows):
            number, flow = places[0], flows[places[0]]
            self._left[number, flow.operation] += flow.requests  # type: ignore[assignment]
            count = int(self._left[number, flow.operation] + 1e-9)
            self._left[number, flow.operation] -= count
            due += [((place + self._rng.random()) / count, places) for place in range(count)]
        return due

    def _item(self, flow: Flow, at_s: float) -> Item:
        entries = tuple(self._place(one.keys, at_s) for one in flow.index_writes)
        return Item(self._place(flow.keys, at_s), self._units(flow), entries)

    def _units(self, flow: Flow) -> float:
        if not flow.sizes:
            return flow.units
        units, parts = zip(*flow.sizes, strict=True)
        (drawn,) = self._rng.choices(units, parts)
        return float(drawn)

    def _place(self, keys: Masses, at_s: float) -> Place:
        within = {
            "point": b"",
            "random": self._rng.randbytes(8),
            "rising": int(at_s * 1e6).to_bytes(8, "big"),
        }[keys.within]
        return Place(self._key(keys, at_s - SIMULATED_START_S), within)

    def _key(self, keys: Masses, elapsed_s: float) -> str:
        """As a load test draws it, where these are the scenario's own keys."""
        if isinstance(self._traffic, Sending):
            setting = self._traffic.setting
            if keys.shares is setting.keys.shares and len(keys.shares):
                return self._pattern.draw(self._rng, elapsed_s)
        if self._rng.random() < keys.even:
            return self._rng.randbytes(HASH_BYTES).hex()
        sums = self._sums.setdefault(id(keys.shares), (keys, np.cumsum(keys.shares)))[1]
        number = min(int(np.searchsorted(sums, self._rng.random() * sums[-1])), len(sums) - 1)
        return keys.name(number)


def _answer(flow: Flow, outcomes: Sequence[Outcome]) -> FlowAnswer:
    refused = [one.refusal for one in outcomes if one.refusal is not None]
    index_units: Counter[str] = Counter()
    for one in outcomes:
        index_units.update(one.index_units)
    return FlowAnswer(
        flow=flow,
        attempts=len(outcomes),
        accepted=len(outcomes) - len(refused),
        units=sum(one.units for one in outcomes),
        index_units=index_units,
        refused=Counter((one.index, one.cause) for one in refused),
    )
