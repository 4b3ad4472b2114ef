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

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import ceil, log, log2, sqrt
from pathlib import Path
from typing import Final, Literal

from keyheat.runs.formats import Verdict
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.outcome import LimitHit, SimulationOutcome
from keyheat.words import Direction

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
    most_steps: int | None = None  # None: as many as it takes
    neighbours: bool = False
    is_vain: Callable[[Step], bool] = lambda step: step.state != "limited"
    """Return whether no larger number would hold either."""
    steps: list[Step] = field(default_factory=list)

    def holds(self, value: float, seeds: int = 1, *, with_next: bool = False) -> bool:
        """Return whether a number holds with each of `seeds` seeds; a failure skips the rest."""
        values = (value, value + 1) if with_next and 1 < value < self.within.most else (value,)
        return all(self._holds_with(number, seed) for seed in range(seeds) for number in values)

    def _holds_with(self, value: float, seed: int) -> bool:
        tried = [step for step in self.steps if step.value == value]
        if seed == len(tried):
            tried.append(self.measure(value, seed))
            self.steps.append(tried[-1])
        return tried[seed].holds

    def edge(self) -> tuple[float | None, float | None]:
        """Return the last number that holds with two seeds, and the first that fails; either may be None."""
        good, bad = self._bracket(self.within.start)
        while good is not None:
            while bad is not None and (middle := self._middle(good, bad)) is not None:
                good, bad = (middle, bad) if self.holds(middle) else (good, middle)
            if self.neighbours:
                numbers = range(int(good), int(self.within.most) + 1)
                return next((n for n in numbers if self.holds(n, seeds=2, with_next=True)), good), bad
            if self._is_spent or self.holds(good, seeds=2):
                break
            bad, good = good, self._easier_that_holds(good)
            if good is None:
                good, bad = self._bracket(bad)
        return good, bad

    @property
    def _is_spent(self) -> bool:
        return self.most_steps is not None and len(self.steps) >= self.most_steps

    def _middle(self, good: float, bad: float) -> float | None:
        """The next number to try; one step is kept for the answer's second seed."""
        if self.most_steps is not None and len(self.steps) >= self.most_steps - 1:
            return None
        return self.within.between(good, bad)

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
