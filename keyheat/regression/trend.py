"""Trends of measures over sessions, and change points where a level shifted and stayed.

    1,000 |  x x  xx x x x                 x: a session; o: an outlier, not a change
          |   x  x    x                    ^: the first session of the new level
      900 |                 ^ xx x xx x
          |         o

Divisive, like E-divisive: find the index where the values before it differ most from any stretch after it;
it is a change if such a difference is rare among shuffled series; then search both parts. An outlier counts
as at most `FAR` deviations from the median, and a level needs `LEAST` sessions, so that one or two bad
sessions are no change, and hide none.

Matteson, D. S. and James, N. A. (2014), Journal of the American Statistical Association 109, 334-345,
doi:10.1080/01621459.2013.849605
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keyheat.analysis.measures import MEASURES, Measure
from keyheat.regression.history import History, HistoryProblem

LEAST: Final = 3  # values on each side of a change
SIGNIFICANCE: Final = 0.01  # how often a series without a change has one
SHUFFLES: Final = 499
FAR: Final = 4.0  # standard deviations from the median; values beyond are equal
DEVIATION: Final = 1.4826  # of normal numbers, in median absolute deviations
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """A shift of a series' level: `index` is the first value of the new level.

    `before` and `after` are the medians of the stretches up to the neighbouring changes.
    """

    index: int
    before: float
    after: float

    @property
    def change(self) -> float | None:
        """Relative change; None from a level of 0."""
        return self.after / self.before - 1 if self.before else None


def change_points(values: Sequence[float], *, seed: int = 0) -> tuple[ChangePoint, ...]:
    """Find level shifts in a series, in order of time; a series needs six values.

    `seed` shuffles: equal series have equal changes. Raises ValueError for a value that is not a number.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a series must have numbers only: leave out sessions without one")
    places = sorted(_split(numbers, 0, len(numbers), np.random.default_rng(seed)))
    levels = [float(np.median(stretch)) for stretch in np.split(numbers, places)] if len(numbers) else []
    return tuple(
        ChangePoint(index=index, before=before, after=after)
        for index, (before, after) in zip(places, pairwise(levels), strict=True)
    )


def _split(values: Numbers, start: int, end: int, rng: np.random.Generator) -> Iterator[int]:
    """Changes between two indexes."""
    if end - start < 2 * LEAST:
        return
    scores = _scores(values[start:end])
    index, greatest = _greatest_difference(scores)
    as_great = 1  # the series itself; stop once the difference is not rare
    for _ in range(SHUFFLES):
        as_great += _greatest_difference(rng.permutation(scores))[1] >= greatest - 1e-9
        if as_great > SIGNIFICANCE * (SHUFFLES + 1):
            return
    yield start + index
    yield from _split(values, start, start + index, rng)
    yield from _split(values, start + index, end, rng)


def _scores(values: Numbers) -> Numbers:
    """Distance of each value from the median, in robust standard deviations, at most `FAR`."""
    apart = values - np.median(values)
    deviation = DEVIATION * float(np.median(np.abs(apart)))
    scores: Numbers = np.clip(apart / deviation, -FAR, FAR) if deviation else np.sign(apart) * FAR
    return scores


def _greatest_difference(scores: Numbers) -> tuple[int, float]:
    """The index where the values before and those of any stretch after it differ most, and that difference.

    The stretch may end anywhere, so that a level that was left again is found.
    """
    index, end, weight = _stretches(len(scores))
    sums = np.concatenate([[0.0], np.cumsum(scores)])
    differences = np.abs(sums[index] / index - (sums[end] - sums[index]) / (end - index)) * weight
    best = int(np.argmax(differences))
    return int(index[best]), float(differences[best])


@lru_cache(maxsize=8)
def _stretches(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
    """All indexes and ends of stretches, with the weight of their sizes in a difference of means."""
    index, end = np.meshgrid(
        np.arange(LEAST, count - LEAST + 1), np.arange(2 * LEAST, count + 1), indexing="ij"
    )
    kept = end - index >= LEAST
    index, end = index[kept], end[kept]
    return index, end, np.sqrt(index * (end - index) / end)


@dataclass(frozen=True, kw_only=True)
class Trend:
    """One measure of a case over sessions, oldest first: the median of its valid runs."""

    case: str
    measure: Measure
    sessions: tuple[int, ...]
    values: tuple[float, ...]
    regressed: tuple[int, ...]  # sessions where a gate failed as worse

    @cached_property
    def changes(self) -> tuple[ChangePoint, ...]:
        return change_points(self.values)

    @property
    def constant(self) -> bool:
        """Whether it is equal in every session."""
        return len(set(self.values)) == 1

    def is_worse(self, change: ChangePoint) -> bool:
        """Whether a change is for the worse."""
        sign = {"higher": -1, "lower": 1, "same": 0}[self.measure.better]
        return sign * (change.after - change.before) > 0


def trends_of(
    history: History, suite: str, last: int, case: str | None = None, measure: str | None = None
) -> tuple[Trend, ...]:
    """Trends of a suite over its `last` sessions, for all or the named cases and measures.

    Raises `HistoryProblem` with the existing names for an unknown one.
    """
    frame = history.measures(suite)
    sessions = [session for session in history.sessions(suite, last) if session.verdict is not None]
    numbers = [session.id for session in sessions]
    frame = frame[frame["session"].isin(numbers) & frame["measure"].isin(list(MEASURES))]
    if frame.empty:
        suites = ", ".join(sorted({session.suite for session in history.sessions()})) or "none"
        raise HistoryProblem(f"suite {suite!r} has no measures in {history.path}; suites there: {suites}")
    for column, name_given in (("case", case), ("measure", measure)):
        if name_given is not None and name_given not in (there := sorted(frame[column].unique())):
            raise HistoryProblem(
                f"no {column} {name_given!r} in the newest sessions; there are: {', '.join(there)}"
            )
    worse: dict[tuple[str, str], list[int]] = {}
    for session in reversed(sessions):
        outcome = history.outcome(session)
        for finding in outcome.findings if outcome else ():
            if finding.decision == "worse":
                worse.setdefault((finding.case, finding.gate.measure), []).append(session.id)
    medians = frame.groupby(["case", "measure", "session"])["value"].median()
    order = {name: position for position, name in enumerate(MEASURES)}
    trends = [
        Trend(
            case=of_case, measure=MEASURES[name], regressed=tuple(worse.get((of_case, name), ())),
            sessions=tuple(map(int, medians[of_case, name].index)), values=tuple(medians[of_case, name]),
        )
        for of_case, name in dict.fromkeys(zip(frame["case"], frame["measure"], strict=True))
        if case in (None, of_case) and measure in (None, name)
    ]  # fmt: skip
    return tuple(sorted(trends, key=lambda trend: (trend.case, order[trend.measure.name])))
