"""Key patterns: which partition key the next request touches.

A pattern is a value; drawing takes the random source and the time as arguments, so the same seed draws the
same keys under any clock. `draw` gives one key, `draw_many` an array for a simulator.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import md5
from random import Random
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[Any]


class KeyPattern(Protocol):
    """Draws partition keys."""

    def draw(self, rng: Random, at_s: float) -> str:
        """The key of one request sent `at_s` seconds into the run."""

    def draw_many(self, rng: np.random.Generator, at_s: npt.NDArray[np.float64]) -> Keys:
        """The keys of many requests, sent at the given seconds into the run."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every key equally often: what an evenly used user id or device id looks like."""

    keys: int
    prefix: str = "key"

    def draw(self, rng: Random, at_s: float) -> str:
        return f"{self.prefix}-{rng.randrange(self.keys)}"

    def draw_many(self, rng: np.random.Generator, at_s: npt.NDArray[np.float64]) -> Keys:
        return _numbered(self.prefix, rng.integers(self.keys, size=len(at_s)))


@dataclass(frozen=True, slots=True)
class HotKey:
    """One key takes a share of the requests; the others share the rest evenly."""

    share: float
    others: int = 1_000
    hot: str = "hot"

    def draw(self, rng: Random, at_s: float) -> str:
        return self.hot if rng.random() < self.share else f"key-{rng.randrange(self.others)}"

    def draw_many(self, rng: np.random.Generator, at_s: npt.NDArray[np.float64]) -> Keys:
        cold = _numbered("key", rng.integers(self.others, size=len(at_s)))
        return np.where(rng.random(len(at_s)) < self.share, self.hot, cold)


@dataclass(frozen=True, slots=True)
class DateKey:
    """Today's date is the key, so all of today's requests meet on it; the heat moves at the rollover.

    `day_s` seconds of the run stand for one day.
    """

    day_s: float
    first_day: date = date(2026, 1, 1)

    def draw(self, rng: Random, at_s: float) -> str:
        return self.on_day(int(at_s // self.day_s))

    def draw_many(self, rng: np.random.Generator, at_s: npt.NDArray[np.float64]) -> Keys:
        days, of_request = np.unique((at_s // self.day_s).astype(int), return_inverse=True)
        return np.array([self.on_day(int(day)) for day in days])[of_request]

    def on_day(self, day: int) -> str:
        """The key of the `day`-th day of the run, counted from 0."""
        return (self.first_day + timedelta(days=day)).isoformat()


def build_pattern(
    kind: str, *, keys: int, share: float | None, day_s: float | None, first_day: str | None
) -> KeyPattern:
    """The pattern that a scenario's `[keys]` names; the scenario has checked the numbers."""
    if kind == "hot_key":
        assert share is not None
        return HotKey(share=share, others=keys)
    if kind == "date":
        assert day_s is not None
        return DateKey(day_s, date.fromisoformat(first_day)) if first_day else DateKey(day_s)
    return Uniform(keys)


def random_suffix(key: str, shards: int, rng: Random) -> str:
    """The key of one shard chosen at random: even writes, but a reader must ask every shard."""
    return f"{key}#{rng.randrange(shards)}"


def calculated_suffix(key: str, attribute: str, shards: int) -> str:
    """The key of the shard that `attribute` falls on: a reader who knows the attribute asks one shard."""
    digest = md5(f"{key}{attribute}".encode(), usedforsecurity=False).digest()
    return f"{key}#{int.from_bytes(digest[:8], 'big') % shards}"


def shard_keys(key: str, shards: int) -> tuple[str, ...]:
    """Every shard of a key, in order: what a reader of the whole collection asks."""
    return tuple(f"{key}#{shard}" for shard in range(shards))


def _numbered(prefix: str, numbers: npt.NDArray[np.int64]) -> Keys:
    return np.char.add(f"{prefix}-", numbers.astype(str))
