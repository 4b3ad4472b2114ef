"""What a history gives: sessions, the runs of each, pins, and one measure over time. All frozen."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Final, Literal

import psutil

from keyheat.analysis.summary import RunSummary
from keyheat.regression.history.problem import HistoryProblem
from keyheat.regression.outcome import Verdict

Fate = Literal["alive", "gone", "unknown"]
BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
NAMESPACE: Final = Path("/proc/self/ns/pid")
START_FIELD: Final = 19  # of /proc/PID/stat behind the command's closing bracket: starttime, the 22nd of all


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """A process that can be told from every other, also from a later one of the same number."""

    host: str
    boot: str  # one start of a Linux system, and the container in it; empty elsewhere
    pid: int
    began: str  # when the process began, as the system counts it; empty: nobody could tell

    @classmethod
    def here(cls, pid: int | None = None) -> "Maker":
        """This process, or another one of this machine."""
        pid = pid or os.getpid()
        return cls(host=socket.gethostname(), boot=_boot(), pid=pid, began=_began(pid) or "")

    def fate(self, asker: "Maker") -> Fate:
        """What has become of it, as far as `asker` can tell: nobody sees the processes of another machine.

        Another boot of a host with this name may be another machine with the same name, so it says nothing.
        """
        if (self.host, self.boot) != (asker.host, asker.boot):
            return "unknown"
        began = _began(self.pid)
        if began is None:
            return "gone"
        return "alive" if not self.began or began == self.began else "gone"

    @property
    def said(self) -> str:
        return f"process {self.pid} on {self.host}"


def _boot() -> str:
    """Processes are numbered for each boot, and in each container: only within one can they be asked for."""
    with suppress(OSError):
        return f"{BOOT.read_text().strip()} {os.readlink(NAMESPACE)}"
    return ""


def _began(pid: int) -> str | None:
    """When a process began, in a form that a change of the clock leaves alone; None where there is none.

    One that has ended and that nobody has asked after yet is not there any more.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[START_FIELD]
    except OSError:
        pass  # not Linux, or no such process: both are asked below
    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.AccessDenied:
        return ""
    except psutil.NoSuchProcess:
        return "" if psutil.pid_exists(pid) else None  # there, and hidden from us


Side = Literal["candidate", "baseline"]
"""What a session measures, and what it runs again to have something to hold it against."""
State = Literal["running", "ended", "lost"]
GOOD: Final[tuple[Verdict, ...]] = ("good", "baseline")
"""Verdicts of sessions that later ones are held against; `baseline`: the first, with nothing before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One regress of a suite. `lost`: its process ended without a word, as when it is killed."""

    id: int
    suite: str
    suite_digest: str
    label: str | None
    command: str
    started_at: datetime
    ended_at: datetime | None
    state: State
    verdict: Verdict | None  # None: it has not ended
    maker: Maker

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
    unreferred: Mapping[str, str]  # the address of a directory -> the id of its run
