"""How each case of each suite stands: a mark for every session that it was in, and the newest that decides.

    session   1      2     3       4           5            6
    mark      first  held  failed  unaccepted  interrupted  held      it stands: held

A session that was calibrated, refused, interrupted or has not ended decides nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from keyheat.pages.runs.rows import CANDIDATE, RunRow

Mark = Literal[
    "held", "first", "failed", "unaccepted", "invalid",
    "calibrated", "refused", "interrupted", "not_compared", "unended",
]  # fmt: skip
MARKS: Final[Mapping[Mark, str]] = {
    "held": "every gate held",
    "first": "held against nothing",
    "failed": "a gate failed",
    "unaccepted": "somebody is to look at it first",
    "invalid": "not valid, so that nothing is decided",
    "calibrated": "with nothing changed, to calibrate",
    "refused": "refused before it was whole",
    "interrupted": "interrupted before it was whole",
    "not_compared": "not compared",
    "unended": "not ended",
}
DECIDE: Final[tuple[Mark, ...]] = ("held", "first", "failed", "unaccepted", "invalid")
Named = tuple[str, str]
"""A suite and a case of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMark:
    """One session of a suite as one case of it sees it; `row` is the first of its runs."""

    row: RunRow
    mark: Mark


def marks_of(rows: Sequence[RunRow]) -> tuple[SessionMark, ...]:
    """A mark for each session among the runs of one case, the oldest first; runs of none have no mark."""
    by_session: dict[str, list[RunRow]] = {}
    for row in sorted(rows, key=lambda row: row.started_s):
        if row.place is not None:
            by_session.setdefault(row.place.session, []).append(row)
    return tuple(SessionMark(row=of[0], mark=_mark(of)) for of in by_session.values())


def _mark(rows: Sequence[RunRow]) -> Mark:
    """What a session says of one case, whose runs these are; another case may have decided its verdict."""
    place = rows[0].place
    assert place is not None, "a mark is of runs of a session"
    match place.verdict:
        case None:
            return "unended"
        case "good" | "baseline" | "regressed" | "unaccepted":
            if place.worse or any(row.summary is not None and row.summary.broken for row in rows):
                return "failed"
            if place.judged:
                return "held"
            return "unaccepted" if place.verdict == "unaccepted" else "first"
        case aside:
            return aside


def standings_of(rows: Iterable[RunRow]) -> dict[Named, SessionMark]:
    """The newest session of each case that decides something.

    A case that its suite's newest such session does not have has left the suite: it stands nowhere.
    """
    newest = dict(_newest(rows))
    last: dict[str, SessionMark] = {}
    for (suite, _), found in newest.items():
        if suite not in last or found.row.started_s > last[suite].row.started_s:
            last[suite] = found
    return {named: found for named, found in newest.items() if _session(found) == _session(last[named[0]])}


def _newest(rows: Iterable[RunRow]) -> Iterator[tuple[Named, SessionMark]]:
    by_case: dict[Named, list[RunRow]] = {}
    for row in rows:
        if row.place is not None and row.place.side == CANDIDATE:
            by_case.setdefault((row.place.suite, row.place.case), []).append(row)
    for named, of_case in by_case.items():
        if deciding := [one for one in marks_of(of_case) if one.mark in DECIDE]:
            yield named, deciding[-1]


def _session(mark: SessionMark) -> str:
    return mark.row.place.session if mark.row.place is not None else ""
