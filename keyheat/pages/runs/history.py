"""The runs that the history has: where each stands in its suite, the baseline, and what became worse."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from keyheat.pages.runs.found import Problem
from keyheat.pages.runs.rows import Place, Remembered
from keyheat.regression.history import History, HistoryProblem, Session

Memory = tuple[tuple[Remembered, ...], tuple[Problem, ...]]
NOTHING: Memory = ((), ())


@dataclass(slots=True)
class Recall:
    """Reads one history, again whenever its file has changed; one that is not there has nothing to say.

    `now` is asked by the history, which may have to bring an older file up to date.
    """

    path: Path
    now: Callable[[], datetime]
    _stamp: tuple[int, int] | None = None
    _memory: Memory = NOTHING

    def look(self) -> Memory:
        """Every run that is remembered, and what stood in the way. The same object while nothing changed."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._memory = None, NOTHING
            return self._memory
        stamp = there.st_mtime_ns, there.st_size
        if stamp != self._stamp:
            self._memory = self._read()
            after = self.path.stat()
            self._stamp = after.st_mtime_ns, after.st_size
        return self._memory

    def _read(self) -> Memory:
        try:
            with History.open(self.path, self.now) as history:
                return tuple(_remembered(history)), ()
        except HistoryProblem as problem:
            return (), (Problem(place=self.path, why=str(problem)),)


def _remembered(history: History) -> Iterator[Remembered]:
    baselines = {session.id for suite in history.suites() if (session := history.last_good(suite))}
    for session in history.sessions():
        yield from _of_session(history, session, baseline=session.id in baselines)


def _of_session(history: History, session: Session, *, baseline: bool) -> Iterator[Remembered]:
    worse: dict[str, list[str]] = {}
    for finding in history.findings(session):
        if finding.failed:
            worse.setdefault(finding.case, []).append(finding.gate.measure)
    for kept in history.runs(session, side=None):
        candidate = kept.side == "candidate"
        yield Remembered(
            summary=kept.summary,
            url=kept.folder_url,
            at_s=kept.at.timestamp(),
            place=Place(
                suite=session.suite,
                case=kept.case,
                session=str(session.id),
                repetition=kept.repetition,
                side=kept.side,
                baseline=baseline and candidate,
                worse=tuple(worse.get(kept.case, ())) if candidate else (),
            ),
        )
