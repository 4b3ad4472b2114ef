"""The chances that random scenarios share: how far above a limit, how long, in which shape."""

from math import exp, log, pi
from random import Random
from typing import Final

import numpy as np
import numpy.typing as npt

Rates = npt.NDArray[np.float64]

SHORTEST_S, LONGEST_S = 180, 5_400
ALMOST: Final = (0.96, 1.08)  # demand hardly below or above a limit


def between(rng: Random, low: float, high: float) -> float:
    """A number between two, every factor alike: as often from 1 to 10 as from 10 to 100."""
    return exp(rng.uniform(log(low), log(high)))


def above_limit(rng: Random) -> float:
    """Demand as a multiple of the limit that it presses against; one time in six hardly at it."""
    return rng.uniform(*ALMOST) if rng.random() < 1 / 6 else between(rng, 1.1, 4)


def above_burst(rng: Random) -> float:
    """Demand as a multiple of a capacity whose burst has to be spent first: seldom hardly above it."""
    return rng.uniform(*ALMOST) if rng.random() < 1 / 8 else between(rng, 1.4, 6)


def below_limit(rng: Random) -> float:
    """Demand as a part of a limit that it leaves in peace; one time in eight nearly at it."""
    return rng.uniform(0.85, 0.97) if rng.random() < 1 / 8 else rng.uniform(0.05, 0.85)


def a_duration_s(rng: Random) -> int:
    """Seconds of load: mostly a few minutes, seldom an hour and a half."""
    kind = rng.random()
    if kind < 0.92:
        return round(between(rng, SHORTEST_S, 480))
    return round(between(rng, 480, 1_500) if kind < 0.985 else between(rng, 1_500, LONGEST_S))


def a_shape(rng: Random, duration_s: int, *, base: tuple[float, float] = (0.05, 0.5)) -> tuple[Rates, str]:
    """The load in each second as a part of its peak, and what it looks like.

    `base` is between which parts of the peak a load with spikes rests.
    """
    kind = rng.choices(
        ("constant", "ramp", "steps", "spikes", "day", "pauses"), weights=(40, 12, 12, 18, 10, 8)
    )[0]
    seconds = np.arange(duration_s, dtype=np.float64)
    match kind:
        case "ramp":
            first, last = sorted((rng.uniform(0.05, 0.6), 1.0), reverse=rng.random() < 0.25)
            return np.linspace(first, last, duration_s), f"a ramp from {first:.0%} to {last:.0%}"
        case "steps":
            return _steps(rng, duration_s)
        case "spikes":
            return some_spikes(rng, duration_s, low=rng.uniform(*base))
        case "day":
            low, period_s = rng.uniform(0.05, 0.6), rng.uniform(0.5, 2) * duration_s
            return 1 - (1 - low) * (
                1 + np.cos(2 * pi * seconds / period_s)
            ) / 2, f"a day curve from {low:.0%}"
        case "pauses":
            on_s, off_s = rng.randint(40, 240), rng.randint(40, 240)
            return np.where(seconds % (on_s + off_s) < on_s, 1.0, 0.0), f"{on_s} s of load, {off_s} s of none"
    return np.ones(duration_s), "constant"


def some_spikes(rng: Random, duration_s: int, *, low: float) -> tuple[Rates, str]:
    """Seconds at the peak, again and again, above the part `low` of it."""
    long_s, every_s = rng.randint(3, 25), rng.randint(35, 200)
    first = rng.randrange(every_s)
    rates = np.where((np.arange(duration_s) + first) % every_s < long_s, 1.0, low)
    return rates, f"spikes of {long_s} s every {every_s} s above {low:.0%}"


def _steps(rng: Random, duration_s: int) -> tuple[Rates, str]:
    count = rng.randint(2, 6)
    levels = [rng.uniform(0.1, 1.0) for _ in range(count)]
    levels[rng.randrange(count)] = 1.0
    which = np.minimum(np.arange(duration_s) * count // duration_s, count - 1)
    return np.array(levels)[which], "steps " + ", ".join(f"{level:.0%}" for level in levels)


def after_pause(rng: Random, rates: Rates) -> Rates:
    """The load, one time in ten after minutes in which nothing is sent."""
    if rng.random() >= 0.1:
        return rates
    idle_s = min(rng.randint(30, 240), len(rates) // 3)
    return np.concatenate([np.zeros(idle_s), rates[:-idle_s]])
