"""What is sent to a simulated table: a load test as its flows, second by second, or the rows of a trace.

A target in requests is sent whatever the answers are. One in capacity units is steered by the answers: units
spent beyond a second's due are owed in the next one, and units left over are sent then.

A load may be altered: its hot keys divided among shards, its reads made eventually consistent.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import fsum
from pathlib import Path
from random import Random
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from keyheat.model import limits
from keyheat.model.splits import key_point
from keyheat.model.units import read_units, write_units
from keyheat.scenario.keys import shard_key
from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.scenario.trace import TraceRow, read_trace
from keyheat.simulator.dryrun import loadtest_of
from keyheat.simulator.flow import Flow, FlowAnswer, Traffic
from keyheat.simulator.kinds import TaskFlows, UserTasks
from keyheat.simulator.loadtest import LoadTest, with_combinations
from keyheat.simulator.masses import Masses, masses_of_shares
from keyheat.simulator.setting import TrafficSetting
from keyheat.words import Direction


def traffic_of(scenario: Scenario, seed: int, folder: Path = Path()) -> Traffic:
    """Return the traffic of a scenario's load test; `folder` is the scenario's, with its trace.

    Raises `ScenarioError` for a load test that no sample shows.
    """
    scenario = with_combinations(scenario)
    setting = TrafficSetting(scenario, Random(f"{seed}/traffic"), folder)
    if scenario.load.arrivals == "trace":
        return Replay(setting)
    return Sending(setting, loadtest_of(scenario, folder))


LEAST_COST = 0.05
"""Arrivals that cost next to nothing come at most twenty times as often as the target's number."""


class Sending(Traffic):
    """The users of a load test at their pace.

    In a closed loop every user sends its even part of the requests, however many of them one task makes. In
    an open one each arrival is a task of any user, equally likely.
    """

    def __init__(self, setting: TrafficSetting, loadtest: LoadTest) -> None:
        self.setting = setting
        self._users = UserTasks.of(setting, loadtest)
        self._shares = _shares_of(loadtest, setting.load.users)
        self._sent: list[Flow] = []  # in this second
        self._due = 0.0  # in this second, in the target's unit
        self._owed = 0.0  # units spent beyond the target until now
        self._accepted = 1.0  # share of the attempts: only those pay for index entries
        units = {"WCU": Direction.WRITE, "RCU": Direction.READ}
        self._direction = units.get(setting.load.target_unit)  # of the target; None: it is in requests

    @property
    def counts(self) -> Mapping[str, float]:
        """What the load test counts, by `group.what`, as `counted` of a run's manifest."""
        return self.setting.counts

    def second(self, at_s: float) -> Sequence[Flow]:
        """What is sent in the second that begins `at_s` seconds into the run."""
        self.setting.begin(at_s)
        load = self.setting.load
        self._due = self.setting.due - self._owed
        classes = [user.tasks() for user in self._users]
        costs = [fsum(task.weight * self._cost(task) for task in tasks) for tasks in classes]
        mean = max(fsum(share * cost for share, cost in zip(self._shares, costs, strict=True)), LEAST_COST)
        self._sent = []
        for tasks, share, cost in zip(classes, self._shares, costs, strict=True):
            each = mean if load.open_loop else cost
            begun = max(0.0, self._due) * share / each if each else 0.0
            self._sent += [
                replace(
                    flow,
                    requests=begun * task.weight * flow.requests,
                    poisson=load.arrivals == "poisson",
                )
                for task in tasks
                for flow in task.flows
            ]
        return self._sent

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        """Take the units that were spent, and tell each sender its answer."""
        if self._direction is not None:
            sent = zip(self._sent, answers, strict=True)
            counted = [(flow, answer) for flow, answer in sent if self._counts(flow)]
            attempts = fsum(answer.attempts for _flow, answer in counted)
            accepted = fsum(answer.accepted for _flow, answer in counted)
            spent = fsum(answer.units + fsum(answer.index_units.values()) for _flow, answer in counted)
            refused = fsum((answer.attempts - answer.accepted) * flow.units for flow, answer in counted)
            self._accepted = accepted / attempts if attempts else 1.0
            self._owed = spent + refused - self._due
        for flow, answer in zip(self._sent, answers, strict=True):
            flow.on_answer(answer)

    def _counts(self, flow: Flow) -> bool:
        return flow.table is None and flow.direction is self._direction

    def _cost(self, task: TaskFlows) -> float:
        """What a task spends of the target; refused requests count without index entries."""
        if self._direction is None:
            return task.due
        return fsum(
            flow.requests
            * (flow.items * flow.units + self._accepted * fsum(entry.units for entry in flow.index_writes))
            for flow in task.flows
            if self._counts(flow)
        )


def _shares_of(loadtest: LoadTest, users: int) -> list[float]:
    """The part of all users that each class is."""
    fixed = [min(users, each.fixed_count or 0) for each in loadtest.users]
    weights = fsum(each.weight for each in loadtest.users if each.fixed_count is None)
    remaining = max(0, users - sum(fixed))
    counts = [
        remaining * each.weight / weights if each.fixed_count is None else count
        for each, count in zip(loadtest.users, fixed, strict=True)
    ]
    return [count / max(sum(counts), 1e-9) for count in counts]


PAGE_ITEMS = 25  # of a query
READS = ("GetItem", "Query")


@dataclass(slots=True)
class Replay(Traffic):
    """The rows of a trace, at their times, whatever the answers are."""

    setting: TrafficSetting
    counts: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    _rows: Iterator[TraceRow] = field(init=False)
    _next: TraceRow | None = field(init=False)
    _items: dict[str, dict[str | None, int]] = field(default_factory=lambda: defaultdict(dict), init=False)
    """Bytes of each item, by key and sort key."""

    def __post_init__(self) -> None:
        keys = self.setting.scenario.keys
        self._rows = read_trace(
            keys.trace_path(self.setting.folder),
            has_sort_key=self.setting.table.sort_key is not None,
        )
        self._next = next(self._rows, None)

    def second(self, at_s: float) -> Sequence[Flow]:
        """The rows of the second, those of one operation and price together."""
        sent: dict[tuple[str, float, float], Counter[str]] = defaultdict(Counter)
        for row in self._due(at_s + 1.0):
            units, entry_writes = self._cost(row)
            sent[row.operation, units, entry_writes][row.key] += 1
        return [self._flow(*kind, keys) for kind, keys in sent.items()]

    def _due(self, until_s: float) -> Iterator[TraceRow]:
        speed = self.setting.scenario.keys.speed or 1.0
        end_s = min(until_s, self.setting.load.duration_s)
        while self._next is not None and self._next.at_s / speed < end_s:
            yield self._next
            self._next = next(self._rows, None)

    def _cost(self, row: TraceRow) -> tuple[float, float]:
        """Return units of the table, and writes of each index entry; update the item."""
        items = self._items[row.key]
        old = items.get(row.sort_key, 0)
        if row.operation == "GetItem":
            return read_units(old, consistent=False), 0.0
        if row.operation == "Query":
            page = sum(islice(items.values(), PAGE_ITEMS))
            return read_units(page, consistent=False), 0.0
        new = 0 if row.operation == "DeleteItem" else row.size_bytes or 0
        items.pop(row.sort_key, None)
        if new:
            items[row.sort_key] = new
        moves = 2.0 if row.operation == "PutItem" and old else 1.0
        return write_units(old, new), moves if old or new else 0.0

    def _flow(self, operation: str, units: float, writes: float, keys: Counter[str]) -> Flow:
        read = operation in READS
        masses = masses_of_shares(keys, within="random" if self.setting.table.sort_key else "point")
        written = () if read or not writes else self.setting.entries(masses, self.setting.load.item_size())
        return Flow(
            operation=operation,
            direction=Direction.READ if read else Direction.WRITE,
            requests=float(keys.total()),
            keys=masses,
            units=units,
            eventual=read,
            index_writes=tuple(replace(entry, units=entry.units * writes) for entry in written),
        )


Change = Callable[[Flow], Flow]

HOT_SHARE: Final = 0.002
"""Keys with less than this part of the requests stay as they are: 500 of them do not fill a partition more
than evenly."""


@dataclass(frozen=True, slots=True)
class Altered(Traffic):
    """A load test with changed requests; it gets the answers as if it had sent them."""

    traffic: Traffic
    change: Change

    @property
    def counts(self) -> Mapping[str, float]:
        """What the load test counts."""
        return self.traffic.counts

    def second(self, at_s: float) -> Sequence[Flow]:
        return tuple(map(self.change, self.traffic.second(at_s)))

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        self.traffic.answered(at_s, answers)


def in_shards(count: int, direction: Direction | None = None, index: str | None = None) -> Change:
    """Divide every hot key into `count` evenly used keys: the table's keys, or those of one index.

    Writing to an index of divided keys, the entries move; reading, each request asks one of the shards.
    """
    divided_keys: WeakKeyDictionary[Masses, Masses] = WeakKeyDictionary()

    def in_parts(keys: Masses) -> Masses:
        if keys not in divided_keys:
            divided_keys[keys] = divided(keys, count)
        return divided_keys[keys]

    def change(flow: Flow) -> Flow:
        if direction not in (None, flow.direction) or flow.table is not None:
            return flow
        if index is not None and flow.direction is Direction.WRITE:
            entries = tuple(
                replace(entry, keys=in_parts(entry.keys)) if entry.index == index else entry
                for entry in flow.index_writes
            )
            return replace(flow, index_writes=entries)
        return replace(flow, keys=in_parts(flow.keys)) if flow.index == index else flow

    return change


def in_copies(count: int) -> Change:
    """Every hot item of the table has `count` copies: a read asks one of them, a write writes them all."""
    spread = in_shards(count, Direction.READ)
    copied_keys: WeakKeyDictionary[Masses, Masses] = WeakKeyDictionary()

    def change(flow: Flow) -> Flow:
        if flow.direction is Direction.READ or flow.table is not None:
            return spread(flow)
        if flow.keys not in copied_keys:
            copied_keys[flow.keys] = divided(flow.keys, count, copies=True)
        hot = float(flow.keys.shares[flow.keys.shares >= HOT_SHARE].sum())
        return replace(flow, requests=flow.requests * (1 + (count - 1) * hot), keys=copied_keys[flow.keys])

    return change


def in_eventual_reads() -> Change:
    """Make every read of the table and its indexes eventually consistent, for half of the units."""

    def change(flow: Flow) -> Flow:
        if flow.direction is not Direction.READ or flow.eventual:
            return flow
        return replace(flow, eventual=True, units=flow.units * limits.EVENTUAL_READ_FACTOR)

    return change


def divided(keys: Masses, count: int, *, copies: bool = False) -> Masses:
    """The same requests with every hot key divided evenly among `count` shards.

    `copies`: each of them has all that the key had, so that there are more requests.
    """
    hot = np.flatnonzero(keys.shares >= HOT_SHARE)
    if count == 1 or not len(hot):
        return keys
    names = [shard_key(keys.name(int(number)), shard) for number in hot for shard in range(count)]
    cold = np.flatnonzero(keys.shares < HOT_SHARE)
    points = np.concatenate(
        [keys.points[cold], np.array([key_point(name.encode()) for name in names], np.uint64)]
    )
    each = keys.shares[hot] if copies else keys.shares[hot] / count
    shares = np.concatenate([keys.shares[cold], np.repeat(each, count)])
    total = float(shares.sum()) + keys.even
    order = np.argsort(points, kind="stable")

    def name(number: int) -> str:
        origin = int(order[number])
        return names[origin - len(cold)] if origin >= len(cold) else keys.name(int(cold[origin]))

    return replace(
        keys, points=points[order], shares=shares[order] / total, even=keys.even / total, name=name
    )


def spreads_itself(scenario: Scenario, folder: Path = Path()) -> bool | None:
    """Return whether the load test itself spreads its keys over shards; None for an unknown load test."""
    if scenario.dynamic_sharding is not None:
        return True
    try:
        return scenario.load.arrivals != "trace" and loadtest_of(scenario, folder).asks_for_shards
    except ScenarioError:
        return None


def check_shards(scenario: Scenario, folder: Path = Path()) -> None:
    """Raise `ScenarioError` for shards that the load test does not send to.

    A simulation divides hot keys; a load, or a plan of it, cannot.
    """
    if scenario.keys.shards != 1 and spreads_itself(scenario, folder) is False:
        problem = (
            f"{scenario.loadtest_shown} spreads no key, so {scenario.keys.shards} shards change nothing of "
            "what it sends: take a load test that does (`keyheat loadtests`), list [[tasks]], or simulate it"
        )
        raise ScenarioError(scenario.name, [f"{problem} @ $.keys.shards"])


def spread_traffic(
    scenario: Scenario, seed: int, folder: Path = Path(), index: str | None = None
) -> tuple[Traffic, tuple[str, ...]]:
    """Return the load test's traffic, spread over the scenario's shards, and notes on the difference.

    If it spreads no key itself, hot keys are divided: the table's, or those of an `index`. Raises
    `ScenarioError` for a load test that no dry run shows.
    """
    traffic, count = traffic_of(scenario, seed, folder), scenario.keys.shards
    if count == 1 or spreads_itself(scenario, folder):
        return traffic, ()
    traffic = Altered(traffic, in_shards(count, index=index))
    note = (
        f"{scenario.loadtest} spreads no key by itself: the simulator divides its hot keys among {count} "
        "shards, and no request reads all shards of a key back"
    )
    return traffic, (note,)
