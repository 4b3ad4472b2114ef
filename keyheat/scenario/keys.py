"""Key patterns: which partition key the next request touches; and the suffixes that shard a key.

A pattern is a value; drawing takes the random source and the time as arguments, so the same seed draws the
same keys under any clock.

Drawn by rejection-inversion, which is exact, needs no table whatever the number of keys, and rejects few:
W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
distributions", ACM TOMACS 6 (1996), https://doi.org/10.1145/235025.235029. In short: the curve
h(x) = 1 / x^exponent covers the bars 1 / k^exponent; a point drawn evenly under the curve falls into the bar
of a key, or it is drawn anew.
"""

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from hashlib import md5, sha256
from itertools import accumulate
from math import exp, expm1, log, log1p
from random import Random
from typing import Literal, Protocol

import numpy as np

PREFIX = "key"


class KeyPattern(Protocol):
    """Draws partition keys."""

    def draw(self, rng: Random, at_s: float) -> str:
        """The key of one request sent `at_s` seconds into the run."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every key equally often: what an evenly used user id or device id looks like."""

    keys: int
    prefix: str = PREFIX

    def draw(self, rng: Random, at_s: float) -> str:
        return f"{self.prefix}-{rng.randrange(self.keys)}"


@dataclass(frozen=True, slots=True)
class HotKeys:
    """A few keys take a share of the requests, evenly among them; the others share the rest evenly."""

    share: float
    others: int = 1_000
    hot_keys: int | None = None  # None: a single one, without a number
    hot: str = "hot"
    prefix: str = PREFIX

    def draw(self, rng: Random, at_s: float) -> str:
        if rng.random() >= self.share:
            return f"{self.prefix}-{rng.randrange(self.others)}"
        return self.hot_name(0 if self.hot_keys is None else rng.randrange(self.hot_keys))

    def hot_name(self, number: int) -> str:
        """The `number`-th of the hot keys."""
        return self.hot if self.hot_keys is None else f"{self.hot}-{number}"


@dataclass(frozen=True, slots=True)
class Weighted:
    """Named keys, each drawn in proportion to its weight: carriers, regions, tenants."""

    names: tuple[str, ...]
    weights: tuple[float, ...]
    _until: tuple[float, ...] = field(init=False, repr=False, compare=False)  # the weights up to each

    def __post_init__(self) -> None:
        object.__setattr__(self, "_until", tuple(accumulate(self.weights)))

    @property
    def keys(self) -> int:
        """How many there are."""
        return len(self.names)

    def draw(self, rng: Random, at_s: float) -> str:
        return rng.choices(self.names, cum_weights=self._until)[0]


EXACT_TERMS = 10_000  # of the harmonic sum; the rest of it is an integral, right to nine digits
TINY = 1e-8


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
        object.__setattr__(self, "_sure", 2.0 - self._point_at(self._area(2.5) - 2.0**-self.exponent))

    def draw(self, rng: Random, at_s: float) -> str:
        return f"{self.prefix}-{self._rank(rng) - 1}"

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
            point = self._point_at(area)
            rank = min(max(int(point + 0.5), 1), self.keys)
            if rank - point <= self._sure:
                return rank
            if area >= self._area(rank + 0.5) - exp(-self.exponent * log(rank)):
                return rank

    def _area(self, x: float) -> float:
        """The area under h from 1 to x: (x^(1 - exponent) - 1) / (1 - exponent), and log x for 1."""
        logarithm = log(x)
        power = (1.0 - self.exponent) * logarithm
        return logarithm * (expm1(power) / power if abs(power) > TINY else 1.0 + power / 2)

    def _point_at(self, area: float) -> float:
        """The x at which the area under h is so much: `_area` the other way round."""
        power = max(area * (1.0 - self.exponent), -1.0 + 1e-16)
        return exp(area * (log1p(power) / power if abs(power) > TINY else 1.0 - power / 2))


NUMBERS_PER_WORKER = 1_000_000_000
"""Distance between the numbers of two processes, so that no key is drawn twice."""


@dataclass(slots=True)
class Sequential:
    """Order or transaction numbers, each used once. It remembers how far it is, so every process has its own.

    A hash places the keys, so that they spread evenly although the numbers only ever grow.
    """

    prefix: str = PREFIX
    following: int = 1

    @classmethod
    def of_worker(cls, worker: int, prefix: str = PREFIX) -> "Sequential":
        """The numbers of one process, counted from 0."""
        return cls(prefix, worker * NUMBERS_PER_WORKER + 1)

    def draw(self, rng: Random, at_s: float) -> str:
        number = self.following
        self.following += 1
        return f"{self.prefix}-{number}"


FIRST_DAY = date(2026, 1, 1)
Period = Literal["day", "hour", "minute"]
LENGTH: dict[Period, timedelta] = {
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
}
SPELT: dict[Period, str] = {"day": "%Y-%m-%d", "hour": "%Y-%m-%dT%H", "minute": "%Y-%m-%dT%H:%M"}


@dataclass(frozen=True, slots=True)
class DateKey:
    """The present date is the key, so all requests meet on it; the heat moves at the rollover.

    `day_s` seconds of the run stand for one day (or hour, or minute: `rounded_to`).
    """

    day_s: float
    first_day: date = FIRST_DAY
    rounded_to: Period = "day"
    prefix: str | None = None

    def draw(self, rng: Random, at_s: float) -> str:
        return self.period(int(at_s // self.day_s))

    def period(self, number: int) -> str:
        """The key of the run's `number`-th day, hour or minute, counted from 0."""
        start = datetime.combine(self.first_day, time()) + number * LENGTH[self.rounded_to]
        spelt = start.strftime(SPELT[self.rounded_to])
        return f"{self.prefix}-{spelt}" if self.prefix else spelt


def shard_key(key: str, shard: int) -> str:
    """The partition key of one shard of a key; shards count from 0."""
    return f"{key}#{shard}"


def random_suffix(key: str, shards: int, rng: Random) -> str:
    """The key of one shard chosen at random: even writes, but a reader must ask every shard."""
    return key if shards == 1 else shard_key(key, rng.randrange(shards))


def calculated_suffix(key: str, attribute: str, shards: int) -> str:
    """The key of the shard that `attribute` falls on: a reader who knows the attribute asks one shard."""
    if shards == 1:
        return key
    digest = md5(f"{key}{attribute}".encode(), usedforsecurity=False).digest()
    return shard_key(key, int.from_bytes(digest[:8], "big") % shards)


def shard_keys(key: str, shards: int) -> tuple[str, ...]:
    """Every shard of a key, in order: what a reader of the whole collection asks. A single one is the key."""
    return (key,) if shards == 1 else tuple(shard_key(key, shard) for shard in range(shards))


def digest_number(key: str) -> int:
    """The first 64 bits of the key's SHA-256."""
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big")


def digest_of(key: str) -> str:
    """How a key is named in files that do not show keys."""
    return f"sha256:{digest_number(key):016x}"
