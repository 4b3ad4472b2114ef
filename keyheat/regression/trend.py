"""How measures went from session to session, and where a series moved to another level and stayed there.

    1,000 |  x x  xx x x x                 a session each; o: its one outlier is no change
          |   x  x    x                    ^: the first session of the new level
      900 |                 ^ xx x xx x
          |         o

Divisive, as E-divisive is: the place is sought at which the values before and those of any stretch after it
differ most; it is a change if so great a difference is rare among shuffled series; then both parts are
searched in turn. An outlier, however far out, counts as `FAR` deviations from the median, and a level needs
`LEAST` sessions to be one: so that one or two bad sessions neither are a change nor hide one.

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
FAR: Final = 4.0  # standard deviations from the median, beyond which values are alike
DEVIATION: Final = 1.4826  # of normal numbers, in median absolute deviations
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """A series changed its level: `index` is the place of the first value of the new one.

    `before` and `after` are the medians of the stretches up to the next changes.
    """

    index: int
    before: float
    after: float

    @property
    def change(self) -> float | None:
        """The relative change; None from a level of 0."""
        return self.after / self.before - 1 if self.before else None


def change_points(values: Sequence[float], *, seed: int = 0) -> tuple[ChangePoint, ...]:
    """Where a series changed its level, in order of time; fewer than six values have no change.

    Shuffled with `seed`: the same series has the same changes. Raises ValueError for a value that is no
    number.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a series has numbers only: leave out the sessions that have none")
    places = sorted(_split(numbers, 0, len(numbers), np.random.default_rng(seed)))
    levels = [float(np.median(part)) for part in np.split(numbers, places)] if len(numbers) else []
    return tuple(
        ChangePoint(index=index, before=before, after=after)
        for index, (before, after) in zip(places, pairwise(levels), strict=True)
    )


def _split(values: Numbers, start: int, end: int, rng: np.random.Generator) -> Iterator[int]:
    """Changes between two places."""
    if end - start < 2 * LEAST:
        return
    scores = _scores(values[start:end])
    index, greatest = _greatest_difference(scores)
    as_great = 1  # the series itself; it is searched only until it is certain that this is not rare
    for _ in range(SHUFFLES):
        as_great += _greatest_difference(rng.permutation(scores))[1] >= greatest - 1e-9
        if as_great > SIGNIFICANCE * (SHUFFLES + 1):
            return
    yield start + index
    yield from _split(values, start, start + index, rng)
    yield from _split(values, start + index, end, rng)


def _scores(values: Numbers) -> Numbers:
    """How far each value is from the median, in robust standard deviations, and none farther than `FAR`."""
    apart = values - np.median(values)
    deviation = DEVIATION * float(np.median(np.abs(apart)))
    scores: Numbers = np.clip(apart / deviation, -FAR, FAR) if deviation else np.sign(apart) * FAR
    return scores


def _greatest_difference(scores: Numbers) -> tuple[int, float]:
    """The place where the values before and those of any stretch after it differ most, and by how much.

    The stretch after it ends anywhere, so that a level that was left again is found.
    """
    place, end, weight = _stretches(len(scores))
    sums = np.concatenate([[0.0], np.cumsum(scores)])
    differences = np.abs(sums[place] / place - (sums[end] - sums[place]) / (end - place)) * weight
    best = int(np.argmax(differences))
    return int(place[best]), float(differences[best])


@lru_cache(maxsize=8)
def _stretches(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
    """All places and ends of stretches, and how far a difference of means counts by their sizes."""
    place, end = np.meshgrid(
        np.arange(LEAST, count - LEAST + 1), np.arange(2 * LEAST, count + 1), indexing="ij"
    )
    kept = end - place >= LEAST
    place, end = place[kept], end[kept]
    return place, end, np.sqrt(place * (end - place) / end)


@dataclass(frozen=True, kw_only=True)
class Trend:
    """One measure of one case over sessions, the oldest first, each by the median of its valid runs."""

    case: str
    measure: Measure
    sessions: tuple[int, ...]
    values: tuple[float, ...]
    regressed: tuple[int, ...]  # sessions in which a gate found it worse than the baseline

    @cached_property
    def changes(self) -> tuple[ChangePoint, ...]:
        return change_points(self.values)

    @property
    def constant(self) -> bool:
        """Whether it is the same in every session."""
        return len(set(self.values)) == 1

    def is_worse(self, change: ChangePoint) -> bool:
        """Whether a change is for the worse."""
        sign = {"higher": -1, "lower": 1, "same": 0}[self.measure.better]
        return sign * (change.after - change.before) > 0


def trends_of(
    history: History, suite: str, last: int, case: str | None = None, measure: str | None = None
) -> tuple[Trend, ...]:
    """The trends of a suite over its `last` sessions, of all its cases and measures or of those named.

    Raises `HistoryProblem` with what there is, if nothing has that name.
    """
    frame = history.measures(suite)
    sessions = [one for one in history.sessions(suite, last) if one.verdict is not None]
    frame = frame[frame["session"].isin([one.id for one in sessions]) & frame["measure"].isin(list(MEASURES))]
    if frame.empty:
        suites = ", ".join(sorted({one.suite for one in history.sessions()})) or "none"
        raise HistoryProblem(f"suite {suite!r} has no measures in {history.path}; suites there: {suites}")
    for column, wanted in (("case", case), ("measure", measure)):
        if wanted is not None and wanted not in (there := sorted(frame[column].unique())):
            raise HistoryProblem(
                f"no {column} {wanted!r} in the newest sessions; there are: {', '.join(there)}"
            )
    worse: dict[tuple[str, str], list[int]] = {}
    for session in reversed(sessions):
        outcome = history.outcome(session)
        for one in outcome.findings if outcome else ():
            if one.decision == "worse":
                worse.setdefault((one.case, one.gate.measure), []).append(session.id)
    medians = frame.groupby(["case", "measure", "session"])["value"].median()
    order = {name: place for place, name in enumerate(MEASURES)}
    made = [
        Trend(
            case=of_case, measure=MEASURES[name], regressed=tuple(worse.get((of_case, name), ())),
            sessions=tuple(map(int, medians[of_case, name].index)), values=tuple(medians[of_case, name]),
        )
        for of_case, name in dict.fromkeys(zip(frame["case"], frame["measure"], strict=True))
        if case in (None, of_case) and measure in (None, name)
    ]  # fmt: skip
    return tuple(sorted(made, key=lambda one: (one.case, order[one.measure.name])))
