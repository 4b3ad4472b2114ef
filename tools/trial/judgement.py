"""A trial held against the model: where DynamoDB did otherwise, and which parameter of the model explains it.

    measured --|--  tolerance  --|-- what the model says, over several seeds

Where a scenario is outside, every parameter that it depends on is tried with values from an eighth to eight
times its default. The one that brings most scenarios inside, and none out, is named, with its value; others
that do as well are named beside it, for then nobody can tell. Then the next one, until nothing is left.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import chain
from math import ceil
from statistics import fmean, pstdev
from typing import Any, Final

from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.limits import WRITE_UNIT_BYTES
from keyheat.simulator.simulate import simulate
from tools.trial.record import (
    FOLDER,
    STEP_S,
    Observed,
    ScenarioName,
    as_sent,
    observed_simulation,
    trial_scenario,
)

FIRST, AT_LIMIT = "first throttle, s", "seconds at the limit"
TIMES: Final = {FIRST: 1.5, AT_LIMIT: 2.0}
"""Measures in seconds, with what they may always be apart: rows are of whole seconds, a load is not."""
SEEDS: Final = (1, 2, 3, 4, 5)
SHOWS: Final[Mapping[str, tuple[str, ...]]] = {
    "partition_depth_s": ("hot-key", "start-on-demand"),
    "quota_depth_s": ("maximum-on-demand",),
    "index_buffer_units": ("index-held-back",),
    "burst_s": ("burst-spent", "small-table"),
    "burst_floor_units": ("small-table", "burst-spent"),
    "burst_at_start_share": ("burst-spent", "small-table"),
    "nodes": ("small-table",),
    "node_chunk_units": ("small-table",),
    "node_grant_s": ("small-table",),
}
"""Parameters of the model, each with the scenarios in which it shows."""
COARSE: Final = tuple(2 ** (power / 2) for power in range(-6, 7) if power)
FINE: Final = (2**0.25, 2**0.125)  # steps around the best one so far
NONE_OF_IT: Final = "burst_at_start_share"  # the one that may be 0, and is 1 at most
NEAR: Final = 0.25
"""Part of the requests that may be missing, or too many; the model is asked for as many as were sent."""
SAME: Final = 2.0
"""Parameters explain a trial equally well where their losses, sums of squared tolerances, are so near."""


def measures(seen: Observed, duration_s: float) -> dict[str, float]:
    """What is held against the model, by name."""
    first = seen.first_throttle_s
    found = {FIRST: duration_s if first is None else float(first), AT_LIMIT: float(seen.at_limit_s)}
    for place, units in enumerate(seen.units_by_10_s):
        found[f"units, {place * STEP_S} to {(place + 1) * STEP_S} s"] = units
    for minute in seen.minutes:
        for reason, count in minute.throttles.items():
            found[reason] = found.get(reason, 0.0) + count
    return found


@dataclass(frozen=True, slots=True)
class Held:
    """One number that was measured, what the model says, and how far apart chance may bring them."""

    name: str
    seen: float
    said: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        return abs(self.seen - self.said) <= self.tolerance


@dataclass(frozen=True, slots=True)
class Comparison:
    seen: Observed
    said: Observed  # by one of the seeds
    held: tuple[Held, ...]
    chance: bool  # False: every seed says the same

    @classmethod
    def of(cls, seen: Observed) -> "Comparison":
        said = [_said(seen, DEFAULT, seed) for seed in SEEDS]
        held, chance = [], False
        for name, real, values in _measured(seen, said):
            least = _least(name, fmean(values), seen)
            tolerance = max(least, 3 * pstdev(values))
            chance |= tolerance > least
            held.append(Held(name, real, fmean(values), tolerance))
        return cls(seen, said[0], tuple(held), chance)

    def off(self, behaviour: Behaviour, seeds: int = len(SEEDS)) -> tuple[float, float]:
        """With another behaviour: the largest distance of a measure, and the sum of their squares."""
        tolerances = {one.name: one.tolerance for one in self.held}
        some = SEEDS[:seeds] if self.chance else SEEDS[:1]
        offs = []
        for name, real, values in _measured(self.seen, [_said(self.seen, behaviour, seed) for seed in some]):
            tolerance = max(tolerances.get(name, self.seen.attempts * 0.04), 3 * pstdev(values), 1.0)
            offs.append(abs(real - fmean(values)) / tolerance)
        return max(offs), sum(off * off for off in offs)

    @property
    def scenario(self) -> str:
        return self.seen.scenario

    @property
    def agrees(self) -> bool:
        return all(one.agrees for one in self.held)


@dataclass(frozen=True, slots=True)
class Guess:
    """One parameter with the value at which it explains what was seen."""

    parameter: str
    value: Any
    loss: float
    cured: frozenset[str]  # scenarios that agree with it, and did not without
    broken: frozenset[str]  # the other way round


@dataclass(frozen=True, slots=True)
class Explanation:
    """What explains some scenarios: one parameter, or several of which nobody can tell which."""

    guesses: tuple[Guess, ...]

    @property
    def scenarios(self) -> frozenset[str]:
        return self.guesses[0].cured

    @property
    def determined(self) -> bool:
        return len(self.guesses) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    compared: tuple[Comparison, ...]
    explanations: tuple[Explanation, ...] = field(default=())
    unexplained: tuple[str, ...] = ()  # scenarios that differ whatever parameter is changed

    @property
    def differing(self) -> tuple[str, ...]:
        return tuple(one.scenario for one in self.compared if not one.agrees)


def comparable(seen: Observed) -> bool:
    """Whether a scenario says something, and was sent about as it was meant."""
    load = trial_scenario(seen.scenario).load
    asked = load.target_per_s * load.duration_s
    return seen.state == "measured" and abs(seen.attempts - asked) <= NEAR * asked


def judged(scenarios: Iterable[Observed]) -> Judgement:
    """Hold what was measured against the model, and look for what explains the difference."""
    expected: dict[str, Comparison] = {
        seen.scenario: Comparison.of(seen) for seen in scenarios if comparable(seen)
    }
    behaviour, found = DEFAULT, list[Explanation]()
    left = _outside(expected, behaviour)
    while left:
        used = {one.guesses[0].parameter for one in found}
        names = [name for name, shows in SHOWS.items() if name not in used and left & set(shows)]
        guesses = [_best(name, expected, behaviour, left) for name in names]
        explanation = _explanation(guesses)
        if explanation is None:
            break
        found.append(explanation)
        first = explanation.guesses[0]
        behaviour = replace(behaviour, **{first.parameter: first.value})
        left = _outside(expected, behaviour)
    return Judgement(
        compared=tuple(expected.values()),
        explanations=tuple(found),
        unexplained=tuple(sorted(left)),
    )


def _measured(seen: Observed, said: Iterable[Observed]) -> Iterator[tuple[str, float, list[float]]]:
    """Each measure: its name, what was seen, and what each seed says."""
    duration_s = trial_scenario(seen.scenario).load.duration_s
    real, runs = measures(seen, duration_s), [measures(one, duration_s) for one in said]
    for name in dict.fromkeys([*real, *chain(*runs)]):
        yield name, real.get(name, 0.0), [run.get(name, 0.0) for run in runs]


def _least(name: str, mean: float, seen: Observed) -> float:
    """How far apart one measure of two loads may be where nothing is left to chance.

    A load begins within a second, so one second of it may fall into the next row.
    """
    load = trial_scenario(seen.scenario).load
    if name in TIMES:
        return max(TIMES[name], 0.1 * mean)
    if name.startswith("units"):
        assert isinstance(load.item_bytes, int), "the scenarios of a trial have items of one size"
        return max(0.04 * mean, seen.attempts / load.duration_s * ceil(load.item_bytes / WRITE_UNIT_BYTES))
    return 0.1 * seen.attempts  # of a reason: how many of them there are is in the units already


_scenario: Final = cache(as_sent)


def _said(seen: Observed, behaviour: Behaviour, seed: int) -> Observed:
    return _simulated(seen.scenario, seen.attempts, seen.scale, behaviour, seed)


@lru_cache(maxsize=512)  # the search for a parameter comes back to what it has tried, with more seeds
def _simulated(name: ScenarioName, attempts: int, scale: float, behaviour: Behaviour, seed: int) -> Observed:
    scenario = _scenario(name, attempts, scale)
    return observed_simulation(name, simulate(scenario, seed=seed, folder=FOLDER, behaviour=behaviour))


def _outside(expected: Mapping[str, Comparison], behaviour: Behaviour) -> set[str]:
    return {name for name, one in expected.items() if one.off(behaviour)[0] > 1}


def _best(name: str, expected: Mapping[str, Comparison], behaviour: Behaviour, left: set[str]) -> Guess:
    """The value of a parameter that comes nearest to what was seen: of many roughly, then around the best."""
    shown = [expected[one] for one in SHOWS[name] if one in expected]
    others = sum(one.off(behaviour)[1] for key, one in expected.items() if key in left and one not in shown)

    @cache
    def guess(value: Any, seeds: int) -> Guess:
        with_it = replace(behaviour, **{name: value})
        offs = {one.scenario: one.off(with_it, seeds) for one in shown}
        inside = {key for key, (most, _loss) in offs.items() if most <= 1}
        loss = others + sum(loss for _most, loss in offs.values())
        return Guess(name, value, loss, frozenset(inside & left), frozenset(offs.keys() - inside - left))

    def loss(factor: float, seeds: int) -> float:
        return guess(_scaled(name, factor), seeds).loss

    first = ((0.0,) if name == NONE_OF_IT else ()) + COARSE
    middle = min(first, key=lambda factor: loss(factor, 2))
    for step in FINE:
        middle = min((middle, middle * step, middle / step), key=lambda factor: loss(factor, len(SEEDS)))
    return guess(_scaled(name, middle), len(SEEDS))


def _scaled(name: str, factor: float) -> Any:
    """The default of a parameter, so many times; of its own kind."""
    default = getattr(DEFAULT, name)
    if isinstance(default, tuple):
        return tuple(float(f"{end * factor:.3g}") for end in default)
    if isinstance(default, int) and name == "nodes":
        return max(1, round(default * factor))
    most = 1.0 if name == NONE_OF_IT else float("inf")
    return min(most, float(f"{default * factor:.3g}"))


def _explanation(guesses: Iterable[Guess]) -> Explanation | None:
    """The parameter that explains most, and those that do as well; None where none explains anything."""
    good = [one for one in guesses if one.cured and not one.broken]
    if not good:
        return None
    best = min(good, key=lambda one: (-len(one.cured), one.loss))
    alike = [one for one in good if one.cured == best.cured and one.loss <= best.loss + SAME]
    return Explanation(tuple(sorted(alike, key=lambda one: one.loss)))
