"""How far a measure moves from one good session to the next, by itself: its moving range.

    |  x     x        x       a session each, all of them good
    |     x     x  x     x    the moving range is how far neighbours are apart; its median is that of noise

Runs of one session share their hour: they say nothing of the load that is some per cent more on another
night, nor of a machine that has other work then. What they cannot say, good sessions say together. Moving
ranges are those of a chart of individual values (Wheeler, Understanding Variation, 1993), and their median
since sessions that moved to another level, because something was made better, are one range of many.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from statistics import fmean, median
from typing import Final

from keyheat.analysis.measures import MEASURES
from keyheat.regression.comparability import slight
from keyheat.regression.history.reading import HistoryReading
from keyheat.regression.history.records import GOOD, HistoryPoint
from keyheat.regression.outcome import Difference, Gate

LEAST_RANGES: Final = 5  # fewer say nothing: what the runs of a session say is all that is known
LEAST_OF_TRAFFIC: Final = 2  # where all that is another tonight is a load that is slightly more or less
MOST_RANGES: Final = 20  # the newest
MEDIAN_OF_NORMAL: Final = 0.6745  # of the absolute value of a standard normal number


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNoise:
    """The standard deviation of the logarithm of one session's ratio to the one before, by so many ranges."""

    spread: float
    ranges: int

    @property
    def freedom(self) -> float:
        """Neighbouring ranges share a session, and a median wastes some of the rest: half as much is told."""
        return self.ranges / 2


Noises = Mapping[tuple[str, str], SessionNoise]
"""By case and measure; one that is not known is not there."""


def noises_of(history: HistoryReading, suite: str, gates_by_case: Mapping[str, Sequence[Gate]]) -> Noises:
    """What the good sessions of a suite say of each measure that it is held to."""
    named = [(case, gate.measure) for case, gates in gates_by_case.items() for gate in gates]
    return {
        (case, measure): found
        for case, measure in named
        if measure in MEASURES and (found := noise_of(history.series(suite, case, measure), measure))
    }


def noise_of(points: Sequence[HistoryPoint], measure: str) -> SessionNoise | None:
    """What good sessions say, the oldest first; None where they are too few.

    After a new baseline something else may be measured: where they are enough, only those since then count.
    """
    begins = max((place for place, point in enumerate(points) if point.verdict == "baseline"), default=0)
    ranges = _ranges(points[begins:], measure)
    if len(ranges) < LEAST_RANGES:
        ranges = _ranges(points, measure)
    if len(ranges) < LEAST_OF_TRAFFIC:
        return None
    return SessionNoise(spread=median(ranges) / MEDIAN_OF_NORMAL, ranges=len(ranges))


def that_count(noises: Noises, changed: Sequence[Difference]) -> Noises:
    """Those by which tonight's runs are judged, where `changed` is what differs from the baseline.

    A few sessions are enough where nothing but the traffic is slightly another, which their own runs cannot
    show. After a change that somebody made they may have been as many steps of it.
    """
    made = {one.case for one in changed if not slight(one)}
    traffic = {one.case for one in changed} - made
    return {
        (case, measure): noise
        for (case, measure), noise in noises.items()
        if noise.ranges >= (LEAST_OF_TRAFFIC if case in traffic else LEAST_RANGES)
    }


def _ranges(points: Sequence[HistoryPoint], measure: str) -> list[float]:
    """How far good sessions are from the one before, as logarithms of ratios; the newest ones."""
    floor = MEASURES[measure].floor
    values = [[max(one, floor) for one in point.values] for point in points if point.verdict in GOOD]
    levels = [fmean(map(log, of_session)) for of_session in values if min(of_session) > 0]
    return [abs(after - before) for before, after in pairwise(levels)][-MOST_RANGES:]
