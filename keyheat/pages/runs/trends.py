"""How a scenario went from run to run, what was changed on the way, and where a measure moved.

    accepted  |  x x x     x x x         a picture holds runs of one scenario on one target from one machine,
              |        x x       x x x   however often the table, its keys or the load were changed meanwhile
    setup            ^   ^                ^: what was changed there is said in words

A run that is not valid says nothing about the table, and is in none; neither is one of a baseline that was
run again.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final

from keyheat.analysis.measures import MEASURES, Measure
from keyheat.analysis.summary import RunSummary
from keyheat.pages.run.hero import PLACES
from keyheat.pages.runs.rows import RunRow, local_path
from keyheat.regression.change_points import change_points
from keyheat.regression.comparability import WHAT, in_fields, slight, suspects
from keyheat.regression.outcome import Difference
from keyheat.runfiles import FileProblem
from keyheat.runs.manifest import read_manifest
from keyheat.scenario.scenario import Scenario, scenario_from_dict

MOST: Final = 200  # runs of a trend, the newest: what changed before them is no news
LEAST: Final = 2
SHUFFLES: Final = 199
DIGITS: Final = 4  # of a machine's digest
CANDIDATE: Final = "candidate"
LEAST_EFFECT: Final = 0.03  # relative: less is marked nowhere
DRAWN: Final = (
    "accepted_units_per_s.write", "accepted_units_per_s.read", "throttle_share", "p99_ms",
)  # fmt: skip
MOST_SAID: Final = 3  # changes of a setup; further ones are counted
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
    worse: tuple[int, ...]  # places of runs that a gate found worse than the baseline

    def is_worse(self, change: TrendChange) -> bool:
        """Whether a change is for the worse."""
        sign = {"higher": -1, "lower": 1, "same": 0}[self.measure.better]
        return sign * (change.after - change.before) > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupChange:
    """The run at `at` was made on another setup than the one before it: what is another, in words."""

    at: int
    says: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioTrend:
    """Runs of one scenario, or of a suite's case, the oldest first. `says` tells those of one name apart."""

    name: str
    scenario: str
    target: str
    says: str
    rows: tuple[RunRow, ...]
    left_out: int  # older runs
    series: tuple[TrendSeries, ...]
    setups: tuple[SetupChange, ...]

    @property
    def worse(self) -> bool:
        """Whether the newest thing that is known about it is a change for the worse."""
        return any(
            (one.changes and one.is_worse(one.changes[-1])) or (one.worse and one.worse[-1] in self._newest)
            for one in self.series
        )

    @property
    def _newest(self) -> set[int]:
        """Places of the runs of the newest session."""
        last = self.rows[-1].place
        return {
            place
            for place, row in enumerate(self.rows)
            if last is not None and row.place is not None and row.place.session == last.session
        }


def trends_of(rows: Sequence[RunRow]) -> tuple[ScenarioTrend, ...]:
    """A trend for all that was measured twice: those that became worse first, then the newest."""
    groups: dict[tuple[str, ...], list[RunRow]] = {}
    for row in rows:
        if row.comparable and row.summary is not None and (row.place is None or row.place.side == CANDIDATE):
            groups.setdefault(_apart(row, row.summary), []).append(row)
    chosen = {key: group for key, group in groups.items() if len(group) >= LEAST}
    trends = [
        _trend(key, sorted(group, key=lambda row: row.started_s), _told_apart(key, tuple(chosen)))
        for key, group in chosen.items()
    ]
    return tuple(sorted(trends, key=lambda trend: (not trend.worse, -trend.rows[-1].started_s, trend.name)))


def _apart(row: RunRow, summary: RunSummary) -> tuple[str, ...]:
    """What is never in one picture: name, target, and what else makes numbers those of another place."""
    setup = summary.setup
    name = row.place.case if row.place is not None else row.scenario
    table = setup.table.get("name")
    where = (str(table or ""), setup.region or "", setup.machine_says or "", setup.machine or "")
    return (name, row.target, *where)


def _told_apart(key: tuple[str, ...], keys: Sequence[tuple[str, ...]]) -> str:
    """By what it differs from others of its name and target, the digest of a machine only if words do not."""
    alike = [one for one in keys if one[:2] == key[:2]]
    *words, digest = key[2:]
    said = [word for place, word in enumerate(words, 2) if len({one[place] for one in alike}) > 1 and word]
    others = Counter(one[2:-1] for one in alike)
    return ", ".join([*said, *([f"machine {digest[-DIGITS:]}"] if others[key[2:-1]] > 1 else [])])


def _trend(key: tuple[str, ...], group: Sequence[RunRow], says: str) -> ScenarioTrend:
    rows = tuple(group[-MOST:])
    last = rows[-1]
    return ScenarioTrend(
        name=key[0],
        scenario=last.scenario,
        target=PLACES.get(last.target, last.target),
        says=says,
        rows=rows,
        left_out=len(group) - len(rows),
        series=tuple(_series(rows)),
        setups=tuple(_setups(rows)),
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
    return f"{one.what.removeprefix(f'{WHAT} ')} {one.before} → {one.after}"


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
    columns = {name: _column(rows, name) for name in names}
    most = max((_level(columns[name]) for name in DRAWN if name.startswith("accepted")), default=0.0)
    for name, values in columns.items():
        level = _level(values)
        if not any(value is not None for value in values):
            continue
        if name.startswith("accepted") and level < MEANINGLESS * most:
            continue
        yield TrendSeries(
            measure=MEASURES[name],
            values=values,
            baseline=_baseline(rows, values),
            changes=_changes(MEASURES[name], values),
            worse=tuple(place for place, row in enumerate(rows) if row.place and name in row.place.worse),
        )


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


@lru_cache(maxsize=1_000)  # a server finds most trends as they were
def _changes(measure: Measure, values: tuple[float | None, ...]) -> tuple[TrendChange, ...]:
    """Change points, at the places of the runs that have the measure; below its floor nothing changes."""
    places = [place for place, value in enumerate(values) if value is not None]
    known = [value for value in values if value is not None]
    return tuple(
        TrendChange(at=places[found.index], before=found.before, after=found.after)
        for found in change_points(known, least_effect=LEAST_EFFECT, shuffles=SHUFFLES)
        if max(found.before, found.after) >= measure.floor
    )
