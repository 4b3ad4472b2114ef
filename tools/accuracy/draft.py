"""A random scenario while it is being drawn: the table so far, what is sent to it, and both in words."""

from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal

from keyheat.model import limits
from keyheat.simulator.flow import Flow, IndexFlow
from keyheat.simulator.masses import Masses
from keyheat.words import Direction
from tools.accuracy.streams import Rates, RequestStream, after_pause, even
from tools.accuracy.worlds import Worlds

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
        """`read` or `write`, as fields of a scenario name it."""
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
        """A stream with so many units/s at its peak."""
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
    """What requests of a direction are like."""
    if direction is Direction.WRITE:
        return RandomRequests(direction, float(rng.choice(WRITE_UNITS)), False)
    eventual = rng.random() < 0.5
    return RandomRequests(direction, rng.choice(READ_UNITS) * (0.5 if eventual else 1.0), eventual)
