"""Chance in a rehearsal: every draw is noted, and draws fill their range evenly, so that few are enough.

The n-th task's i-th draw is the fraction of n times the square root of the i-th prime (a Kronecker sequence):
a hundred of them are spread as evenly as ten thousand at random.
"""

from collections.abc import Sequence
from math import isqrt, sqrt
from random import Random
from typing import Any, Final

from keyheat.scenario.keys import KeyPattern

FRESH_BITS: Final = 48  # of a draw: so many make a value that nobody has drawn before


def _roots(count: int) -> tuple[float, ...]:
    primes = (n for n in range(2, 20 * count) if all(n % d for d in range(2, isqrt(n) + 1)))
    return tuple(sqrt(prime) for prime, _ in zip(primes, range(count), strict=False))


ROOTS: Final = _roots(200)


class Draws:
    """What the task that is going on has drawn."""

    def __init__(self) -> None:
        self.keys: list[str] = []  # of the scenario's pattern
        self.numbers: list[tuple[int, int]] = []  # each with how many it was drawn from
        self.fresh = False  # whether it drew enough bits for a new value
        self._task = self._draw = 0

    def begin(self, task: int) -> None:
        """The n-th time that a task is done begins."""
        self.keys, self.numbers, self.fresh = [], [], False
        self._task, self._draw = task, 0

    def next(self, chance: Random) -> float:
        """From 0 to 1; a task that draws very often has the rest from `chance`."""
        self._draw += 1
        if self._draw > len(ROOTS):
            return chance.random()
        return (self._task + 0.5) * ROOTS[self._draw - 1] % 1.0


class Noting(Random):
    """A user's source of chance."""

    draws: Draws

    @classmethod
    def of(cls, draws: Draws, seed: object) -> "Noting":
        """One that notes what it gives."""
        made = cls(str(seed))
        made.draws, made._plain = draws, Random(str(seed))  # type: ignore[attr-defined]
        return made

    def random(self) -> float:
        draws = getattr(self, "draws", None)
        return super().random() if draws is None else draws.next(self._plain)  # type: ignore[attr-defined]

    def getrandbits(self, k: int, /) -> int:
        self.draws.fresh |= k >= FRESH_BITS
        return int(self._plain.getrandbits(k))  # type: ignore[attr-defined]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        first, numbers = (0, range(start)) if stop is None else (start, range(start, stop, step))
        value = first + int(self.random() * len(numbers)) * step
        self.draws.numbers.append((value, len(numbers)))
        return value

    def randint(self, a: int, b: int) -> int:
        return self.randrange(a, b + 1)

    def choice(self, seq: Sequence[Any]) -> Any:
        return seq[int(self.random() * len(seq))]


class NotedKeys:
    """The scenario's pattern, as users draw from it."""

    def __init__(self, pattern: KeyPattern, draws: Draws, seed: int) -> None:
        self._pattern, self._draws = pattern, draws
        self._rng = Noting.of(draws, f"{seed}/keys")

    def draw(self, _rng: Random, elapsed_s: float) -> str:
        """The key that is touched next."""
        before = len(self._draws.numbers)
        key = self._pattern.draw(self._rng, elapsed_s)
        del self._draws.numbers[before:]  # how the pattern drew it is the pattern's to say
        self._draws.keys.append(key)
        return key
