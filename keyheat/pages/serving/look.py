"""What a server shows of its runs: looked at again when somebody asks, and never more often than it pays.

A look at thousands of directories takes a tenth of a second, beside a load that is being measured on the same
machine: so it is at most a twentieth of the time, however many ask. Runs under way are a file each, and are
read every second.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any, Final

import orjson

from keyheat.pages.run.hero import PLACES
from keyheat.pages.runs.content import content_of
from keyheat.pages.runs.found import Found, Problem, Search
from keyheat.pages.runs.history import NOTHING, Memory, Recall
from keyheat.pages.runs.index import Runs, place_of
from keyheat.pages.runs.rows import Row, rows_of
from keyheat.pages.runs.trends import trends_of
from keyheat.runfiles import FileProblem
from keyheat.runs.underway import Underway, read_underway
from keyheat.terminal.progress import PHASES

LEAST_S: Final = 1.0
SHARE: Final = 0.05
DIGITS: Final = 16
LOADING: Final = "loading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All runs at one moment. `version` names what is in `content`, which runs under way are not."""

    runs: Runs
    content: dict[str, Any]
    version: str
    by_key: dict[str, Row]


@dataclass(slots=True)
class Look:
    """The runs below some folders, and in the history, for many who ask at once."""

    folders: tuple[Path, ...]
    search: Search
    recall: Recall
    clock: Callable[[], float]  # seconds since 1970
    _lock: Lock = field(default_factory=Lock)
    _again_s: float = 0.0
    _found: list[Found] = field(default_factory=list)
    _problems: list[Problem] = field(default_factory=list)
    _memory: Memory = NOTHING
    _seen: Seen | None = None

    def seen(self) -> Seen:
        """All runs as they are now, or were a moment ago."""
        with self._lock:
            if self._seen is None or self.clock() >= self._again_s:
                self._look()
            assert self._seen is not None, "there has been a look"
            return self._seen

    def under_way(self) -> list[dict[str, Any]]:
        """Every run that is going on, as the page shows it."""
        seen, now_s = self.seen(), self.clock()
        moving = [row for row in seen.runs.rows if row.state == "under way"]
        return [_moving(row, signs, now_s) for row in moving if (signs := _signs(row)) is not None]

    def _look(self) -> None:
        begun = perf_counter()
        found, problems = self.search.look(self.folders, self.clock())
        memory = self.recall.look()
        if self._seen is None or memory is not self._memory or not self._same(found, problems):
            self._found, self._problems, self._memory = found, problems, memory
            remembered, forgotten = memory
            self._seen = self._made(rows_of(found, remembered), (*problems, *forgotten))
        self._again_s = self.clock() + max(LEAST_S, (perf_counter() - begun) / SHARE)

    def _same(self, found: list[Found], problems: list[Problem]) -> bool:
        """Whether nothing has changed but how far the runs under way are."""
        return (
            problems == self._problems
            and len(found) == len(self._found)
            and all(map(_alike, found, self._found))
        )

    def _made(self, rows: tuple[Row, ...], problems: tuple[Problem, ...]) -> Seen:
        runs = Runs(rows=rows, problems=problems, folders=self.folders, history=self.recall.path)
        ended = tuple(row for row in rows if row.state != "under way")
        trends = trends_of(ended)
        content = content_of(ended, trends, problems, place=place_of, link=_link)
        version = sha256(orjson.dumps(content)).hexdigest()[:DIGITS]
        return Seen(
            runs=runs,
            content=content | {"version": version},
            version=version,
            by_key={row.key: row for row in rows},
        )


def _alike(one: Found, other: Found) -> bool:
    if one.underway is None or other.underway is None:
        return one is other
    return replace(one, underway=None) == replace(other, underway=None)


def _link(row: Row) -> str | None:
    """A run that was analyzed has a page, or gets one when it is asked for."""
    return f"run/{row.key}/report" if row.folder is not None and row.state == "done" else None


def _signs(row: Row) -> Underway | None:
    """How far a run is; None: it has just ended, or was killed, which the next look finds out."""
    if row.folder is None:
        return None
    try:
        return read_underway(row.folder)
    except FileProblem:
        return None


def _moving(row: Row, signs: Underway, now_s: float) -> dict[str, Any]:
    since_s = max(0.0, now_s - signs.at_s) if signs.phase == LOADING else 0.0
    return {
        "key": row.key,
        "scenario": row.scenario,
        "question": row.question,
        "target": PLACES.get(row.target, row.target),
        "folder": place_of(row),
        "doing": PHASES.get(signs.phase, signs.phase),
        "elapsed_s": signs.elapsed_s + since_s,
        "duration_s": signs.duration_s,
        "accepted": signs.accepted,
        "throttled": signs.throttled,
        "errors": signs.errors,
        "seconds": signs.seconds,
    }
