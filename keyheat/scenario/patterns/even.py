"""Keys that are used evenly, all of them or within two groups: one hot key, or a hot set, and the others."""

from dataclasses import dataclass
from random import Random

import numpy as np

from keyheat.scenario.patterns.base import PREFIX, Keys, Times, numbered


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every key equally often: what an evenly used user id or device id looks like."""

    keys: int
    prefix: str = PREFIX

    def draw(self, rng: Random, at_s: float) -> str:
        return f"{self.prefix}-{rng.randrange(self.keys)}"

    def draw_many(self, rng: np.random.Generator, at_s: Times) -> Keys:
        return numbered(self.prefix, rng.integers(self.keys, size=len(at_s)))

    @property
    def hottest_share(self) -> float:
        return 1 / self.keys


@dataclass(frozen=True, slots=True)
class HotKey:
    """One key takes a share of the requests; the others share the rest evenly."""

    share: float
    others: int = 1_000
    hot: str = "hot"
    prefix: str = PREFIX

    def draw(self, rng: Random, at_s: float) -> str:
        return self.hot if rng.random() < self.share else f"{self.prefix}-{rng.randrange(self.others)}"

    def draw_many(self, rng: np.random.Generator, at_s: Times) -> Keys:
        cold = numbered(self.prefix, rng.integers(self.others, size=len(at_s)))
        return np.where(rng.random(len(at_s)) < self.share, self.hot, cold)

    @property
    def hottest_share(self) -> float:
        return max(self.share, (1 - self.share) / self.others)


@dataclass(frozen=True, slots=True)
class HotSet:
    """A few keys take a share of the requests, evenly among them; the others share the rest evenly."""

    share: float
    hot_keys: int
    others: int = 1_000
    hot: str = "hot"
    prefix: str = PREFIX

    def draw(self, rng: Random, at_s: float) -> str:
        if rng.random() < self.share:
            return f"{self.hot}-{rng.randrange(self.hot_keys)}"
        return f"{self.prefix}-{rng.randrange(self.others)}"

    def draw_many(self, rng: np.random.Generator, at_s: Times) -> Keys:
        count = len(at_s)
        hot = numbered(self.hot, rng.integers(self.hot_keys, size=count))
        cold = numbered(self.prefix, rng.integers(self.others, size=count))
        return np.where(rng.random(count) < self.share, hot, cold)

    @property
    def hottest_share(self) -> float:
        return max(self.share / self.hot_keys, (1 - self.share) / self.others)
