"""Zipf's law over finitely many keys: the k-th most used key is used in proportion to 1 / k^exponent.

Drawn by rejection-inversion, which is exact, needs no table whatever the number of keys, and rejects few:
W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
distributions", ACM TOMACS 6 (1996), https://doi.org/10.1145/235025.235029. In short: the curve
h(x) = 1 / x^exponent covers the bars 1 / k^exponent; a point drawn evenly under the curve falls into the bar
of a key, or it is drawn anew.
"""

from dataclasses import dataclass, field
from math import exp, expm1, log, log1p
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from keyheat.scenario.patterns.base import PREFIX, Keys, Times, numbered

EXACT_TERMS = 10_000  # of the harmonic sum; the rest of it is an integral, right to nine digits
TINY = 1e-8
Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Zipf:
    """A few keys are very popular, and the tail is long: products, users, words, pages.

    `key-0` is the most used one. An exponent near 0 is almost even, 1 is Zipf's own, above 1 steeper.
    """

    exponent: float
    keys: int
    prefix: str = PREFIX
    _low: float = field(init=False, repr=False, compare=False)  # area under the curve up to its left end ...
    _high: float = field(init=False, repr=False, compare=False)  # ... and up to its right end
    _sure: float = field(init=False, repr=False, compare=False)  # a point so close to its bar is inside it

    def __post_init__(self) -> None:
        object.__setattr__(self, "_low", self._area(1.5) - 1.0)
        object.__setattr__(self, "_high", self._area(self.keys + 0.5))
        object.__setattr__(self, "_sure", 2.0 - self._place(self._area(2.5) - 2.0**-self.exponent))

    def draw(self, rng: Random, at_s: float) -> str:
        return f"{self.prefix}-{self._rank(rng) - 1}"

    def draw_many(self, rng: np.random.Generator, at_s: Times) -> Keys:
        ranks = np.empty(len(at_s), np.int64)
        open_ = np.arange(len(at_s))
        while len(open_):
            areas = self._high + rng.random(len(open_)) * (self._low - self._high)
            places = self._places(areas)
            drawn = np.clip((places + 0.5).astype(np.int64), 1, self.keys)
            bars = self._areas(drawn + 0.5) - np.exp(-self.exponent * np.log(drawn))
            inside = (drawn - places <= self._sure) | (areas >= bars)
            ranks[open_[inside]] = drawn[inside]
            open_ = open_[~inside]
        return numbered(self.prefix, ranks - 1)

    @property
    def hottest_share(self) -> float:
        return self.share(1)

    def share(self, rank: int) -> float:
        """The part of the requests that the `rank`-th most used key takes."""
        return float(rank**-self.exponent / self._sum())

    def _sum(self) -> float:
        """1 + 1 / 2^exponent + ... + 1 / keys^exponent; the far end by Euler and Maclaurin."""
        exact = min(self.keys, EXACT_TERMS)
        total = float(np.sum(np.arange(1, exact + 1, dtype=np.float64) ** -self.exponent))
        if exact < self.keys:
            ends = float(self.keys) ** -self.exponent - float(exact) ** -self.exponent
            total += self._area(float(self.keys)) - self._area(float(exact)) + ends / 2
        return total

    def _rank(self, rng: Random) -> int:
        while True:
            area = self._high + rng.random() * (self._low - self._high)
            place = self._place(area)
            rank = min(max(int(place + 0.5), 1), self.keys)
            if rank - place <= self._sure:
                return rank
            if area >= self._area(rank + 0.5) - exp(-self.exponent * log(rank)):
                return rank

    def _area(self, x: float) -> float:
        """The area under h from 1 to x: (x^(1 - exponent) - 1) / (1 - exponent), and log x for 1."""
        logarithm = log(x)
        power = (1.0 - self.exponent) * logarithm
        return logarithm * (expm1(power) / power if abs(power) > TINY else 1.0 + power / 2)

    def _place(self, area: float) -> float:
        """The x at which the area under h is so much: `_area` the other way round."""
        power = max(area * (1.0 - self.exponent), -1.0 + 1e-16)
        return exp(area * (log1p(power) / power if abs(power) > TINY else 1.0 - power / 2))

    def _areas(self, x: Floats) -> Floats:
        logarithm = np.log(x)
        power = (1.0 - self.exponent) * logarithm
        safe = np.where(np.abs(power) > TINY, power, 1.0)
        return np.asarray(logarithm * np.where(safe == power, np.expm1(power) / safe, 1.0 + power / 2))

    def _places(self, areas: Floats) -> Floats:
        power = np.maximum(areas * (1.0 - self.exponent), -1.0 + 1e-16)
        safe = np.where(np.abs(power) > TINY, power, 1.0)
        return np.asarray(np.exp(areas * np.where(safe == power, np.log1p(power) / safe, 1.0 - power / 2)))
