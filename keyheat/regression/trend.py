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
from functools import cached_property
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

    `before` and `after` are the medians of the stretches up to the next changes, `change` is relative and
    None from a level of 0; `chance` is how often a shuffled series has as great a difference.
    """

    index: int
    before: float
    after: float
    change: float | None
    chance: float


def change_points(
    values: Sequence[float],
    *,
    least_effect: float = 0.0,
    significance: float = SIGNIFICANCE,
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> tuple[ChangePoint, ...]:
    """Where a series changed its level, in order of time; fewer than six values have no change.

    A change of less than `least_effect` (0.05: five percent) is not told; the levels are those of all
    changes. Shuffled with `seed`: the same series has the same changes. Raises ValueError for a value that is
    no number.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not len(numbers):
        return ()
    if not np.isfinite(numbers).all():
        raise ValueError("a series has numbers only: leave out the sessions that have none")
    rng = np.random.default_rng(seed)
    found = sorted(_split(numbers, 0, len(numbers), significance, shuffles, rng))
    places = [index for index, _ in found]
    levels = [float(np.median(part)) for part in np.split(numbers, places)]
    points = (
        _point(index, chance, levels[place], levels[place + 1]) for place, (index, chance) in enumerate(found)
    )
    return tuple(point for point in points if point.change is None or abs(point.change) >= least_effect)


def _point(index: int, chance: float, before: float, after: float) -> ChangePoint:
    change = after / before - 1 if before else (0.0 if not after else None)
    return ChangePoint(index=index, before=before, after=after, change=change, chance=chance)


def _split(
    values: Numbers, start: int, end: int, significance: float, shuffles: int, rng: np.random.Generator
) -> Iterator[tuple[int, float]]:
    """Changes between two places, each with its chance."""
    if end - start < 2 * LEAST:
        return
    scores = _scores(values[start:end])
    shape = _Stretches.of(end - start)
    index, greatest = shape.greatest(scores)
    chance = _chance(scores, greatest, shape, significance, shuffles, rng)
    if chance > significance:
        return
    yield start + index, chance
    yield from _split(values, start, start + index, significance, shuffles, rng)
    yield from _split(values, start + index, end, significance, shuffles, rng)


def _scores(values: Numbers) -> Numbers:
    """How far each value is from the median, in robust standard deviations, and none farther than `FAR`."""
    apart = values - np.median(values)
    deviation = DEVIATION * float(np.median(np.abs(apart)))
    scores: Numbers = np.clip(apart / deviation, -FAR, FAR) if deviation else np.sign(apart) * FAR
    return scores


def _chance(
    scores: Numbers,
    greatest: float,
    shape: "_Stretches",
    significance: float,
    shuffles: int,
    rng: np.random.Generator,
) -> float:
    """How often shuffled scores differ as much; searched only until it is certain that this is not rare."""
    as_great = 1  # the series itself
    enough = significance * (shuffles + 1)
    for tried in range(1, shuffles + 1):
        as_great += shape.greatest(rng.permutation(scores))[1] >= greatest - 1e-9
        if as_great > enough:
            return as_great / (tried + 1)
    return as_great / (shuffles + 1)


@dataclass(frozen=True, slots=True)
class _Stretches:
    """All pairs of neighbouring stretches of a series that are compared: up to a place, and from it on.

    The first stretch begins at the start of the series; the second ends anywhere, so that a level that was
    left again is found.
    """

    places: NDArray[np.int64]
    ends: NDArray[np.int64]
    weights: Numbers  # how far a difference of means counts, by the sizes of the stretches

    @classmethod
    def of(cls, count: int) -> "_Stretches":
        places = np.arange(LEAST, count - LEAST + 1)
        place, end = np.meshgrid(places, np.arange(2 * LEAST, count + 1), indexing="ij")
        kept = end - place >= LEAST
        place, end = place[kept], end[kept]
        return cls(place, end, np.sqrt(place * (end - place) / end))

    def greatest(self, scores: Numbers) -> tuple[int, float]:
        """The place of the greatest difference, and how great it is."""
        sums = np.concatenate([[0.0], np.cumsum(scores)])
        first = sums[self.places] / self.places
        last = (sums[self.ends] - sums[self.places]) / (self.ends - self.places)
        differences = np.abs(first - last) * self.weights
        best = int(np.argmax(differences))
        return int(self.places[best]), float(differences[best])


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
            case=str(of_case), measure=MEASURES[str(name)], regressed=tuple(worse.get((of_case, name), ())),
            sessions=tuple(map(int, series.index.get_level_values("session"))), values=tuple(series),
        )
        for (of_case, name), series in medians.groupby(level=["case", "measure"])
        if case in (None, of_case) and measure in (None, name)
    ]  # fmt: skip
    return tuple(sorted(made, key=lambda one: (one.case, order[one.measure.name])))
