"""What can be wrong with a history, in words for the person who has to mend it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keyheat.runfiles import FileProblem


class HistoryProblem(ValueError):
    """A history that cannot be read or written as asked, and what can be done about it."""


class Damaged(HistoryProblem, FileProblem):
    """A file that is a history, and of which something is lost or changed."""


def damaged(path: Path, why: str) -> Damaged:
    """That a file is damaged, and how it is mended."""
    return Damaged(
        f"{path} is damaged or cut short ({why}). Put back a copy of it, or take out what can be read with: "
        f"sqlite3 {path} .recover | sqlite3 recovered.sqlite"
    )


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
    return HistoryProblem(_message(path, error))


def _kind(error: sqlite3.Error) -> int:
    """https://www.sqlite.org/rescode.html; the low byte is the kind of error."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _message(path: Path, error: sqlite3.Error) -> str:
    match _kind(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{path} is locked by another process. Wait until that has ended, and try again."
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
