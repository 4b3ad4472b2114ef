"""How the measures of a suite went from session to session, where they moved; also for Apache Otava."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from keyheat.analysis.measures import MEASURES, Better, Measure
from keyheat.masking import as_cell
from keyheat.regression.history.problem import HistoryProblem
from keyheat.regression.history.reading import HistoryReading
from keyheat.regression.history.records import HistoryPoint
from keyheat.runfiles import write_atomically

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


CONFIG: Final = "otava.yaml"
DIRECTIONS: Final[Mapping[Better, int]] = {"higher": 1, "lower": -1, "same": 0}
COLUMNS: Final = ("time", "session", "label")

Series = Mapping[tuple[str, str], Sequence[HistoryPoint]]
"""Points by case and measure, the oldest first."""


def write_otava(folder: Path, suite: str, series: Series) -> tuple[Path, ...]:
    """Write a suite's series for Otava, and give the files, the configuration first.

    A series without points is left out. Raises `CannotWrite`, KeyError for a measure that there is not, and
    ValueError where two names come to the same file.
    """
    tests: dict[str, Any] = {}
    written = []
    for (case, measure), points in series.items():
        if not points:
            continue
        name = ".".join(map(_plain, (suite, case, measure)))
        if name in tests:
            raise ValueError(f"two cases come to the same file, {name}.csv: rename one of them")
        tests[name] = _test(name, measure)
        written.append(_write(folder / f"{name}.csv", _rows(measure, points)))
    config = {"tests": tests, "test_groups": {_plain(suite): list(tests)}}
    body = orjson.dumps(config, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return (_write(folder / CONFIG, body), *written)


def _test(name: str, measure: str) -> dict[str, Any]:
    return {
        "type": "csv",
        "file": f"{name}.csv",
        "time_column": "time",
        "attributes": list(COLUMNS[1:]),
        "metrics": {measure: {"column": measure, "direction": DIRECTIONS[MEASURES[measure].better]}},
    }


def _rows(measure: str, points: Sequence[HistoryPoint]) -> bytes:
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*COLUMNS, measure])
    for point in points:
        moment = point.started_at.isoformat(timespec="seconds")
        rows.writerow([moment, point.session, as_cell(point.label or ""), f"{point.median:.12g}"])
    return text.getvalue().encode()


def _write(path: Path, body: bytes) -> Path:
    write_atomically(path, lambda file: file.write(body))
    return path


def _plain(name: str) -> str:
    """A name as a part of a file's."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name)
