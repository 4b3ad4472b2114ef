"""What a history gives: sessions, the runs of each, pins, and one measure over time. All frozen."""

import os
import socket
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Final, Literal

import psutil

from keyheat.analysis.summary import RunSummary
from keyheat.regression.history.problem import HistoryProblem
from keyheat.regression.outcome import Verdict

Side = Literal["candidate", "baseline"]
"""What a session measures, and what it runs again to have something to hold it against."""
State = Literal["running", "ended", "lost"]
CLOCK_S: Final = 60.0  # the beginning of a process moves with the clock, where that is set
GOOD: Final[tuple[Verdict, ...]] = ("good", "baseline")
"""Verdicts of sessions that later ones are held against; `baseline`: the first, with nothing before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One regress of a suite. `lost`: its process ended without a word, as when it is killed."""

    id: int
    suite: str
    suite_digest: str
    label: str | None
    started_at: datetime
    ended_at: datetime | None
    state: State
    verdict: Verdict | None  # None: it has not ended
    host: str
    pid: int

    @property
    def process(self) -> str:
        """The process that runs it, or ran it, in words."""
        return f"process {self.pid} on {self.host}"

    @property
    def elsewhere(self) -> bool:
        """Whether it runs, or ran, on another machine, whose processes cannot be seen from here."""
        return self.host != socket.gethostname()

    @property
    def took_s(self) -> float | None:
        """How long it lasted; None where it has not ended."""
        return None if self.ended_at is None else (self.ended_at - self.started_at).total_seconds()

    @property
    def good(self) -> bool:
        """Whether it may be a baseline."""
        return self.state == "ended" and self.verdict in GOOD


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One run of a session, in a few numbers, and where its directory is."""

    case: str
    repetition: int  # 0 for the first
    side: Side
    summary: RunSummary
    folder_url: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A name for a session that later ones are held against, and that is not pruned."""

    name: str
    session: int
    at: datetime


def this_process() -> tuple[str, int, float]:
    """Host, number and beginning of this process."""
    return socket.gethostname(), os.getpid(), psutil.Process().create_time()


def is_gone(host: str, pid: int, began_s: float) -> bool:
    """Whether a process of this machine has ended; one that began later only has its number."""
    if host != socket.gethostname():
        return False
    try:
        process = psutil.Process(pid)
        return (
            bool(process.status() == psutil.STATUS_ZOMBIE) or float(process.create_time()) > began_s + CLOCK_S
        )
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False


def check_pin(name: str) -> None:
    """Raise `HistoryProblem` for a name that a session cannot be called by."""
    if not name.strip():
        raise HistoryProblem("a session is pinned by a name, such as release-2, and not by an empty one")
    if name.isdecimal():
        raise HistoryProblem(f"{name} is a number, as sessions have; take a name such as release-2")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """One measure of one case in one session: a value for each valid run that has it."""

    session: int
    started_at: datetime
    verdict: Verdict | None
    label: str | None
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """Sessions that were taken out of a history, and run directories that it no longer refers to."""

    sessions: tuple[int, ...]
    unreferred: tuple[str, ...]  # addresses
