"""The numbers of a simulated run by which scenarios are compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, Final

from keyheat.model.behaviour import DEFAULT
from keyheat.model.limits import MINUTE_S
from keyheat.model.meter import LaneMeter
from keyheat.model.resources import Cause
from keyheat.words import Direction

if TYPE_CHECKING:
    from keyheat.simulator.simulate import Simulation

STEADY: Final = replace(
    DEFAULT,
    burst_s=1.0,
    burst_floor_units=0.0,
    nodes_below_units_per_s=0.0,
    index_buffer_units=0.0,
)
"""A table that has spent what it had saved: what it then serves, it serves for ever. DynamoDB gives saved
capacity on a best effort only, so it is not to be planned with:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html"""


SPENT: Final = replace(STEADY, burst_at_start_share=0.0)
"""The same without the one second that its buckets begin with: a demand above what is provisioned shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitHit:
    """A limit that throttled: its resource, direction, cause and events."""

    index: str | None  # None: the table itself
    direction: Direction
    cause: Cause
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOutcome:
    """A simulated run in numbers. Rates are means over the run."""

    seed: int
    seconds: float
    loaded_s: int  # seconds in which anything was sent
    attempts: Mapping[Direction, int]
    throttled: Mapping[Direction, int]
    accepted_per_s: Mapping[tuple[str | None, Direction], float]
    """Units per second that were consumed, by index (None: the table itself) and direction."""
    limits: tuple[LimitHit, ...]
    """What throttled, the most frequent first."""
    going_on_per_s: Mapping[tuple[str | None, Direction], float] = field(default_factory=dict)
    """The units of the busier half: of an incident that is replayed, without the calm beside it. Of simulated
    runs only."""

    def share(self, direction: Direction | None = None) -> float:
        """Throttled attempts as a share of all, of one direction or of both; 0 where nothing was sent."""
        sides = list(Direction) if direction is None else [direction]
        attempts = sum(self.attempts.get(side, 0) for side in sides)
        return sum(self.throttled.get(side, 0) for side in sides) / attempts if attempts else 0.0

    def consumed_per_s(self, direction: Direction) -> float:
        """Units per second of the table and all its indexes."""
        return _of_all(self.accepted_per_s, direction)

    @property
    def while_loaded_per_s(self) -> dict[Direction, float]:
        """Units per second of the table and all its indexes in the seconds in which anything was sent."""
        seconds = self.seconds / self.loaded_s if self.loaded_s else 0.0
        return {side: self.consumed_per_s(side) * seconds for side in Direction}

    @property
    def going_on_in_all_per_s(self) -> dict[Direction, float]:
        """Units per second of the table and all its indexes in the busier half."""
        return {side: _of_all(self.going_on_per_s, side) for side in Direction}


def _of_all(rates: Mapping[tuple[str | None, Direction], float], direction: Direction) -> float:
    return sum(rate for (_index, side), rate in rates.items() if side is direction)


def halves_of(start_s: float, end_s: float) -> list[tuple[float, float]]:
    """Return both halves of a run, parted at a whole minute; a short run is one."""
    half_s = ceil((start_s + end_s) / 2 / MINUTE_S) * MINUTE_S
    return [(start_s, half_s), (half_s, end_s)] if end_s - half_s >= MINUTE_S else [(start_s, end_s)]


def outcome_of(simulation: "Simulation") -> SimulationOutcome:
    """The numbers of a simulated run, of the scenario's own table."""
    seconds = simulation.ended_s - simulation.started_s
    model = simulation.model
    meters = [
        meter
        for index in (None, *model.index_names)
        for meter in (model.resource(index).read.meter, model.resource(index).write.meter)
    ]
    return SimulationOutcome(
        seed=simulation.seed,
        seconds=seconds,
        loaded_s=simulation.client.loaded_s,
        attempts=dict(simulation.client.attempts),
        throttled=dict(simulation.client.throttled),
        accepted_per_s={(m.index, m.direction): _consumed(m) / seconds for m in meters},
        going_on_per_s={(m.index, m.direction): _going_on_per_s(m, simulation) for m in meters},
        limits=tuple(sorted(chain(*map(_limits_of, meters)), key=lambda limit: -limit.events)),
    )


def _consumed(meter: LaneMeter) -> float:
    return sum(tally.sum for tally in meter.consumed_by_minute().values())


def _going_on_per_s(meter: LaneMeter, simulation: "Simulation") -> float:
    by_minute = meter.consumed_by_minute()

    def mean_per_s(start_s: float, end_s: float) -> float:
        minutes = range(int(start_s) // MINUTE_S, ceil(end_s / MINUTE_S))
        return sum(by_minute[minute].sum for minute in minutes if minute in by_minute) / (end_s - start_s)

    return max(mean_per_s(*half) for half in halves_of(simulation.started_s, simulation.ended_s))


def _limits_of(meter: LaneMeter) -> list[LimitHit]:
    events = {
        cause: round(sum(tally.sum for tally in tallies.values()))
        for cause, tallies in meter.throttles_by_minute().items()
    }
    return [
        LimitHit(index=meter.index, direction=meter.direction, cause=cause, events=count)
        for cause, count in events.items()
        if count
    ]
