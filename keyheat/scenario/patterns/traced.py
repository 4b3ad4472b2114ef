"""The keys of a trace, in its order, whatever their times were."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np

from keyheat.scenario.patterns.base import Keys, Times
from keyheat.scenario.trace import read_trace


class TraceKeys:
    """Draws one key of the trace after the other, and begins again at its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._keys = self._endless()

    def draw(self, rng: Random, at_s: float) -> str:
        return next(self._keys)

    def draw_many(self, rng: np.random.Generator, at_s: Times) -> Keys:
        return np.array([next(self._keys) for _ in range(len(at_s))], dtype=str)

    @property
    def hottest_share(self) -> None:
        return None

    def _endless(self) -> Iterator[str]:
        while True:
            yield from (row.key for row in read_trace(self.path, has_sort_key=True, least=lambda *_: 0))
