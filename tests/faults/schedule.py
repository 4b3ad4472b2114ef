"""When which fault is on: for requests of these numbers, or at times drawn from a seed."""

from collections.abc import Iterator, Sequence
from random import Random

from tests.faults.kinds import FAULTS, Step

EVERY_S = (3.0, 7.0)
MOMENTARY = {"close_idle"}
SHARES = {"slow_answer": 0.05, "silence": 0.005}  # those that hold users; of the others a part, or all
OF_OTHERS = (0.02, 0.1, 0.3, 1.0)


def in_turn(faults: Sequence[str], *, first: int, each: int, gap: int) -> dict[int, str]:
    """One fault after the other, each for some requests, with some in peace in between: by their numbers."""
    return {
        first + number * (each + gap) + place: fault
        for number, fault in enumerate(faults)
        for place in range(1 if FAULTS[fault].where == "connection" else each)
    }


def at_random(seed: int, until_s: float) -> list[Step]:
    """A fault every few seconds until so long after the first request."""
    return list(_drawn(Random(seed), until_s))


def _drawn(rng: Random, until_s: float) -> Iterator[Step]:
    at_s, names = 0.0, list(FAULTS)
    while (at_s := at_s + rng.uniform(*EVERY_S)) < until_s:
        fault = rng.choice(names)
        for_s = 0.0 if fault in MOMENTARY else rng.uniform(0.2, 1.5)
        yield Step(fault, at_s, for_s, SHARES.get(fault) or rng.choice(OF_OTHERS))
