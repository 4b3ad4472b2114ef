"""How large the next item is: always the same, or drawn from a distribution.

A distribution is a value; drawing takes the random source. Units are paid per started kilobyte, so what
items cost in the mean is the mean of their units, and not the units of the mean item.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import erfc, exp, fsum, log, sqrt
from operator import sub
from random import Random
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import Discriminator, Field, Tag

from keyheat.model import limits
from keyheat.scenario.spec.part import Mistake, ScenarioPart, broken_kind, stated


class ItemSize(Hashable, Protocol):
    """Draws item sizes in bytes, as DynamoDB counts them."""

    @property
    def least(self) -> int:
        """The smallest size that is ever drawn."""

    @property
    def most(self) -> int:
        """The largest size that is ever drawn."""

    @property
    def mean_bytes(self) -> float:
        """The size in the mean."""

    def draw(self, rng: Random) -> int:
        """The size of one item."""

    def above(self, size_bytes: int) -> float:
        """The share of the items that are larger than `size_bytes`."""


class UnitCost(NamedTuple):
    """What an item costs: units in the mean, and (units, share of the items) of each size."""

    units: float
    sizes: tuple[tuple[float, float], ...] = ()  # none: all cost the same


@lru_cache(maxsize=64)
def unit_cost(
    size: ItemSize, unit_bytes: int, *, there: float = 0.0, factor: float = 1.0, more_bytes: int = 0
) -> UnitCost:
    """The cost of an item, rounded up by itself, in units of `factor`.

    `there`: how probably it replaces an item, where the larger of the two counts. `more_bytes`: beyond its
    size.
    """
    steps = range(1, -(-(size.most + more_bytes) // unit_bytes) + 1)
    alone = [1 - size.above(step * unit_bytes - more_bytes) for step in steps]
    up_to = [(1 - there) * share + there * share**2 for share in alone]
    before = [0.0, *up_to[:-1]]
    parts = map(sub, up_to, before)
    sizes = tuple((step * factor, part) for step, part in zip(steps, parts, strict=True) if part > 0)
    return UnitCost(factor * fsum(1 - share for share in before), sizes if len(sizes) > 1 else ())


@dataclass(frozen=True, slots=True)
class UniformSize:
    """Every size from the least to the most is equally likely; where both are one, it is fixed."""

    least: int
    most: int

    @property
    def mean_bytes(self) -> float:
        return (self.least + self.most) / 2

    def draw(self, rng: Random) -> int:
        return rng.randint(self.least, self.most)

    def above(self, size_bytes: int) -> float:
        larger = self.most - max(size_bytes, self.least - 1)
        return max(0, larger) / (self.most - self.least + 1)


@dataclass(frozen=True, slots=True)
class LognormalSize:
    """Mostly small and now and then large: documents, messages, carts. What lies outside is cut to the ends.

    Half of the items are smaller than the median; about one in six is larger than median * e^sigma.
    """

    median: float
    sigma: float
    least: int
    most: int

    @property
    def mean_bytes(self) -> float:
        """The integral of `_beyond` from 0 to the most, by parts."""
        whole = exp(log(self.median) + self.sigma**2 / 2)
        within = whole * (self._beyond(self.least, self.sigma) - self._beyond(self.most, self.sigma))
        return self.least * (1 - self._beyond(self.least)) + within + self.most * self._beyond(self.most)

    def draw(self, rng: Random) -> int:
        drawn = rng.lognormvariate(log(self.median), self.sigma)
        return int(min(max(drawn + 0.5, self.least), self.most))

    def above(self, size_bytes: int) -> float:
        if size_bytes < self.least:
            return 1.0
        return 0.0 if size_bytes >= self.most else self._beyond(size_bytes + 0.5)

    def _beyond(self, size_bytes: float, shift: float = 0.0) -> float:
        """The part of the curve above a size, before it is cut; shifted, the part of the bytes in it."""
        return erfc(((log(size_bytes) - log(self.median)) / self.sigma - shift) / sqrt(2)) / 2


@dataclass(frozen=True, slots=True)
class ChoiceSize:
    """A few sizes, each with a weight: what an access log shows of a table with several kinds of items."""

    sizes: tuple[int, ...]
    weights: tuple[float, ...]
    _shares: Sequence[float] = field(init=False, repr=False, compare=False)
    _below: Sequence[float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        total = sum(self.weights)
        shares = [weight / total for weight in self.weights]
        object.__setattr__(self, "_shares", shares)
        object.__setattr__(self, "_below", list(accumulate(shares))[:-1])

    @property
    def least(self) -> int:
        return min(size for size, weight in zip(self.sizes, self.weights, strict=True) if weight)

    @property
    def most(self) -> int:
        return max(size for size, weight in zip(self.sizes, self.weights, strict=True) if weight)

    @property
    def mean_bytes(self) -> float:
        return sum(size * share for size, share in zip(self.sizes, self._shares, strict=True))

    def draw(self, rng: Random) -> int:
        return self.sizes[bisect_right(self._below, rng.random())]

    def above(self, size_bytes: int) -> float:
        return sum(share for size, share in zip(self.sizes, self._shares, strict=True) if size > size_bytes)


SMALLEST_BYTES = 100
"""No item of a scenario is smaller: it has keys, and something to fill it."""
MOST_BYTES = limits.MAX_ITEM_BYTES


Bytes = Annotated[int, Field(ge=SMALLEST_BYTES, le=MOST_BYTES)]
Weight = Annotated[float, Field(ge=0, le=1e12)]
NEEDED = {"uniform": ("low", "high"), "lognormal": ("median", "sigma"), "choice": ("sizes",)}
ALLOWED = {"uniform": (), "lognormal": ("min", "max"), "choice": ("weights",)}


class SizeSpec(ScenarioPart):
    """A distribution of item sizes, in bytes as DynamoDB counts them, names and keys included."""

    kind: Literal["uniform", "lognormal", "choice"]
    low: Bytes | None = Field(None, description="uniform: the smallest")
    high: Bytes | None = Field(None, description="uniform: the largest")
    median: Bytes | None = Field(None, description="lognormal: half of the items are smaller")
    sigma: Annotated[float, Field(gt=0, le=5)] | None = Field(
        None, description="lognormal: how wide; one item in six is larger than median * e^sigma"
    )
    min: Bytes | None = Field(None, description="lognormal: smaller sizes are raised to this; absent: 100")
    max: Bytes | None = Field(None, description="lognormal: larger sizes are cut to this; absent: 400 KB")
    sizes: Annotated[tuple[Bytes, ...], Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="choice: the sizes"
    )
    weights: Annotated[tuple[Weight, ...], Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="choice: the frequency of each size, in proportion; absent: equal"
    )

    def broken(self) -> Iterator[Mistake]:
        yield from broken_kind(self, NEEDED, ALLOWED)
        for low, high in (("low", "high"), ("min", "max"), ("min", "median"), ("median", "max")):
            least, most = getattr(self, low), getattr(self, high)
            if least is not None and most is not None and least > most:
                yield f"{low} = {least} is more than {high} = {most}", low
        if self.weights and self.sizes is not None and len(self.sizes) != len(self.weights):
            yield f"{len(self.weights)} weights for {len(self.sizes)} sizes", "weights"
        if self.weights and all(weight == 0 for weight in self.weights):
            yield "at least one weight has to be above 0", "weights"

    def size(self) -> ItemSize:
        """The distribution that these numbers describe."""
        if self.kind == "uniform":
            return UniformSize(stated(self.low), stated(self.high))
        if self.kind == "lognormal":
            ends = self.min or SMALLEST_BYTES, self.max or MOST_BYTES
            return LognormalSize(stated(self.median), stated(self.sigma), *ends)
        sizes = stated(self.sizes)
        return ChoiceSize(sizes, self.weights or (1.0,) * len(sizes))


def _tag(value: Any) -> str:
    return "<table>" if isinstance(value, Mapping | SizeSpec) else "<number>"


ItemBytes = Annotated[
    Annotated[Bytes, Tag("<number>")] | Annotated[SizeSpec, Tag("<table>")], Discriminator(_tag)
]
"""One size for all items, or a distribution of sizes."""


def size_of(spec: int | SizeSpec) -> ItemSize:
    """The distribution that a scenario's `item_bytes` stands for."""
    return UniformSize(spec, spec) if isinstance(spec, int) else spec.size()
