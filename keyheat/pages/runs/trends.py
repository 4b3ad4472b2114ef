"""How a scenario went from run to run, what was changed on the way, and where a measure moved.

    accepted  |  x x x     x x x         a picture holds runs of one scenario, or of one case of one suite,
              |        x x       x x x   on one target from one machine, however often table, keys or load
    setup            ^   ^               were changed meanwhile; ^: what was changed there is said in words

A run that is not valid says nothing about the table, and is in none; neither is one of a baseline that was
run again. A session has its mark in either case.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final

from keyheat.analysis.measures import MEASURES, Measure
from keyheat.analysis.summary import RunSummary
from keyheat.pages.runs.rows import CANDIDATE, RunRow, local_path
from keyheat.pages.runs.standing import Mark, SessionMark, marks_of, standings_of
from keyheat.regression.change_points import change_points
from keyheat.regression.comparability import WHAT, in_fields, slight, suspects
from keyheat.regression.outcome import Difference
from keyheat.runfiles import FileProblem
from keyheat.runs.manifest import read_manifest
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.wording.constraints import target_words

MOST: Final = 200  # runs of a trend, the newest: what changed before them is no news
LEAST: Final = 2
SHUFFLES: Final = 199
DIGITS: Final = 4  # of a machine's digest
LEAST_EFFECT: Final = 0.03  # relative: less is marked nowhere
DRAWN: Final = (
    "accepted_units_per_s.write", "accepted_units_per_s.read", "throttle_share", "p99_ms",
)  # fmt: skip
MOST_SAID: Final = 3  # changes of a setup; further ones are counted
MEAN: Final = "mean_"
"""Begins the name of a measure that is a mean of the one whose name goes on behind it."""
MEANINGLESS: Final = 0.01
"""Of the other direction's accepted units: less is a scenario's by-product, and not drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendChange:
    """From the run at `at` on, a measure was another: medians before and after."""

    at: int
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendSeries:
    """One measure over the runs of a trend; None where a run does not have it."""

    measure: Measure
    values: tuple[float | None, ...]
    baseline: float | None
    changes: tuple[TrendChange, ...]
    worse: tuple[int, ...]  # places of runs that a gate found worse than the baseline; some have no number
    now: float | None  # the level of the newest session that has the measure

    def is_worse(self, change: TrendChange) -> bool:
        """Whether a change is for the worse."""
        sign = {"higher": -1, "lower": 1, "same": 0}[self.measure.better]
        return sign * (change.after - change.before) > 0

    def lasts(self, change: TrendChange) -> bool:
        """Whether the newest level is beyond the middle of a change, on the side to which it led."""
        middle = (change.before + change.after) / 2
        return self.now is not None and (self.now > middle) == (change.after > change.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupChange:
    """The run at `at` was made on another setup than the one before it: what is another, in words."""

    at: int
    says: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioTrend:
    """Runs of one scenario, or of a suite's case, the oldest first. `says` tells those of one name apart.

    `stands` is the mark of the case's newest session, where that is in this picture and the case is still in
    its suite.
    """

    name: str
    suite: str  # empty: of none
    scenario: str
    target: str
    says: str
    rows: tuple[RunRow, ...]
    left_out: int  # older runs
    series: tuple[TrendSeries, ...]
    setups: tuple[SetupChange, ...]
    sessions: tuple[SessionMark, ...]  # also those whose runs are not valid
    stands: Mark | None = None

    @property
    def worse(self) -> bool:
        """Whether it is worse by now: its newest session failed, or a change for the worse still lasts."""
        return self.stands == "failed" or self.drifted

    @property
    def drifted(self) -> bool:
        """Whether a change for the worse lasts that nobody has made the baseline."""
        current = not self.suite or self.stands is not None
        return current and any(
            change.at > self._accepted and one.is_worse(change) and one.lasts(change)
            for one in self.series
            for change in one.changes[-1:]
        )

    @property
    def was_worse(self) -> bool:
        """Whether it ever was."""
        failed = any(one.mark == "failed" for one in self.sessions)
        return failed or any(one.is_worse(change) for one in self.series for change in one.changes)

    @property
    def _accepted(self) -> int:
        """The place of the first run of the newest session that began anew; 0 where none did."""
        anew = [row.place.session for row in self.rows if row.place and row.place.verdict == "baseline"]
        sessions = [row.place.session if row.place else "" for row in self.rows]
        return sessions.index(anew[-1]) if anew else 0


WEIGHTS: Final[Mapping[Mark | None, int]] = {"failed": 0, "invalid": 2, "unaccepted": 2}
"""Which pictures come first, by how their cases stand; what has drifted comes between."""


def trends_of(rows: Sequence[RunRow]) -> tuple[ScenarioTrend, ...]:
    """A trend for all that was measured twice: those that are worse by now first, then the newest."""
    groups: dict[tuple[str, ...], list[RunRow]] = {}
    for row in rows:
        if row.summary is not None and (row.place is None or row.place.side == CANDIDATE):
            groups.setdefault(_apart(row, row.summary), []).append(row)
    chosen = {
        key: sorted(group, key=lambda row: row.started_s)
        for key, group in groups.items()
        if sum(row.comparable for row in group) >= LEAST
    }
    standings = standings_of(rows)
    trends = [_trend(key, of_key, _told_apart(key, tuple(chosen))) for key, of_key in chosen.items()]
    stand = (_standing(trend, standings.get((trend.suite, trend.name))) for trend in trends)
    return tuple(sorted(stand, key=_order))


def _standing(trend: ScenarioTrend, newest: SessionMark | None) -> ScenarioTrend:
    """The trend with how its case stands, if the newest session of that is one of its own."""
    here = newest is not None and any(one.row.key == newest.row.key for one in trend.sessions)
    return replace(trend, stands=newest.mark) if newest is not None and here else trend


def _order(trend: ScenarioTrend) -> tuple[int, float, str, str]:
    weight = 1 if trend.drifted and trend.stands != "failed" else WEIGHTS.get(trend.stands, 3)
    return weight, -trend.rows[-1].started_s, trend.name, trend.suite


def _apart(row: RunRow, summary: RunSummary) -> tuple[str, ...]:
    """What is never in one picture: suite, name, target, and what makes numbers those of another place."""
    setup = summary.setup
    suite, name = (row.place.suite, row.place.case) if row.place is not None else ("", row.scenario)
    table = setup.table.get("name")
    where = (str(table or ""), setup.region or "", setup.machine_says or "", setup.machine or "")
    return (suite, name, row.target, *where)


def _told_apart(key: tuple[str, ...], keys: Sequence[tuple[str, ...]]) -> str:
    """By what it differs from others of its suite, name and target; by a machine's digest if words do not."""
    alike = [one for one in keys if one[:3] == key[:3]]
    *words, digest = key[3:]
    said = [word for place, word in enumerate(words, 3) if len({one[place] for one in alike}) > 1 and word]
    others = Counter(one[3:-1] for one in alike)
    return ", ".join([*said, *([f"machine {digest[-DIGITS:]}"] if others[key[3:-1]] > 1 else [])])


def _trend(key: tuple[str, ...], group: Sequence[RunRow], says: str) -> ScenarioTrend:
    """The trend of a group, the oldest first, whose runs that are not valid have marks only."""
    valid = [row for row in group if row.comparable]
    rows = tuple(valid[-MOST:])
    last = rows[-1]
    return ScenarioTrend(
        suite=key[0],
        name=key[1],
        scenario=last.scenario,
        target=target_words(last.target),
        says=says,
        rows=rows,
        left_out=len(valid) - len(rows),
        series=tuple(_series(rows)),
        setups=tuple(_setups(rows)),
        sessions=marks_of([row for row in group if row.started_s >= rows[0].started_s]),
    )


def _setups(rows: Sequence[RunRow]) -> Iterator[SetupChange]:
    """Where a run was made on another setup than the one before it."""
    for at, (before, after) in enumerate(pairwise(rows), 1):
        if says := [_in_words(one) for one in _changed(before, after) if not slight(one)]:
            more = [f"{len(says) - MOST_SAID} more"] if len(says) > MOST_SAID else []
            yield SetupChange(at=at, says=(*says[:MOST_SAID], *more))


def _changed(before: RunRow, after: RunRow) -> Sequence[Difference]:
    """What of the setup is another with the second run; of its scenario field by field, if both are here."""
    first, last = before.summary, after.summary
    if first is None or last is None or first.setup == last.setup:
        return ()
    case = after.scenario
    found = suspects({case: [first]}, {case: [last]}, (case,))
    was, now = _scenario(before), _scenario(after)
    if was is not None and now is not None:
        found = in_fields(found, {case: was}, {case: now})
    if first.setup.scale == last.setup.scale:
        return found
    scales = {"before": f"{first.setup.scale:g}", "after": f"{last.setup.scale:g}"}
    return (*found, Difference(case=case, what="every limit ×", **scales))


def _in_words(one: Difference) -> str:
    if one.what == WHAT:
        return "another scenario"
    return one.change.removeprefix(f"{WHAT} ")


def _scenario(row: RunRow) -> Scenario | None:
    """The scenario of a run, where its directory is still here."""
    folder = row.folder or local_path(row.url)
    return None if folder is None or row.summary is None else _read(folder, row.summary.run_id)


@lru_cache(maxsize=1_000)  # a server finds most runs as they were
def _read(folder: Path, run_id: str) -> Scenario | None:
    """What the manifest in a folder says, if it is still that of this run."""
    with suppress(FileProblem, ValueError):
        manifest = read_manifest(folder)
        if manifest.scenario is not None and manifest.run_id in (None, run_id):
            return scenario_from_dict(dict(manifest.scenario), str(folder))
    return None


def _series(rows: Sequence[RunRow]) -> Iterator[TrendSeries]:
    failed = {name for row in rows if row.place for name in row.place.worse}
    names = [*DRAWN, *(name for name in MEASURES if name in failed and name not in DRAWN)]
    columns = {name: _column(rows, name) for name in names if not _said_twice(rows, name, names)}
    most = max((_level(columns[name]) for name in DRAWN if name.startswith("accepted")), default=0.0)
    for name, values in columns.items():
        level = _level(values)
        if not any(value is not None for value in values):
            continue
        if name.startswith("accepted") and level < MEANINGLESS * most:
            continue
        levels = tuple(_levels(rows, values))
        yield TrendSeries(
            measure=MEASURES[name],
            values=values,
            baseline=_baseline(rows, values),
            changes=_changes(MEASURES[name], levels),
            worse=tuple(place for place, row in enumerate(rows) if row.place and name in row.place.worse),
            now=levels[-1][1],
        )


def _said_twice(rows: Sequence[RunRow], name: str, names: Sequence[str]) -> bool:
    """Whether a mean says of every run what the exact number beside it says."""
    exact = name.removeprefix(MEAN)
    return exact != name and exact in names and _column(rows, exact) == _column(rows, name)


def _column(rows: Sequence[RunRow], name: str) -> tuple[float | None, ...]:
    return tuple(row.summary.measures.get(name) if row.summary else None for row in rows)


def _level(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return median(known) if known else 0.0


def _baseline(rows: Sequence[RunRow], values: Sequence[float | None]) -> float | None:
    """What later runs are held against: the median of the baseline's repetitions."""
    known = [
        value
        for row, value in zip(rows, values, strict=True)
        if row.place is not None and row.place.baseline and value is not None
    ]
    return median(known) if known else None


def _levels(rows: Sequence[RunRow], values: Sequence[float | None]) -> Iterator[tuple[int, float]]:
    """The median of each session that has the measure, at the place of its first run; else that of each run.

    The runs of one night are alike, and several of them would pass for a level of their own.
    """
    of_session: dict[tuple[str, str] | int, list[int]] = {}
    for at, (row, value) in enumerate(zip(rows, values, strict=True)):
        if value is not None:
            session = (row.place.suite, row.place.session) if row.place is not None else at
            of_session.setdefault(session, []).append(at)
    for places in of_session.values():
        yield places[0], _level([values[at] for at in places])


@lru_cache(maxsize=1_000)  # a server finds most trends as they were
def _changes(measure: Measure, levels: tuple[tuple[int, float], ...]) -> tuple[TrendChange, ...]:
    """Change points, by the levels and their places; below the measure's floor nothing changes."""
    return tuple(
        TrendChange(at=levels[found.index][0], before=found.before, after=found.after)
        for found in change_points(
            [level for _, level in levels], least_effect=LEAST_EFFECT, shuffles=SHUFFLES
        )
        if max(found.before, found.after) >= measure.floor
    )
