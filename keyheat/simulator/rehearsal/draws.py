"""Chance in a rehearsal: every draw is noted, and draws fill their range evenly, so that few are enough.

The n-th task's i-th draw is the fraction of n times the square root of the i-th prime (a Kronecker sequence):
a hundred of them are spread as evenly as ten thousand at random.
"""

from math import isqrt, sqrt
from random import Random
from typing import Any, Final

from keyheat.scenario.keys import KeyPattern

FRESH_BITS: Final = 48  # of a draw: so many make a value that nobody has drawn before


def _roots(count: int) -> tuple[float, ...]:
    primes = (n for n in range(2, 20 * count) if all(n % d for d in range(2, isqrt(n) + 1)))
    return tuple(sqrt(prime) for prime, _ in zip(primes, range(count), strict=False))


OFTEN: Final = 100
ROOTS: Final = _roots(2 * OFTEN)


class Draws:
    """What the task that is going on has drawn."""

    def __init__(self) -> None:
        self.keys: list[str] = []  # of the scenario's pattern
        self.numbers: list[tuple[int, int, int]] = []  # each with the least and the greatest that it could be
        self.fresh = False  # whether it drew enough bits for a new value
        self._task = 0
        self._made = [0, 0]  # draws by the task itself, and by the pattern for it: neither moves the other's

    def begin(self, task: int) -> None:
        """The n-th time that a task is done begins."""
        self.keys, self.numbers, self.fresh = [], [], False
        self._task, self._made = task, [0, 0]

    def next(self, chance: Random, *, of_pattern: bool) -> float:
        """From 0 to 1; a task that draws very often has the rest from `chance`."""
        place = self._made[of_pattern]
        self._made[of_pattern] += 1
        if place >= OFTEN:
            return chance.random()
        return (self._task + 0.5) * ROOTS[place + OFTEN * of_pattern] % 1.0


class Noting(Random):
    """A user's source of chance."""

    def __init__(self, draws: Draws, seed: object, *, of_pattern: bool = False) -> None:
        super().__init__(str(seed))
        self._draws, self._chance, self._of_pattern = draws, Random(str(seed)), of_pattern

    def __new__(cls, *_what: object, **_how: bool) -> "Noting":
        return super().__new__(cls)

    def random(self) -> float:
        return self._draws.next(self._chance, of_pattern=self._of_pattern)

    def getrandbits(self, k: int, /) -> int:
        self._draws.fresh |= k >= FRESH_BITS
        return self._chance.getrandbits(k)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        numbers = range(start) if stop is None else range(start, stop, step)
        value = numbers[int(self.random() * len(numbers))]
        if step == 1 and not self._of_pattern:  # how the pattern draws is the pattern's to say
            self._draws.numbers.append((value, numbers[0], numbers[-1]))
        return value

    def randint(self, a: int, b: int) -> int:
        return self.randrange(a, b + 1)

    def choice(self, seq: Any) -> Any:
        return seq[int(self.random() * len(seq))]


class NotedKeys:
    """The scenario's pattern, as users draw from it."""

    def __init__(self, pattern: KeyPattern, draws: Draws, seed: int) -> None:
        self._pattern, self._draws = pattern, draws
        self._rng = Noting(draws, f"{seed}/keys", of_pattern=True)

    def draw(self, _rng: Random, elapsed_s: float) -> str:
        """The key that is touched next."""
        key = self._pattern.draw(self._rng, elapsed_s)
        self._draws.keys.append(key)
        return key
