"""The process that makes a session, and whether it is still there."""

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import psutil

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
