"""The shape of a load: its rate at each moment of a run.

A shape is pieces of straight lines. The total by a moment, and the moment of a total, are formulas and not
sums, so a schedule made of them does not drift.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import cos, fsum, inf, pi, sqrt
from typing import Annotated, Literal

from pydantic import Field

from keyheat.scenario.spec.part import Mistake, ScenarioPart, Seconds, broken_kind, stated

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
        """The rate `after_s` seconds from the start of the piece."""
        return self.from_per_s + self.slope * after_s

    def total(self, after_s: float) -> float:
        """The total since the start of the piece."""
        return (self.from_per_s + self.slope * after_s / 2) * after_s

    def after_s(self, total: float) -> float:
        """The seconds from the start of the piece until this total."""
        root = sqrt(max(0.0, self.from_per_s**2 + 2 * self.slope * total))
        return 2 * total / (self.from_per_s + root) if total else 0.0


@dataclass(frozen=True, slots=True)
class LoadShape:
    """A rate over time, from the start of a load on. After its last piece the last rate holds."""

    pieces: tuple[Piece, ...]
    totals: tuple[float, ...]  # before each piece, and after the last
    starts_s: tuple[float, ...]
    flat_per_s: float = 0.0  # the rate, where it is the same all the time: most loads, and quickly answered

    @classmethod
    def of(cls, pieces: Iterable[Piece]) -> "LoadShape":
        """The shape that these pieces make; each begins where the one before it ends, the first at 0."""
        all_pieces = tuple(pieces)
        lasting = (piece.total(piece.end_s - piece.start_s) for piece in all_pieces)
        totals = tuple(accumulate(lasting, initial=0.0))
        starts_s = tuple(piece.start_s for piece in all_pieces)
        flat = len(all_pieces) == 1 and all_pieces[0].from_per_s == all_pieces[0].to_per_s
        return cls(all_pieces, totals, starts_s, all_pieces[0].from_per_s if flat else 0.0)

    @property
    def end_s(self) -> float:
        """When the last piece ends."""
        return self.pieces[-1].end_s

    @property
    def highest_per_s(self) -> float:
        """The highest rate."""
        return max(max(piece.from_per_s, piece.to_per_s) for piece in self.pieces)

    def rate(self, t_s: float) -> float:
        """Arrivals per second at a moment; 0 before the start."""
        if t_s < 0:
            return 0.0
        piece = self.pieces[bisect_right(self.starts_s, t_s) - 1]
        return piece.rate(min(t_s, piece.end_s) - piece.start_s)

    def total(self, t_s: float) -> float:
        """Arrivals from the start to a moment."""
        if t_s <= 0:
            return 0.0
        if self.flat_per_s:
            return self.flat_per_s * t_s
        if t_s > self.end_s:
            return self.totals[-1] + (t_s - self.end_s) * self.pieces[-1].to_per_s
        number = bisect_right(self.starts_s, t_s) - 1
        return self.totals[number] + self.pieces[number].total(t_s - self.starts_s[number])

    def at(self, total: float) -> float:
        """The first moment with this total; infinity if it is never reached."""
        if total <= 0:
            return 0.0
        if self.flat_per_s:
            return total / self.flat_per_s
        if total > self.totals[-1]:
            last_per_s = self.pieces[-1].to_per_s
            return self.end_s + (total - self.totals[-1]) / last_per_s if last_per_s else inf
        number = bisect_right(self.totals, total) - 1
        while self.totals[number] >= total:  # a pause asks for nothing: the moment is the one before it
            number -= 1
        piece = self.pieces[number]
        return min(piece.end_s, piece.start_s + piece.after_s(total - self.totals[number]))


def constant(per_s: float, *, duration_s: float) -> LoadShape:
    """The same rate all the time."""
    return LoadShape.of([Piece(0.0, duration_s, per_s, per_s)])


def ramp(from_per_s: float, to_per_s: float, *, duration_s: float) -> LoadShape:
    """From one rate to another, evenly."""
    return LoadShape.of([Piece(0.0, duration_s, from_per_s, to_per_s)])


def steps(rates: Iterable[tuple[float, float]]) -> LoadShape:
    """One rate after the other: (per_s, for_s) of each."""
    listed = list(rates)
    ends_s = list(accumulate(for_s for _, for_s in listed))
    return LoadShape.of(
        Piece(end_s - for_s, end_s, per_s, per_s)
        for (per_s, for_s), end_s in zip(listed, ends_s, strict=True)
    )


def spike(per_s: float, peak_per_s: float, *, at_s: float, for_s: float, duration_s: float) -> LoadShape:
    """One rate, and a higher one for a while: a flash sale, a retry storm."""
    after_s = duration_s - at_s - for_s
    parts = [(per_s, at_s), (peak_per_s, for_s), (per_s, after_s)]
    return steps((rate, lasting) for rate, lasting in parts if lasting > 0)


def sine(low_per_s: float, high_per_s: float, *, period_s: float, duration_s: float) -> LoadShape:
    """A day's ebb and flow, compressed: low at the start, high after half a period, low at its end."""
    middle, swing = (low_per_s + high_per_s) / 2, (high_per_s - low_per_s) / 2
    width_s = period_s / PIECES_PER_PERIOD
    count = max(1, -int(-duration_s // width_s))
    bounds_s = [min(number * width_s, duration_s) for number in range(count + 1)]
    rates = [max(0.0, middle - swing * cos(2 * pi * at_s / period_s)) for at_s in bounds_s]
    return LoadShape.of(
        Piece(bounds_s[n], bounds_s[n + 1], rates[n], rates[n + 1])
        for n in range(count)
        if bounds_s[n + 1] > bounds_s[n]
    )


PerS = Annotated[float, Field(ge=0, le=10_000_000)]
_FIELDS = {
    "constant": (),
    "ramp": ("from_per_s", "to_per_s"),
    "steps": ("steps",),
    "spike": ("peak_per_s", "at_s", "for_s"),
    "sine": ("low_per_s", "high_per_s", "period_s"),
}
ROUNDING = 1e-9  # relative difference at which two durations count as equal
_RATES = ("from_per_s", "to_per_s", "peak_per_s", "low_per_s", "high_per_s")


class StepSpec(ScenarioPart):
    """One rate and its duration."""

    per_s: PerS
    for_s: Seconds


class ShapeSpec(ScenarioPart):
    """The rate over time, in the unit of the load's target: requests, WCU or RCU per second."""

    kind: Literal["constant", "ramp", "steps", "spike", "sine"]
    from_per_s: PerS | None = Field(None, description="ramp: the rate at the start")
    to_per_s: PerS | None = Field(None, description="ramp: the rate at the end of the load")
    steps: Annotated[tuple[StepSpec, ...], Field(max_length=1_000)] | None = Field(
        None, description="steps: { per_s = .., for_s = .. } of each; together they last as long as the load"
    )
    peak_per_s: PerS | None = Field(None, description="spike: the rate at its top; else the load's own rate")
    at_s: Annotated[float, Field(ge=0, le=7 * 86_400)] | None = Field(
        None, description="spike: when it begins"
    )
    for_s: Seconds | None = Field(None, description="spike: how long it lasts")
    low_per_s: PerS | None = Field(None, description="sine: the rate at the start, and after each period")
    high_per_s: PerS | None = Field(None, description="sine: the rate after half a period")
    period_s: Seconds | None = Field(None, description="sine: seconds of the run that represent one day")

    def broken(self) -> Iterator[Mistake]:
        yield from broken_kind(self, _FIELDS)
        if self.kind == "steps" and self.steps == ():
            yield "needs at least one step", "steps"
        if self.low_per_s is not None and self.high_per_s is not None and self.low_per_s > self.high_per_s:
            yield f"low_per_s is {self.low_per_s:g}, above high_per_s, {self.high_per_s:g}", "low_per_s"
        rates = [getattr(self, field) for field in _FIELDS[self.kind] if field in _RATES]
        rates += [step.per_s for step in self.steps or ()]
        if self.kind != "spike" and rates and all(rate == 0 for rate in rates):  # a spike adds to a rate
            yield ("every rate is 0: nothing would be sent",)

    def broken_by(self, duration_s: float) -> Iterator[Mistake]:
        """Disagreements with the load's duration."""
        if self.kind == "spike" and (end_s := stated(self.at_s) + stated(self.for_s)) > duration_s:
            yield f"the spike ends {end_s:g} s after the start, the load after {duration_s:g} s", "for_s"
        total_s = fsum(step.for_s for step in self.steps or ())
        if self.kind == "steps" and abs(total_s - duration_s) > ROUNDING * duration_s:
            yield f"the steps last {total_s:g} s in all, the load's duration_s is {duration_s:g}", "steps"

    def over(self, per_s: float, duration_s: float) -> LoadShape:
        """Return the shape of a load of `duration_s` seconds whose own rate is `per_s`."""
        match self.kind:
            case "constant":
                return constant(per_s, duration_s=duration_s)
            case "ramp":
                return ramp(stated(self.from_per_s), stated(self.to_per_s), duration_s=duration_s)
            case "steps":
                return steps((step.per_s, step.for_s) for step in self.steps or ())
            case "spike":
                at_s, for_s, peak_per_s = stated(self.at_s), stated(self.for_s), stated(self.peak_per_s)
                return spike(per_s, peak_per_s, at_s=at_s, for_s=for_s, duration_s=duration_s)
            case "sine":
                low_per_s, high_per_s = stated(self.low_per_s), stated(self.high_per_s)
                return sine(low_per_s, high_per_s, period_s=stated(self.period_s), duration_s=duration_s)
