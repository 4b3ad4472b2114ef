"""The load of a random scenario: streams of requests, where they fall, and the chances they are drawn by."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log, pi
from random import Random
from typing import Final

import numpy as np
import numpy.typing as npt

from keyheat.model.splits import point, position
from keyheat.simulator.flow import Flow, FlowAnswer, Traffic
from keyheat.simulator.masses import Masses, Within

WAITS_S: Final = (1, 2, 4)  # what a client with back-off waits before it tries again


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStream:
    """Requests of one kind over the whole run."""

    flow: Flow  # its number of requests and its keys are those of each second
    per_s: npt.NDArray[np.float64]  # requests in each second of the run
    keys: tuple[Masses, ...]  # one after the other
    keys_s: int  # seconds until the next keys have their turn
    tries_again: float = 0.0  # the part of the refused requests that comes again


class RandomTraffic(Traffic):
    """The streams as the table meets them; refused requests come again where their stream says so."""

    __slots__ = ("_again", "_rng", "_sending", "_streams")

    def __init__(self, streams: Sequence[RequestStream], seed: int) -> None:
        self._streams = tuple(streams)
        self._rng = Random(seed)
        self._again: Counter[tuple[int, int]] = Counter()  # by stream and second
        self._sending: list[int] = []

    def second(self, at_s: float) -> Sequence[Flow]:
        """What is sent in the second that begins `at_s` seconds into the run."""
        place = int(at_s)
        flows = []
        self._sending = []
        for number, stream in enumerate(self._streams):
            fresh = float(stream.per_s[place]) if place < len(stream.per_s) else 0.0
            requests = fresh + self._again.pop((number, place), 0)
            if requests > 0:
                turn = place // stream.keys_s % len(stream.keys)
                flows.append(replace(stream.flow, requests=requests, keys=stream.keys[turn]))
                self._sending.append(number)
        return flows

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        """Let a part of what was refused come again, after a wait."""
        for number, answer in zip(self._sending, answers, strict=True):
            share = self._streams[number].tries_again
            refused = answer.attempts - answer.accepted
            if share and refused:
                wait_s = self._rng.choice(WAITS_S)
                self._again[number, int(at_s) + wait_s] += round(refused * share)


NAMED: Final = 200  # keys of a Zipf distribution that are told apart; the rest lies evenly


def even() -> Masses:
    """Keys too many to name, evenly used."""
    return keys([], even=1.0)


def hot_key(name: str, share: float, within: Within = "point") -> Masses:
    """One key with a share of all requests."""
    return keys([(name, share)], even=1 - share, within=within)


def hot_set(name: str, count: int, share: float, within: Within = "point") -> Masses:
    """A few keys that take a share evenly among them: also one key with so many suffixes."""
    named = [(f"{name}-{number}", share / count) for number in range(count)]
    return keys(named, even=1 - share, within=within)


def zipf(name: str, count: int, exponent: float) -> Masses:
    """`count` keys, the k-th most used in proportion to 1 / k^exponent."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    shares = weights / weights.sum()
    named = [(f"{name}-{rank}", float(share)) for rank, share in enumerate(shares[:NAMED])]
    return keys(named, even=max(0.0, 1 - sum(share for _, share in named)))


def keys(named: Sequence[tuple[str, float]], *, even: float, within: Within = "point") -> Masses:
    """Named keys with their shares, and the share of all others."""
    placed = sorted((point(position(name.encode())), name, share) for name, share in named)
    return Masses(
        points=np.array([at for at, _, _ in placed], dtype=np.uint64),
        shares=np.array([share for _, _, share in placed], dtype=np.float64),
        even=even,
        name=[name for _, name, _ in placed].__getitem__,
        within=within,
    )


def some_keys(rng: Random, name: str, hottest: float) -> tuple[Masses, str]:
    """Keys of a random kind whose most used one takes at most the share `hottest`, and what they are."""
    kind = rng.choice(("even", "even", "hot key", "hot set", "zipf", "sharded"))
    share = hottest * rng.uniform(0.2, 0.9)
    if kind == "hot key":
        return hot_key(name, share), f"a key with {share:.1%}"
    if kind == "hot set":
        count = rng.randint(3, 40)
        taken = min(0.9, share * count)
        return hot_set(name, count, taken), f"{count} keys with {taken:.0%}"
    if kind == "zipf":
        exponent = rng.uniform(0.4, 1.1)
        found = zipf(name, 10_000, exponent)
        if found.shares.max() <= hottest:
            return found, f"Zipf keys, exponent {exponent:.2f}"
    if kind == "sharded":
        count = rng.randint(2, 20)
        if 1 / count <= hottest:
            return hot_set(name, count, 1.0), f"one key in {count} shards"
    return even(), "even keys"


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
            count = rng.randint(2, 6)
            levels = [rng.uniform(0.1, 1.0) for _ in range(count)]
            levels[rng.randrange(count)] = 1.0
            which = np.minimum(np.arange(duration_s) * count // duration_s, count - 1)
            return np.array(levels)[which], "steps " + ", ".join(f"{level:.0%}" for level in levels)
        case "spikes":
            return some_spikes(rng, duration_s, low=rng.uniform(*base))
        case "day":
            low, period_s = rng.uniform(0.05, 0.6), rng.uniform(0.5, 2) * duration_s
            wave = (1 + np.cos(2 * pi * seconds / period_s)) / 2
            return 1 - (1 - low) * wave, f"a day curve from {low:.0%}"
        case "pauses":
            on_s, off_s = rng.randint(40, 240), rng.randint(40, 240)
            return np.where(seconds % (on_s + off_s) < on_s, 1.0, 0.0), f"{on_s} s of load, {off_s} s of none"
    return np.ones(duration_s), "constant"


def some_spikes(rng: Random, duration_s: int, *, low: float) -> tuple[Rates, str]:
    """Seconds at the peak, again and again, above the part `low` of it."""
    long_s, every_s = rng.randint(3, 25), rng.randint(35, 200)
    return again(rng, duration_s, long_s=long_s, every_s=every_s, low=low)


def again(
    rng: Random, duration_s: int, *, long_s: int, every_s: int, low: float, what: str = "spikes"
) -> tuple[Rates, str]:
    """`long_s` seconds at the peak in every `every_s`, from a random one on."""
    first = rng.randrange(every_s)
    rates = np.where((np.arange(duration_s) + first) % every_s < long_s, 1.0, low)
    return rates, f"{what} of {long_s} s every {every_s} s above {low:.0%}"


def after_pause(rng: Random, rates: Rates) -> Rates:
    """The load, one time in ten after minutes in which nothing is sent."""
    if rng.random() >= 0.1:
        return rates
    idle_s = min(rng.randint(30, 240), len(rates) // 3)
    return np.concatenate([np.zeros(idle_s), rates[:-idle_s]])
