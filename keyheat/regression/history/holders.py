"""Which processes hold a lock on a file, as far as this machine can tell."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

LOCKS: Final = Path("/proc/locks")
"""Linux only: https://man7.org/linux/man-pages/man5/proc_locks.5.html"""
WORDS: Final = 6  # of a command line: enough to know it by


def holders_of(path: Path) -> list[str]:
    """The processes that hold a lock on the file, with their commands; none are known off Linux."""
    with suppress(OSError):
        inode = path.stat().st_ino
        return [_named(pid) for pid in sorted(_pids(LOCKS.read_text(), inode)) if pid != os.getpid()]
    return []


def _pids(locks: str, inode: int) -> set[int]:
    """The processes of all lines such as `1: POSIX  ADVISORY  WRITE 3548 08:01:8713209 128 128`."""
    return {pid for pid, locked in _locks(locks) if locked == inode and pid > 0}


def _locks(locks: str) -> Iterator[tuple[int, int]]:
    for line in locks.splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[1] != "->":  # those with an arrow wait for the lock
            yield int(fields[4]), int(fields[5].split(":")[2])


def _named(pid: int) -> str:
    command = ""
    with suppress(OSError):
        said = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        command = " ".join(word for word in said[:WORDS] if word)
    return f"process {pid} ({command})" if command else f"process {pid}"
