"""A generated sequence: 1, 2, 3 ... each key once."""

from dataclasses import dataclass
from random import Random

import numpy as np

from keyheat.scenario.patterns.base import PREFIX, Keys, Times, numbered

NUMBERS_PER_WORKER = 1_000_000_000
"""Room between the numbers of two processes, so that no key is drawn twice and nobody has to ask."""


@dataclass(slots=True)
class Sequence:
    """Order or transaction numbers, each used once. It remembers how far it is, so every process has its own.

    A hash places the keys, so that they spread evenly although the numbers only ever grow.
    """

    prefix: str = PREFIX
    following: int = 1

    @classmethod
    def of_worker(cls, worker: int, prefix: str = PREFIX) -> "Sequence":
        """The numbers of one process, counted from 0."""
        return cls(prefix, worker * NUMBERS_PER_WORKER + 1)

    def draw(self, rng: Random, at_s: float) -> str:
        number = self.following
        self.following += 1
        return f"{self.prefix}-{number}"

    def draw_many(self, rng: np.random.Generator, at_s: Times) -> Keys:
        first = self.following
        self.following += len(at_s)
        return numbered(self.prefix, np.arange(first, self.following))

    @property
    def hottest_share(self) -> float:
        return 0.0
