"""What random scenarios are drawn from: the nominal world is the model as it stands, the wide ones are not.

The rules were written beside the model, and a table that behaves just as it does proves little: AWS gives
burst on a best effort, loads come in spikes, others write too, and CloudWatch counts what it likes. In a wide
world each of these is drawn, by chances that stand here and are argued in `docs/trust.md`.

A `Draft` is a scenario while it is drawn from them: the table so far, what is sent to it, and both in words.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final, Literal

import numpy as np

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.resources import Cause
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, Series
from keyheat.simulator.flow import Flow, IndexFlow
from keyheat.simulator.masses import Masses
from keyheat.words import Direction
from tools.accuracy import streams
from tools.accuracy.streams import Rates, RequestStream, after_pause, between, even

WorldsName = Literal["wide", "nominal"]
CAUSES: Final = frozenset(
    metrics.cause_events(direction, cause) for direction in Direction for cause in Cause
)
EVENTS: Final = CAUSES | set(map(metrics.throttle_events, Direction))
COUNTED_BY_MINUTE: Final = EVENTS | set(map(metrics.consumed, Direction))


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """How CloudWatch tells of what happened: as it was, or as it does on ordinary days."""

    events_per_throttle: float = 1.0
    """Throttle events for each refused attempt that the client knows of: more where an SDK tries again
    beneath it, fewer where a batch of many items is counted as one request."""
    late_s: float = 0.0
    """Seconds of each minute, at most, that are counted in the next one."""
    partitions_known: bool = True
    """Whether the warm throughput is there, which tells how many partitions there are at least."""
    seed: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        found = []
        if self.events_per_throttle != 1:
            found.append(f"CloudWatch counts {self.events_per_throttle:.2g} events for each throttle")
        if self.late_s:
            found.append(f"up to {self.late_s:.0f} s of each minute are counted in the next")
        if not self.partitions_known:
            found.append("the warm throughput is not known")
        return tuple(found)

    def of(self, evidence: Evidence) -> Evidence:
        rng = Random(self.seed)
        late: dict[datetime, float] = defaultdict(lambda: rng.uniform(0, self.late_s) / limits.MINUTE_S)
        table = evidence.table
        if not self.partitions_known:
            indexes = tuple(index.model_copy(update={"warm": None}) for index in table.indexes)
            table = table.model_copy(update={"warm": None, "indexes": indexes})
        series = tuple(self._published(one, late) for one in evidence.series)
        return evidence.model_copy(update={"table": table, "series": series})

    def _published(self, series: Series, late: Mapping[datetime, float]) -> Series:
        counted = series.metric in COUNTED_BY_MINUTE and not series.operation
        of_batches = series.metric == metrics.THROTTLED_REQUESTS and self.events_per_throttle < 1
        if series.statistic != "Sum" or not (counted or of_batches):
            return series
        points = dict(series.points)
        if (series.metric in EVENTS or of_batches) and self.events_per_throttle != 1:
            points = {
                at: max(1.0, round(value * self.events_per_throttle)) if value else 0.0
                for at, value in points.items()
            }
        if self.late_s and counted:
            points = _moved(points, late, timedelta(seconds=series.period_s))
        return series.model_copy(update={"points": tuple(sorted(points.items()))})


def _moved(
    points: Mapping[datetime, float], late: Mapping[datetime, float], period: timedelta
) -> dict[datetime, float]:
    """The points, a part of each counted in the next one; what has no next one stays, and so does the sum."""
    found = dict(points)
    for at, value in sorted(points.items()):
        if at + period in found:
            part = round(value * late[at])
            found[at] -= part
            found[at + period] += part
    return found


def _any_capacity(rng: Random) -> float:
    """Units/s of a table: from 1 to 100,000, most often hundreds or thousands."""
    return between(rng, 1, 100_000) if rng.random() < 0.25 else between(rng, 50, 20_000)


def _usual_capacity(rng: Random) -> float:
    """Units/s of a table: half of them small, as most tables are; few are large."""
    kind = rng.random()
    if kind < 0.5:
        return between(rng, 5, 1_000)
    return between(rng, 100, 10_000) if kind < 0.9 else between(rng, 1, 100_000)


def _any_behaviour(rng: Random) -> Behaviour:
    """Burst as it may come: whole, a part, none at all; late; or kept from a table that was just changed."""
    kind = rng.choices(("whole", "part", "none", "late"), weights=(45, 20, 20, 15))[0]
    changed = rng.choice((0.0, 1.0))
    common = replace(
        DEFAULT,
        burst_kept_share=changed,
        partition_depth_s=rng.uniform(1.0, 2.0),
        index_buffer_units=rng.choice((0.0, DEFAULT.index_buffer_units)),
        nodes_below_units_per_s=rng.choice((0.0, DEFAULT.nodes_below_units_per_s)),
    )
    if kind == "whole":
        return common
    if kind == "late":
        return replace(common, burst_at_start_share=rng.uniform(0.0, 0.5))
    share = rng.uniform(0.05, 0.95) if kind == "part" else 1 / limits.BURST_S
    return replace(common, burst_s=share * limits.BURST_S, burst_floor_units=0.0, nodes_below_units_per_s=0.0)


def _ordinary_publication(rng: Random) -> Publication:
    kind = rng.choices(("one", "retries", "requests"), weights=(60, 25, 15))[0]
    factor = 1.0
    if kind == "retries":
        factor = between(rng, 1.5, 10)
    elif kind == "requests":
        factor = 1 / between(rng, 2, 25)
    return Publication(
        events_per_throttle=factor,
        late_s=rng.uniform(1, 8) if rng.random() < 0.3 else 0.0,
        partitions_known=rng.random() < 0.5,
        seed=rng.randrange(2**31),
    )


def ordinary_shape(
    rng: Random, duration_s: int, *, base: tuple[float, float] = (0.05, 0.5)
) -> tuple[Rates, str]:
    """The load in each second as a part of its peak: jobs, spikes, days, and whoever happens to come by."""
    kind = rng.choices(("plain", "spikes", "job", "tail"), weights=(50, 22, 13, 15))[0]
    low = rng.uniform(*base)
    if kind in ("spikes", "job"):
        if kind == "spikes":
            long_s, every_s = rng.randint(1, 20), rng.choice((10, 15, 20, 30, 60, 60, rng.randint(21, 90)))
            long_s = min(long_s, every_s // 2)
        else:
            every_s = rng.choice((60, 300, 300, 600))
            long_s, low = rng.randint(5, every_s // 2), rng.choice((0.0, low))
        what = "a job" if kind == "job" else kind
        rates, word = streams.again(rng, duration_s, long_s=long_s, every_s=every_s, low=low, what=what)
        if rates.max() < 1.0:  # one that would have come after the end
            rates[-long_s:] = 1.0
        return rates, word
    if kind == "tail":
        return _long_tail(rng, duration_s)
    return streams.a_shape(rng, duration_s, base=base)


def _long_tail(rng: Random, duration_s: int) -> tuple[Rates, str]:
    """Each second differs from the last, most are quiet and few are large: a log-normal of memory."""
    spread, memory = rng.uniform(0.3, 0.9), rng.choice((0.0, 0.5, 0.9))
    noise = np.random.default_rng(rng.randrange(2**31)).normal(size=duration_s)
    level = np.empty(duration_s)
    level[0] = noise[0]
    for at in range(1, duration_s):
        level[at] = memory * level[at - 1] + np.sqrt(1 - memory**2) * noise[at]
    rates = np.exp(spread * level)
    return rates / rates.max(), f"a long tail, spread {spread:.1f}, memory {memory:g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worlds:
    """What is drawn, and how often: chances are of a scenario, or of each stream of requests."""

    name: WorldsName
    capacity: Callable[[Random], float]
    behaviour: Callable[[Random], Behaviour]
    publication: Callable[[Random], Publication]
    shape: Callable[..., tuple[Rates, str]]
    another_client: float
    changed: float
    scaled: float
    switched: float
    at_random: float
    """Requests that arrive at random, not evenly."""
    tried_again: float
    """Refused requests that come again, after a wait."""


NOMINAL: Final = Worlds(  # tables that behave as the model does, and say all of it
    name="nominal",
    capacity=_any_capacity,
    behaviour=lambda _rng: DEFAULT,
    publication=lambda _rng: Publication(),
    shape=streams.a_shape,
    another_client=0.15,
    changed=0.12,
    scaled=0.08,
    switched=0.03,
    at_random=0.3,
    tried_again=0.1,
)
WIDE: Final = Worlds(  # ordinary days of ordinary tables: burst, loads, clients and counters as they come
    name="wide",
    capacity=_usual_capacity,
    behaviour=_any_behaviour,
    publication=_ordinary_publication,
    shape=ordinary_shape,
    another_client=0.3,
    changed=0.2,
    scaled=0.1,
    switched=0.03,
    at_random=0.6,
    tried_again=0.4,
)
WORLDS: Final[Mapping[WorldsName, Worlds]] = {"wide": WIDE, "nominal": NOMINAL}


WRITE_UNITS: Final = (1, 1, 1, 1, 2, 3, 5, 8)
READ_UNITS: Final = (1, 1, 1, 2, 4)
NEVER_S: Final = 10**9  # the keys stay
ROOM: Final = 10  # units/s of a direction that nothing is sent in


@dataclass(frozen=True, slots=True)
class RandomRequests:
    """What the requests of a direction are: how many units each, eventually consistent or not."""

    direction: Direction
    units: float
    eventual: bool

    @property
    def ceiling(self) -> float:
        """Units/s of a table that one partition serves."""
        if self.direction is Direction.WRITE:
            return limits.PARTITION_WRITE_UNITS_PER_S
        if self.eventual:
            return limits.EVENTUAL_READ_PARTITION_UNITS_PER_S
        return limits.PARTITION_READ_UNITS_PER_S


@dataclass(slots=True)
class Draft:
    """The scenario so far. Rates are in units/s."""

    rng: Random
    worlds: Worlds
    duration_s: int
    kind: RandomRequests
    mode: Literal["provisioned", "on-demand", "either"] = "either"
    on_demand: bool = False
    table: dict[str, Any] = field(default_factory=dict)
    timeline: list[dict[str, Any]] = field(default_factory=list)
    streams: list[RequestStream] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    peak: float = 0.0  # units/s of the main stream
    spiky_base: tuple[float, float] = (0.05, 0.5)

    @property
    def side(self) -> str:
        return self.kind.direction.value

    def provision(self, units_per_s: float, *, was_larger: float | None = None) -> None:
        """A provisioned table with so much for the load; perhaps with partitions for more, from before."""
        other = "write" if self.side == "read" else "read"
        self.on_demand = False
        self.table["billing_mode"] = "PROVISIONED"
        self.table["provisioned"] = {self.side: max(1, round(units_per_s)), other: ROOM}
        words = f"{self.table['provisioned'][self.side]:,} {self.side} units/s provisioned"
        if was_larger is not None:
            self.table["warm"] = self._warm(was_larger)
            words += f", warm for {self.table['warm'][self.side]:,}"
        self.said.append(words)

    def pay_per_request(self, warm: float | None, maximum: float | None = None) -> None:
        """An on-demand table, pre-warmed for so much, with a maximum or without."""
        self.on_demand = True
        self.table["billing_mode"] = "PAY_PER_REQUEST"
        words = "on-demand"
        if warm is not None:
            self.table["warm"] = self._warm(warm)
            words += f", warm for {warm:,.0f} units/s"
        if maximum is not None:
            self.table["max_on_demand"] = {self.side: max(1, round(maximum))}
            words += f", at most {maximum:,.0f} units/s"
        self.said.append(words)

    def serve(self, units_per_s: float) -> None:
        """A table of either mode that serves so much if its keys are even."""
        if self.mode == "provisioned" or (self.mode == "either" and self.rng.random() < 0.6):
            self.provision(units_per_s)
        else:
            self.pay_per_request(units_per_s)

    def _warm(self, units_per_s: float) -> dict[str, int]:
        """What DynamoDB can be asked to be ready for: never less than a new on-demand table is."""
        start = {"read": limits.ON_DEMAND_START_READ, "write": limits.ON_DEMAND_START_WRITE}
        return start | {self.side: max(start[self.side], round(units_per_s))}

    def index(
        self, name: str, units_per_s: float, *, maximum: float | None = None, was_larger: float | None = None
    ) -> None:
        """A global secondary index that serves so much in the load's direction."""
        spec: dict[str, Any] = {"name": name, "partition_key": f"{name}_key"}
        other = "write" if self.side == "read" else "read"
        if not self.on_demand:
            spec["provisioned"] = {self.side: max(1, round(units_per_s)), other: ROOM}
            if was_larger is not None:
                spec["warm"] = self._warm(was_larger)
        else:
            spec["warm"] = self._warm(units_per_s)
            if maximum is not None:
                spec["max_on_demand"] = {self.side: max(1, round(maximum))}
        self.table.setdefault("indexes", []).append(spec)
        self.said.append(f"index {name}: {maximum or units_per_s:,.0f} units/s")

    def send(
        self,
        peak: float,
        keys: tuple[Masses, ...] = (),
        *,
        keys_s: int = NEVER_S,
        index: str | None = None,
        entries: tuple[IndexFlow, ...] = (),
        shape: Rates | None = None,
        ours: bool = True,
    ) -> None:
        if shape is None:
            drawn, word = self.worlds.shape(self.rng, self.duration_s, base=self.spiky_base)
            shape = after_pause(self.rng, drawn)
            self.said.append(word)
        operation = "PutItem" if self.side == "write" else "GetItem" if index is None else "Query"
        flow = Flow(
            operation=operation,
            direction=self.kind.direction,
            requests=0,
            keys=even(),
            units=self.kind.units,
            eventual=self.kind.eventual,
            index=index,
            index_writes=entries,
            poisson=self.rng.random() < self.worlds.at_random,
            ours=ours,
        )
        again = self.rng.uniform(0.3, 0.9) if ours and self.rng.random() < self.worlds.tried_again else 0.0
        self.streams.append(
            RequestStream(
                flow=flow,
                per_s=shape * (peak / self.kind.units),
                keys=keys or (even(),),
                keys_s=keys_s,
                tries_again=again,
            )
        )
        whose = "" if ours else "another client's "
        self.said.append(
            f"{whose}{self.side}s of up to {peak:,.0f} units/s" + (" with retries" if again else "")
        )
        self.peak = max(self.peak, peak)


def a_kind(rng: Random, direction: Direction) -> RandomRequests:
    if direction is Direction.WRITE:
        return RandomRequests(direction, float(rng.choice(WRITE_UNITS)), False)
    eventual = rng.random() < 0.5
    return RandomRequests(direction, rng.choice(READ_UNITS) * (0.5 if eventual else 1.0), eventual)
