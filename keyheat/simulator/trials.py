"""Numbers that are tried, each on the simulator, until the smallest is found that is enough.

    throttled share
      0.4 |x
          |   x
          |       x                 doubled until one holds, halved between,
    most -|- - - - - -x- x- - - -   and then held against its neighbours
          +--------------------
           1  2   4   6  7   8      numbers

Each is simulated with the scenario's seed, and where that is enough with a second one. A larger number of
shards may do worse than a smaller one, where two of them fall on one partition; so the answer is one whose
next larger neighbour holds as well, and whose next smaller one does not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from keyheat.scenario.scenario import Scenario
from keyheat.simulator.outcome import Outcome

Measure = Callable[[Scenario, int], Outcome]
"""Simulates a scenario with a seed."""


class Watch(Protocol):
    """Who is told how far a search is."""

    def trying(self, value: int) -> None:
        """Another number is tried."""

    def simulated(self, part: float) -> None:
        """So much of its simulation is done, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A number that was tried: its scenario, and what each seed came to. The first seed's comes first."""

    value: int
    scenario: Scenario
    outcomes: tuple[Outcome, ...]
    share: float  # throttled, of the attempts that the question is about; the worst of the seeds
    enough: bool


@dataclass(slots=True, kw_only=True)
class Trials:
    """Candidates by their number, each simulated once."""

    of: Callable[[int], Scenario]
    measure: Measure
    share_of: Callable[[Outcome], float]
    share_most: float
    watch: Watch | None
    tried: dict[int, Candidate] = field(default_factory=dict)

    def holds(self, value: int) -> bool:
        """Whether the number is enough, with both seeds; the second is not asked where the first says no."""
        if value not in self.tried:
            if self.watch is not None:
                self.watch.trying(value)
            scenario = self.of(value)
            outcomes = [self.measure(scenario, scenario.seed)]
            if self.share_of(outcomes[0]) <= self.share_most:
                outcomes.append(self.measure(scenario, scenario.seed + 1))
            share = max(map(self.share_of, outcomes))
            self.tried[value] = Candidate(
                value=value,
                scenario=scenario,
                outcomes=tuple(outcomes),
                share=share,
                enough=share <= self.share_most,
            )
        return self.tried[value].enough

    def smallest(self, *, start: int, most: int, step: float) -> int | None:
        """Doubled until one holds, then halved between, down to a part `step` of it; None: none holds."""
        low, high = 0, min(start, most)
        while not self.holds(high):
            if high == most:
                return None
            low, high = high, min(2 * high, most)
        while high - low > max(1, math.floor(step * high)):
            middle = (low + high) // 2
            low, high = (low, middle) if self.holds(middle) else (middle, high)
        return high

    def settled(self, value: int, most: int) -> int:
        """The number that its larger neighbour bears out, and no smaller neighbour undercuts."""
        while value < most and not self.holds(value + 1):
            larger = next((one for one in range(value + 2, most + 1) if self.holds(one)), None)
            if larger is None:
                return value
            value = larger
        while value > 1 and self.holds(value - 1):
            value -= 1
        return value

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All that were tried, in ascending order."""
        return tuple(self.tried[value] for value in sorted(self.tried))
