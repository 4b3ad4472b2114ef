"""The knee of a load, or of a sweep of shards: what a table carries, and where more brings nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log, log2, sqrt
from typing import Final, Literal

from keyheat.runs.formats import Confidence
from keyheat.words import Constraint, Direction, Grade

State = Literal["carried", "limited", "generator", "undecided"]

DIGITS: Final = 4
"""Of a demand that is tried: more of them nobody reads."""
CONFIRMING: Final = 2  # steps: the lower and the upper end once more


@dataclass(frozen=True, slots=True, kw_only=True)
class KneeStep:
    """One demand that was tried, and what came of it. Rates are means over the step."""

    demand_per_s: float  # in the unit of the load's target
    seed: int
    state: State
    attempts_per_s: float
    throttled_per_s: float
    write_units_per_s: float  # accepted, indexes included
    read_units_per_s: float
    constraint: Constraint = "none"
    resource: str | None = None  # "table", or the name of an index
    direction: Direction | None = None
    grade: Grade = "none"
    confidence: Confidence = 0.0
    because: str = ""
    on_burst: bool = False  # nothing was throttled, but more was consumed than is provisioned
    folder: str | None = None  # the run directory, where there is one

    @property
    def throttled_share(self) -> float:
        """Throttled attempts as a share of all; 0 where nothing was sent."""
        return self.throttled_per_s / self.attempts_per_s if self.attempts_per_s else 0.0

    @property
    def limit(self) -> tuple[Constraint, str | None, Direction | None]:
        """Whose limit it is."""
        return self.constraint, self.resource, self.direction


Measure = Callable[[float, int], KneeStep]
"""Tries a demand; the number is 0 for the first time and 1 for the second, which has another seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Where a knee is looked for: from `start` up to `most`; down to `least`, if the start is not carried."""

    start: float
    least: float
    most: float
    precision: float  # largest relative distance between what is carried and what is not

    @property
    def ladder(self) -> tuple[float, ...]:
        """The demands of the way up."""
        rungs = [self.start]
        while rungs[-1] < self.most:
            rungs.append(min(2 * rungs[-1], self.most))
        return tuple(rungs)

    @property
    def most_steps(self) -> int:
        """No search takes more steps."""
        down = ceil(log2(self.start / self.least)) if self.least < self.start else 0
        halvings = ceil(log2(log(2) / log(1 + self.precision)))
        return max(len(self.ladder), 1 + down) + max(0, halvings) + CONFIRMING


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """What a search found. `steps` are in the order in which they were made."""

    range: Range
    steps: tuple[KneeStep, ...]
    carried: KneeStep | None  # the highest demand below every one that was not carried; None: there is none
    limited: KneeStep | None  # the lowest demand above every one that was carried; None: everything was
    confirmed: bool  # both said the same the second time

    @property
    def state(self) -> State:
        """carried: no constraint in the whole range; limited: a knee; generator, undecided: no answer above
        what was carried."""
        return "carried" if self.limited is None else self.limited.state

    @property
    def in_order(self) -> tuple[KneeStep, ...]:
        """The steps by their demand."""
        return tuple(sorted(self.steps, key=lambda step: step.demand_per_s))


def search(measure: Measure, within: Range) -> Knee:
    """Find the knee with at most `within.most_steps` steps."""
    steps: list[KneeStep] = []

    def tried(demand: float, again: int = 0) -> KneeStep:
        steps.append(measure(demand, again))
        return steps[-1]

    low, high = _bracket(tried, within)
    most_tries = within.most_steps - CONFIRMING  # that are enough but for what rounding adds to a distance
    while low is not None and high is not None and _apart(low, high) > within.precision:
        if len(steps) == most_tries:
            break
        middle = _rounded(sqrt(low.demand_per_s * high.demand_per_s))
        if not low.demand_per_s < middle < high.demand_per_s:
            break
        step = tried(middle)
        low, high = (step, high) if step.state == "carried" else (low, step)
    confirmed = all([_same(tried(one.demand_per_s, 1), one) for one in (high, low) if one is not None])
    if not confirmed:
        low, high = _agreed(steps)
    return Knee(range=within, steps=tuple(steps), carried=low, limited=high, confirmed=confirmed)


def _bracket(tried: Callable[[float], KneeStep], within: Range) -> tuple[KneeStep | None, KneeStep | None]:
    """The highest demand that is carried and the lowest one that is not, by doubling or by halving."""
    low: KneeStep | None = None
    for demand in within.ladder:
        step = tried(demand)
        if step.state != "carried":
            high = step
            break
        low = step
    else:
        return low, None
    while low is None and high.demand_per_s > within.least:
        step = tried(max(_rounded(high.demand_per_s / 2), within.least))
        low, high = (step, high) if step.state == "carried" else (None, step)
    return low, high


def _apart(low: KneeStep, high: KneeStep) -> float:
    return high.demand_per_s / low.demand_per_s - 1.0


def _rounded(demand: float) -> float:
    return float(f"{demand:.{DIGITS}g}")


def _same(again: KneeStep, first: KneeStep) -> bool:
    """Whether a second try says what the first did: of a limit, also whose it is."""
    return again.state == first.state and again.limit == first.limit


def _agreed(steps: list[KneeStep]) -> tuple[KneeStep | None, KneeStep | None]:
    """What all tries agree on: below the one everything was carried, above the other nothing was."""
    carried = [step for step in steps if step.state == "carried"]
    others = [step for step in steps if step.state != "carried"]
    lowest = min((step.demand_per_s for step in others), default=float("inf"))
    highest = max((step.demand_per_s for step in carried), default=0.0)
    below = [step for step in carried if step.demand_per_s < lowest]
    above = [step for step in others if step.demand_per_s > highest]
    return (
        max(below, key=lambda step: step.demand_per_s, default=None),
        min(above, key=lambda step: step.demand_per_s, default=None),
    )


THROTTLED_MOST: Final = 0.01
RISE_MOST: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One valid run of a sweep."""

    shards: int
    accepted_per_s: float  # write units
    throttled_share: float  # of the writes


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardKnee:
    """Where the sweep stops gaining; None where no number of shards in it was enough."""

    point: SweepPoint | None
    best: SweepPoint  # the point that accepted most; the smallest number of shards among equals


def knee_of(points: Sequence[SweepPoint]) -> ShardKnee | None:
    """The knee of a sweep; None where it has no point."""
    if not points:
        return None
    ordered = sorted(points, key=lambda point: point.shards)
    enough = (
        point
        for place, point in enumerate(ordered)
        if point.throttled_share <= THROTTLED_MOST and not _rises(point, ordered[place + 1 :])
    )
    best = max(ordered, key=lambda point: (point.accepted_per_s, -point.shards))
    return ShardKnee(point=next(enough, None), best=best)


def _rises(point: SweepPoint, larger: Sequence[SweepPoint]) -> bool:
    return any(one.accepted_per_s > point.accepted_per_s * (1 + RISE_MOST) for one in larger)
