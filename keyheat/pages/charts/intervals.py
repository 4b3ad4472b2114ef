"""Two small drawings of a gate, in SVG: the interval of its change, and the value of every run.

    worse  <---------|=========|--------->  better        the change in smallest changes that matter:
                 [-----o----]                             within |===| nobody cares

The unit is the gate's own least effect, so the zone is in the same place for every gate, and what is worse is
always on the left, whichever way the measure is better.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.measures.catalogue import MEASURES
from keyheat.regression.finding import Finding
from keyheat.regression.words import changed, value

WIDTH, HEIGHT = 160, 24
EDGE: Final = 8  # room for the arrow of what lies beyond
MOST: Final = 4.0  # least effects on each side
LEAST: Final = 0.01  # the unit of a gate that has none, such as an exact one
STRIP_WIDTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Places on a line, in its own units of length; `beyond` says on which side the change lies outside."""

    low: float
    high: float
    at: float
    zone: tuple[float, float] | None  # where no change matters; None: any does
    beyond: str | None  # left | right
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The places of every run on a line from the smallest value to the largest."""

    before: tuple[float, ...]
    after: tuple[float, ...]
    said: str


def interval_of(finding: Finding) -> Interval | None:
    """The change of a gate; None where it has none."""
    change = finding.change
    if change is None:
        return None
    unit = finding.gate.least_effect or LEAST
    measure = MEASURES.get(finding.gate.measure)
    way = -1.0 if measure is not None and measure.better == "lower" else 1.0
    ends = [change if end is None else end for end in (finding.low, finding.high)]
    low, high = sorted(way * end / unit for end in ends)
    at = way * change / unit
    return Interval(
        low=_place(low),
        high=_place(high),
        at=_place(at),
        zone=(_place(-1.0), _place(1.0)) if finding.gate.least_effect else None,
        beyond="left" if at < -MOST else "right" if at > MOST else None,
        said=f"{changed(finding)}; changes up to {value(finding.gate.least_effect, 'throttle_share')} do not "
        "matter",
    )


def strip_of(before: Sequence[float], after: Sequence[float], measure: str) -> Strip | None:
    """Every run of a measure, before and after; None where there is none."""
    values = [*before, *after]
    if not values:
        return None
    least, span = min(values), max(values) - min(values)

    def place(one: float) -> float:
        share = (one - least) / span if span else 0.5
        return round(EDGE + share * (STRIP_WIDTH - 2 * EDGE), 1)

    said = [f"{side} {_listed(of, measure)}" for side, of in (("before", before), ("now", after)) if of]
    return Strip(before=tuple(map(place, before)), after=tuple(map(place, after)), said="; ".join(said))


def _listed(values: Sequence[float], measure: str) -> str:
    return ", ".join(value(one, measure) for one in values)


def _place(effects: float) -> float:
    """A place on the line, at its end where it lies beyond."""
    bounded = max(-MOST, min(MOST, effects))
    return round(WIDTH / 2 + bounded / MOST * (WIDTH / 2 - EDGE), 1)
