"""The index of runs in a sentence: how much there is, what is worse by now, and what was."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from keyheat.numbers import some
from keyheat.pages.runs.rows import CANDIDATE, RunRow
from keyheat.pages.runs.standing import Mark, Named, standings_of
from keyheat.pages.runs.trends import ScenarioTrend
from keyheat.wording.constraints import BURST

MOST: Final = 3  # names; further ones are counted


def headline(rows: Sequence[RunRow], trends: Sequence[ScenarioTrend]) -> str:
    """Such as `189 runs of 6 scenarios: chat of live regressed. Worse before, and not now: jobs of day.`"""
    if not rows:
        return "No run yet."
    what = f"{some(len(rows), 'run')} of {some(len({row.scenario for row in rows}), 'scenario')}"
    now = list(_now(rows, trends))
    before = _before(rows, trends)
    if not now and not trends:
        return f"{what}."
    ever = any(trend.was_worse for trend in trends)
    said = "; ".join(now) or ("nothing is worse now" if ever else "nothing became worse")
    return f"{what}: {said}." + (f" Worse before, and not now: {_listed(before)}." if before else "")


def _now(rows: Sequence[RunRow], trends: Sequence[ScenarioTrend]) -> Iterator[str]:
    """What is said of how it stands: by cases where gates failed, by suites where nothing is decided."""
    stand = {named: found.mark for named, found in standings_of(rows).items()}
    if failed := _marked(stand, "failed"):
        yield f"{_listed(map(_named, failed))} regressed"
    if drifted := _drifted(trends):
        yield f"{_listed(drifted)} became worse"
    yield from _newest_runs(rows)
    for mark, said in (("invalid", "not valid"), ("unaccepted", "to be looked at")):
        if suites := {suite for (suite, _), of_case in stand.items() if of_case == mark}:
            sessions = "the newest sessions of" if len(suites) > 1 else "the newest session of"
            yield f"{sessions} {_listed(suites)} {'are' if len(suites) > 1 else 'is'} {said}"


def _newest_runs(rows: Sequence[RunRow]) -> Iterator[str]:
    """Which newest runs are no calm ones although nothing became worse; of a suite, its sessions say more."""
    newest: dict[tuple[str, str], RunRow] = {}
    for row in sorted(rows, key=lambda row: row.started_s):
        if row.summary is not None and (row.place is None or row.place.side == CANDIDATE):
            newest[row.place.suite if row.place else "", row.scenario] = row
    for tone, said in ((BURST, "lives on saved burst"), ("invalid", "is not valid")):
        names = {
            row.scenario
            for row in newest.values()
            if row.tone == tone and (row.place is None or tone == BURST)
        }
        if names:
            runs = "the newest run of" if len(names) == 1 else "each newest run of"
            yield f"{runs} {_listed(names)} {said}"


def _before(rows: Sequence[RunRow], trends: Sequence[ScenarioTrend]) -> list[str]:
    """What was worse once, and stands otherwise now; what is not decided now is not said to be well."""
    stand = {named: found.mark for named, found in standings_of(rows).items()}
    drifted = set(_drifted(trends))
    return [
        name
        for trend in trends
        if trend.was_worse
        and (name := _name(trend)) not in drifted
        and (not trend.suite or stand.get((trend.suite, trend.name)) in ("held", "first"))
    ]


def _drifted(trends: Sequence[ScenarioTrend]) -> list[str]:
    return [_name(trend) for trend in trends if trend.drifted and trend.stands != "failed"]


def _marked(stand: dict[Named, Mark], mark: Mark) -> list[Named]:
    return [named for named, of_case in stand.items() if of_case == mark]


def _name(trend: ScenarioTrend) -> str:
    return _named((trend.suite, trend.name)) if trend.suite else trend.scenario


def _named(named: Named) -> str:
    suite, case = named
    return f"{case} of {suite}"


def _listed(names: Iterable[str]) -> str:
    """The first ones in the order of the alphabet, and how many more there are."""
    listed = sorted(set(names))
    if len(listed) > MOST:
        return f"{', '.join(listed[:MOST])} and {len(listed) - MOST} more"
    return " and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))
