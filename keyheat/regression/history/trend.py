"""How the measures of a suite went from session to session, and where they moved."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from keyheat.analysis.measures import MEASURES, Measure
from keyheat.regression.history.problem import HistoryProblem
from keyheat.regression.history.reading import HistoryReading
from keyheat.regression.history.records import HistoryPoint

if TYPE_CHECKING:
    from keyheat.regression.change_points import ChangePoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """One measure of one case over sessions, the oldest first, each by the median of its runs."""

    suite: str
    case: str
    measure: Measure
    points: tuple[HistoryPoint, ...]
    changes: "tuple[ChangePoint, ...]"
    regressed: tuple[int, ...]  # sessions in which a gate found it worse than the baseline

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(point.median for point in self.points)

    @property
    def constant(self) -> bool:
        """Whether it never was another."""
        return len(set(self.values)) == 1

    def is_worse(self, change: "ChangePoint") -> bool:
        """Whether a change is for the worse."""
        sign = {"higher": -1, "lower": 1, "same": 0}[self.measure.better]
        return sign * (change.after - change.before) > 0


def trends_of(
    history: HistoryReading, suite: str, last: int, case: str | None = None, measure: str | None = None
) -> tuple[Trend, ...]:
    """The trends of a suite over its `last` sessions, of all its cases and measures or of those named.

    Raises `HistoryProblem` with what there is, where there is nothing of that name.
    """
    there = history.measured(suite)
    if not there:
        suites = ", ".join(history.suites()) or "none"
        raise HistoryProblem(f"suite {suite!r} has no measures in {history.path}; suites there: {suites}")
    _must_be_among(case, "case", sorted({one for one, _ in there}))
    _must_be_among(measure, "measure", sorted({one for _, one in there if one in MEASURES}))
    worse = _worse(history, suite, last)
    return tuple(
        _trend(history, suite, of_case, of_measure, last, worse.get((of_case, of_measure), ()))
        for of_case, of_measure in _ordered(there)
        if case in (None, of_case) and measure in (None, of_measure)
    )


def _must_be_among(named: str | None, what: str, there: list[str]) -> None:
    if named is not None and named not in there:
        raise HistoryProblem(f"no {what} {named!r} in the newest sessions; there are: {', '.join(there)}")


def _ordered(there: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    """Case by case, measures as the catalogue has them; one that it no longer has cannot be judged."""
    order = list(MEASURES)
    known = [(case, measure) for case, measure in there if measure in MEASURES]
    yield from sorted(known, key=lambda one: (one[0], order.index(one[1])))


def _worse(history: HistoryReading, suite: str, last: int) -> dict[tuple[str, str], tuple[int, ...]]:
    """Sessions in which a gate failed, by case and measure."""
    found: dict[tuple[str, str], tuple[int, ...]] = {}
    for session in reversed(history.sessions(suite, last)):
        for one in history.findings(session):
            if one.decision == "worse":
                named = (one.case, one.gate.measure)
                found[named] = (*found.get(named, ()), session.id)
    return found


def _trend(
    history: HistoryReading, suite: str, case: str, measure: str, last: int, regressed: tuple[int, ...]
) -> Trend:
    from keyheat.regression.change_points import change_points

    points = history.series(suite, case, measure)[-last:]
    return Trend(
        suite=suite,
        case=case,
        measure=MEASURES[measure],
        points=points,
        changes=change_points([point.median for point in points]),
        regressed=regressed,
    )
