"""What can be wrong with a history, in words for the person who has to mend it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from keyheat.runfiles import FileProblem

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


MEND = (
    "Put back a copy of it, or take out what can be read with: "
    "sqlite3 {path} .recover | sqlite3 recovered.sqlite"
)


ROW_MEND = (
    "The rest of it can be used, such as another session with --baseline. To have this one again, put back a "
    "copy of the file"
)


class HistoryProblem(ValueError):
    """A history that cannot be read or written as asked, and what can be done about it."""


class Damaged(HistoryProblem, FileProblem):
    """A file that is a history, and of which something is lost or changed."""


def damaged(path: Path, why: str) -> Damaged:
    """That a file is damaged, and how it is mended."""
    return Damaged(f"{path} is damaged or cut short ({why}). {MEND.format(path=path)}")


def row_damaged(path: Path, why: str) -> Damaged:
    """That one row of a file is damaged, of which the others are usable."""
    return Damaged(f"{path} is damaged: {why}. {ROW_MEND}")


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """What SQLite says of the file at `path`, raised as a `HistoryProblem`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _problem(path, error) from error
    except OverflowError as error:
        raise HistoryProblem(f"{path} has no number as large as that") from error
    except UnicodeDecodeError as error:  # of SQLite's own words, which quote what is damaged
        raise damaged(path, "text that cannot be read") from error


def _problem(path: Path, error: sqlite3.Error) -> HistoryProblem:
    if _kind(error) == sqlite3.SQLITE_CORRUPT:
        return damaged(path, str(error))
    if str(error).startswith("Could not decode"):  # Python's own, and with the text in it
        return damaged(path, "text that cannot be read")
    return HistoryProblem(_said(path, error))


def _kind(error: sqlite3.Error) -> int:
    """https://www.sqlite.org/rescode.html; the low byte is the kind of error."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _said(path: Path, error: sqlite3.Error) -> str:
    match _kind(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{path} is locked{_by(path)}. Wait until that has ended, and try again."
        case sqlite3.SQLITE_NOTADB:
            return f"{path} is no history: it is not an SQLite file. Name another with --history FILE."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return f"{path} cannot be written ({error}). Its folder has to be writable too."
        case sqlite3.SQLITE_CANTOPEN:
            return (
                f"{path} cannot be opened ({error}). Its folder has to be readable, and to write, writable."
            )
        case sqlite3.SQLITE_FULL:
            return f"{path} cannot be written: the disk is full. What was kept before is whole."
        case _:
            return f"{path} cannot be used: {error}."


def _by(path: Path) -> str:
    holders = holders_of(path)
    return f" by {' and '.join(holders)}" if holders else " by another process, or from another machine"
