"""Alter a load: divide its hot keys among shards, make its reads eventually consistent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from keyheat.model import limits
from keyheat.model.splits import key_point
from keyheat.scenario.keys import shard_key
from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.simulator.flow import Flow, FlowAnswer, Traffic
from keyheat.simulator.masses import Masses
from keyheat.simulator.traffic import asks_for_shards, traffic_of
from keyheat.words import Direction

Change = Callable[[Flow], Flow]

HOT_SHARE: Final = 0.002
"""Keys with less than this part of the requests stay as they are: 500 of them do not fill a partition more
than evenly."""


class Altered(Traffic):
    """A load test with changed requests; it gets the answers as if it had sent them."""

    def __init__(self, traffic: Traffic, change: Change) -> None:
        self._traffic = traffic
        self._change = change
        self._sent: Sequence[Flow] = ()

    @property
    def counts(self) -> Mapping[str, float]:
        """What the load test counts."""
        return self._traffic.counts

    def second(self, at_s: float) -> Sequence[Flow]:
        self._sent = self._traffic.second(at_s)
        return tuple(map(self._change, self._sent))

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        of_unaltered = (
            answer if answer.flow is flow else replace(answer, flow=flow)
            for answer, flow in zip(answers, self._sent, strict=True)
        )
        self._traffic.answered(at_s, list(of_unaltered))


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


def eventually_consistent(flow: Flow) -> Flow:
    """Make a read eventually consistent, for half of the units."""
    if flow.direction is not Direction.READ or flow.eventual:
        return flow
    return replace(flow, eventual=True, units=flow.units * limits.EVENTUAL_READ_FACTOR)


def in_eventual_reads() -> Change:
    """Every read of the table and its indexes is eventually consistent."""
    return eventually_consistent


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


def spreads_itself(scenario: Scenario, folder: Path = Path()) -> bool:
    """Return whether the load test itself spreads its keys over shards.

    An unknown load test is assumed not to.
    """
    if scenario.dynamic_sharding is not None:
        return True
    try:
        return asks_for_shards(scenario, folder)
    except ScenarioError:
        return False


def check_shards(scenario: Scenario, folder: Path = Path()) -> None:
    """Raise `ScenarioError` for shards that the load test does not send to.

    A simulation divides hot keys; a load, or a plan of it, cannot.
    """
    if scenario.keys.shards == 1 or scenario.dynamic_sharding is not None:
        return
    try:
        asks = asks_for_shards(scenario, folder)
    except ScenarioError:
        return  # unknown
    if not asks:
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
