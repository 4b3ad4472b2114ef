"""The shape of a load: how many arrivals per second are asked for at each moment of a run.

A shape is pieces of straight lines, so that how much has been asked for by a moment, and by which moment so
much has been asked for, are formulas and not sums: a schedule made of them does not drift.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from math import cos, inf, pi, sqrt

PIECES_PER_PERIOD = 96
"""Straight lines that stand for one period of a sine: a quarter of an hour of a day each."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a load in which the rate goes from one value to another on a straight line."""

    start_s: float
    end_s: float
    from_per_s: float
    to_per_s: float

    @property
    def slope(self) -> float:
        """Change of the rate per second."""
        return (self.to_per_s - self.from_per_s) / (self.end_s - self.start_s)

    def rate(self, after_s: float) -> float:
        """The rate so many seconds after the start of the piece."""
        return self.from_per_s + self.slope * after_s

    def total(self, after_s: float) -> float:
        """What has been asked for since the start of the piece."""
        return (self.from_per_s + self.slope * after_s / 2) * after_s

    def after_s(self, total: float) -> float:
        """How long after the start of the piece so much has been asked for."""
        root = sqrt(max(0.0, self.from_per_s**2 + 2 * self.slope * total))
        return 2 * total / (self.from_per_s + root) if total else 0.0


@dataclass(frozen=True, slots=True)
class Shape:
    """A rate over time, from the start of a load on. After its last piece the last rate holds."""

    pieces: tuple[Piece, ...]
    totals: tuple[float, ...]  # what has been asked for before each piece, and after the last
    starts_s: tuple[float, ...]
    flat_per_s: float = 0.0  # the rate, where it is the same all the time: most loads, and quickly answered

    @classmethod
    def of(cls, pieces: Iterable[Piece]) -> "Shape":
        """The shape that these pieces make; each begins where the one before it ends, the first at 0."""
        made = tuple(pieces)
        lasting = (piece.total(piece.end_s - piece.start_s) for piece in made)
        totals, starts_s = tuple(accumulate(lasting, initial=0.0)), tuple(piece.start_s for piece in made)
        flat = len(made) == 1 and made[0].from_per_s == made[0].to_per_s
        return cls(made, totals, starts_s, made[0].from_per_s if flat else 0.0)

    @property
    def end_s(self) -> float:
        """When the last piece ends."""
        return self.pieces[-1].end_s

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Seconds at which a piece begins, and the end of the last."""
        return (*self.starts_s, self.end_s)

    @property
    def highest_per_s(self) -> float:
        """The highest rate."""
        return max(max(piece.from_per_s, piece.to_per_s) for piece in self.pieces)

    def rate(self, t_s: float) -> float:
        """Arrivals per second asked for at a moment; none before the start."""
        if t_s < 0:
            return 0.0
        piece = self._piece(t_s)
        return piece.rate(min(t_s, piece.end_s) - piece.start_s)

    def total(self, t_s: float) -> float:
        """Arrivals asked for from the start to a moment."""
        if t_s <= 0:
            return 0.0
        if self.flat_per_s:
            return self.flat_per_s * t_s
        if t_s > self.end_s:
            return self.totals[-1] + (t_s - self.end_s) * self.pieces[-1].to_per_s
        place = bisect_right(self.starts_s, t_s) - 1
        return self.totals[place] + self.pieces[place].total(t_s - self.starts_s[place])

    def at(self, total: float) -> float:
        """The first moment by which so many have been asked for; infinity where that never happens."""
        if total <= 0:
            return 0.0
        if self.flat_per_s:
            return total / self.flat_per_s
        if total > self.totals[-1]:
            last_per_s = self.pieces[-1].to_per_s
            return self.end_s + (total - self.totals[-1]) / last_per_s if last_per_s else inf
        place = bisect_right(self.totals, total) - 1
        while self.totals[place] >= total:  # a pause asks for nothing: the moment is the one before it
            place -= 1
        piece = self.pieces[place]
        return min(piece.end_s, piece.start_s + piece.after_s(total - self.totals[place]))

    def _piece(self, t_s: float) -> Piece:
        return self.pieces[bisect_right(self.starts_s, t_s) - 1]


def constant(per_s: float, *, duration_s: float) -> Shape:
    """The same rate all the time."""
    return Shape.of([Piece(0.0, duration_s, per_s, per_s)])


def ramp(from_per_s: float, to_per_s: float, *, duration_s: float) -> Shape:
    """From one rate to another, evenly."""
    return Shape.of([Piece(0.0, duration_s, from_per_s, to_per_s)])


def steps(each: Iterable[tuple[float, float]]) -> Shape:
    """One rate after the other: (per_s, for_s) of each."""
    made = list(each)
    ends_s = list(accumulate(for_s for _, for_s in made))
    return Shape.of(
        Piece(end_s - for_s, end_s, per_s, per_s) for (per_s, for_s), end_s in zip(made, ends_s, strict=True)
    )


def spike(per_s: float, peak_per_s: float, *, at_s: float, for_s: float, duration_s: float) -> Shape:
    """One rate, and a higher one for a while: a flash sale, a retry storm."""
    after_s = duration_s - at_s - for_s
    parts = [(per_s, at_s), (peak_per_s, for_s), (per_s, after_s)]
    return steps((rate, lasting) for rate, lasting in parts if lasting > 0)


def sine(low_per_s: float, high_per_s: float, *, period_s: float, duration_s: float) -> Shape:
    """A day's ebb and flow, compressed: low at the start, high after half a period, low at its end."""
    middle, swing = (low_per_s + high_per_s) / 2, (high_per_s - low_per_s) / 2
    width_s = period_s / PIECES_PER_PERIOD
    count = max(1, -int(-duration_s // width_s))
    bounds_s = [min(number * width_s, duration_s) for number in range(count + 1)]
    rates = [max(0.0, middle - swing * cos(2 * pi * at_s / period_s)) for at_s in bounds_s]
    return Shape.of(
        Piece(bounds_s[n], bounds_s[n + 1], rates[n], rates[n + 1])
        for n in range(count)
        if bounds_s[n + 1] > bounds_s[n]
    )
