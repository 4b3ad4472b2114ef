"""The search for the edge between numbers that hold and numbers that do not.

    throttled share
      0.4 |x
          |   x                     doubled (or halved) until the outcome changes,
          |       x                 then halved between, in their ratio,
    most -|- - - - - -x- x- - - -   and the answer is tried again with another seed
          +--------------------
           1  2   4   6  7   8      shards, units per second, or demand per second

Larger numbers of shards or units hold, and smaller demands do. A step may be simulated or loaded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil, inf, log, log2, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from keyheat.model.behaviour import DEFAULT
from keyheat.model.limits import MINUTE_S
from keyheat.model.meter import LaneMeter
from keyheat.model.resources import Cause
from keyheat.runs.formats import Verdict
from keyheat.scenario.scenario import Scenario
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
        return sum(rate for (_index, side), rate in self.accepted_per_s.items() if side is direction)

    @property
    def while_loaded_per_s(self) -> dict[Direction, float]:
        """Units per second of the table and all its indexes in the seconds in which anything was sent."""
        seconds = self.seconds / self.loaded_s if self.loaded_s else 0.0
        return {side: self.consumed_per_s(side) * seconds for side in Direction}

    @property
    def going_on_in_all_per_s(self) -> dict[Direction, float]:
        """Units per second of the table and all its indexes in the busier half."""
        busier = replace(self, accepted_per_s=self.going_on_per_s)
        return {side: busier.consumed_per_s(side) for side in Direction}


def halves_of(start_s: float, end_s: float) -> list[tuple[float, float]]:
    """Return both halves of a run, parted at a whole minute; a short run is one."""
    half_s = ceil((start_s + end_s) / 2 / MINUTE_S) * MINUTE_S
    return [(start_s, half_s), (half_s, end_s)] if end_s - half_s >= MINUTE_S else [(start_s, end_s)]


def outcome_of(simulation: "Simulation") -> SimulationOutcome:
    """The numbers of a simulated run, of the scenario's own table."""
    model, client = simulation.model, simulation.client
    seconds = simulation.ended_s - simulation.started_s
    accepted_per_s, going_on_per_s, limits = {}, {}, []
    for index in (None, *model.index_names):
        for meter in (model.resource(index).read.meter, model.resource(index).write.meter):
            side = meter.direction
            accepted_per_s[index, side] = (
                sum(tally.sum for tally in meter.consumed_by_minute().values()) / seconds
            )
            going_on_per_s[index, side] = _going_on_per_s(meter, simulation.started_s, simulation.ended_s)
            for cause, tallies in meter.throttles_by_minute().items():
                if events := round(sum(tally.sum for tally in tallies.values())):
                    limits.append(LimitHit(index=index, direction=side, cause=cause, events=events))
    return SimulationOutcome(
        seed=simulation.seed,
        seconds=seconds,
        loaded_s=client.loaded_s,
        attempts=dict(client.attempts),
        throttled=dict(client.throttled),
        accepted_per_s=accepted_per_s,
        going_on_per_s=going_on_per_s,
        limits=tuple(sorted(limits, key=lambda limit: -limit.events)),
    )


def _going_on_per_s(meter: LaneMeter, started_s: float, ended_s: float) -> float:
    by_minute = meter.consumed_by_minute()

    def mean_per_s(start_s: float, end_s: float) -> float:
        minutes = range(int(start_s) // MINUTE_S, ceil(end_s / MINUTE_S))
        return sum(by_minute[minute].sum for minute in minutes if minute in by_minute) / (end_s - start_s)

    return max(mean_per_s(*half) for half in halves_of(started_s, ended_s))


State = Literal["carried", "limited", "generator", "undecided"]
"""carried: hardly a throttle; limited: throttled, or served from burst; generator: the load generator was the
limit; undecided: the run is invalid."""

DIGITS: Final = 4  # of a demand that is tried
CONFIRMING: Final = 2  # steps: the answer once more, and its successor where that fails


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A number that was tried with one seed, and what came of it."""

    value: float
    scenario: Scenario
    outcome: SimulationOutcome
    state: State
    share: float  # throttled, of the attempts that the question is about
    attempts_per_s: float
    throttled_per_s: float
    on_burst: bool = False  # not throttled, but more was consumed than is provisioned
    verdict: Verdict | None = None  # of a run that was loaded; None: simulated
    folder: Path | None = None  # of that run

    @property
    def holds(self) -> bool:
        return self.state == "carried"

    def throttled_by(self, direction: Direction | None = None) -> LimitHit | None:
        """Return what throttled most, in one direction or both; None if nothing did, or if unknown."""
        return next((limit for limit in self.outcome.limits if direction in (None, limit.direction)), None)


Measure = Callable[[float, int], Step]
"""Try a number with the scenario's seed (0), or with the next one (1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The range of the search: from `start` up to `most`, and down to `least`."""

    start: float
    least: float
    most: float
    precision: float = 0.0  # largest relative distance between the two ends; 0: neighbours
    larger_holds: bool = True  # False: of a demand, which holds the smaller it is

    def further(self, value: float, *, easier: bool) -> float | None:
        """Return the next easier or harder number; None at the end of the range."""
        doubled = 2 * value if easier is self.larger_holds else self._rounded(value / 2)
        number = max(self.least, min(doubled, self.most))
        return None if number == value else number

    def between(self, value: float, other: float) -> float | None:
        """Return the geometric mean; None if the two numbers are near enough."""
        low, high = sorted((value, other))
        middle = self._rounded(sqrt(low * high))
        if middle == low and self.larger_holds:
            middle = low + 1
        return middle if high / low - 1 > self.precision and low < middle < high else None

    def _rounded(self, value: float) -> float:
        return round(value) if self.larger_holds else float(f"{value:.{DIGITS}g}")

    @property
    def ladder(self) -> tuple[float, ...]:
        """The numbers of the way up."""
        rungs = [self.start]
        while rungs[-1] < self.most:
            rungs.append(min(2 * rungs[-1], self.most))
        return tuple(rungs)

    @property
    def most_steps(self) -> int:
        """No search with real loads takes more."""
        down = ceil(log2(self.start / self.least)) if self.least < self.start else 0
        apart = self.precision or 1 / self.most
        halvings = ceil(log2(log(2) / log(1 + apart))) if apart < 1 else 0
        return max(len(self.ladder), 1 + down) + max(0, halvings) + CONFIRMING


@dataclass(slots=True, kw_only=True)
class Tries:
    """Numbers that were tried, each once with a seed.

    With `neighbours` the answer holds together with the next larger number: more shards may do worse than
    fewer, where two of them fall on one partition. A single one has nothing that meets.
    """

    measure: Measure
    within: Range
    most_steps: float = inf
    neighbours: bool = False
    is_vain: Callable[[Step], bool] = lambda step: step.state != "limited"
    """Return whether no larger number would hold either."""
    steps: list[Step] = field(default_factory=list)

    def holds(self, value: float, seeds: int = 1, *, with_next: bool = False) -> bool:
        """Return whether a number holds with each of `seeds` seeds; a failure skips the rest."""
        values = (value, value + 1) if with_next and 1 < value < self.within.most else (value,)
        return all(self._step(number, seed).holds for seed in range(seeds) for number in values)

    def _step(self, value: float, seed: int) -> Step:
        tried = [step for step in self.steps if step.value == value]
        if seed == len(tried):
            tried.append(self.measure(value, seed))
            self.steps.append(tried[-1])
        return tried[seed]

    def edge(self) -> tuple[float | None, float | None]:
        """Return the last number that holds with two seeds, and the first that fails; either may be None."""
        good, bad = self._bracket(self.within.start)
        while good is not None:
            # One step is kept for the answer's second seed.
            while bad is not None and len(self.steps) < self.most_steps - 1:
                if (middle := self.within.between(good, bad)) is None:
                    break
                good, bad = (middle, bad) if self.holds(middle) else (good, middle)
            if self.neighbours:
                numbers = range(int(good), int(self.within.most) + 1)
                return next((n for n in numbers if self.holds(n, seeds=2, with_next=True)), good), bad
            if len(self.steps) >= self.most_steps or self.holds(good, seeds=2):
                break
            bad, good = good, self._easier_that_holds(good)
            if good is None:
                good, bad = self._bracket(bad)
        return good, bad

    def _bracket(self, value: float) -> tuple[float | None, float | None]:
        """Find a number that holds and one that fails, by doubling or halving."""
        holds = self.holds(value)
        while (further := self.within.further(value, easier=not holds)) is not None:
            if not holds and self.within.larger_holds and self.is_vain(self.steps[-1]):
                break
            if self.holds(further) is not holds:
                return (value, further) if holds else (further, value)
            value = further
        return (value, None) if holds else (None, value)

    def _easier_that_holds(self, value: float) -> float | None:
        """The nearest number that held, on the side of those that do."""
        larger = self.within.larger_holds
        tried = sorted({step.value for step in self.steps}, reverse=not larger)
        easier = (each for each in tried if each != value and (each > value) is larger)
        return next((each for each in easier if self.holds(each)), None)


def worst_of(steps: Iterable[Step]) -> dict[float, Step]:
    """The step of each number with the seed that throttled most, in ascending order."""
    return {
        step.value: step for step in sorted(steps, key=lambda step: (step.value, not step.holds, step.share))
    }
