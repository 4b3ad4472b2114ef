"""Claims on a folder: one run, or one series of runs, writes into it, and no other.

A claim is a lock that the system keeps on the folder itself. Of several who ask at once one gets it; it
leaves no file behind, and it ends with the process that has it, whatever ends that: a run that says
`running` in a folder without a claim has never ended. On a file system without locks only folders that
are made are told apart; there it is found out after the run whose files they are. Windows locks no folders:
there it is an empty file of the folder's name among the system's temporary ones.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import Final, Self

from keyheat.runfiles import CannotWrite, check_no_link

LOOKS: Final = 3
LOOK_S: Final = 0.02  # between two tries: who only asks whether a folder is claimed holds it for a moment


class Taken(CannotWrite):
    """A folder that another process writes to, or that is not empty; the message is for the user."""


@dataclass(slots=True)
class Claim:
    """A folder that is ours alone until `release`, or until this process ends."""

    folder: Path
    created: int  # folders that were made for this: it, and those that it is in
    _descriptor: int | None

    def unlock(self) -> None:
        """Let another process of ours claim the folder, which stays."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def release(self) -> None:
        """Leave the folder to others; what was made for this, and is empty, is taken away."""
        with suppress(OSError):
            for folder in (self.folder, *self.folder.parents)[: self.created]:
                folder.rmdir()
        self.unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def hold(folder: Path) -> Claim:
    """Claim a folder, whatever is in it. Raises `Taken` if another process has it, and `CannotWrite`."""
    check_no_link(folder)
    while True:
        created = _make_folders(folder)
        try:
            descriptor = _opened(folder)
        except FileNotFoundError:
            continue  # another process has just removed it
        except OSError as error:
            raise CannotWrite(f"cannot write to {folder}: {error.strerror}") from error
        claim = Claim(folder, created, descriptor)
        if not _locked_soon(descriptor):
            claim.unlock()
            raise Taken(f"{folder}: another run is being made there now; give another folder (--out)")
        if _is_still(folder, descriptor):
            return claim
        claim.unlock()


def _locked_soon(descriptor: int) -> bool:
    for look in range(LOOKS):
        if look:
            sleep(LOOK_S)
        if _locked(descriptor):
            return True
    return False


def is_claimed(folder: Path) -> bool:
    """Return whether a process writes into a folder now."""
    try:
        descriptor = _opened(folder)
    except OSError:
        return False
    try:
        return not _locked(descriptor)
    finally:
        os.close(descriptor)


def claim(folder: Path) -> Claim:
    """Claim a folder in which there is nothing. Raises `Taken` or `CannotWrite`."""
    mine = hold(folder)
    try:
        if any(folder.iterdir()):
            raise Taken(
                f"{folder} is not an empty folder: it may hold another run; give another folder (--out)"
            )
    except BaseException:
        mine.unlock()
        raise
    return mine


def claim_numbered(first: Path) -> Claim:
    """Claim a folder in which there is nothing: the first, or the next of its name with `-2`, `-3` ..."""
    for folder in _numbered(first):
        with suppress(Taken):
            return claim(folder)
    raise AssertionError  # numbers do not end


def claim_new(first: Path) -> Claim:
    """Make a folder of that name, or of the next one that is free, and claim it."""
    for folder in _numbered(first):
        if created := _make_folders(folder):
            with suppress(Taken):
                mine = claim(folder)
                mine.created = created
                return mine
    raise AssertionError  # numbers do not end


def _numbered(first: Path) -> Iterator[Path]:
    yield first
    yield from (first.with_name(f"{first.name}-{number}") for number in count(2))


def _make_folders(folder: Path) -> int:
    """Make the folder, and those that it is in; how many that are, none where it is there already."""
    missing = sum(not parent.exists() for parent in folder.parents)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return 0
    except OSError as error:
        raise CannotWrite(f"cannot write to {folder}: {error.strerror}") from error
    return 1 + missing


if sys.platform == "win32":
    import msvcrt
    import tempfile
    from hashlib import sha256

    def _opened(folder: Path) -> int:
        """Return what is locked for a folder; it names the folder, however that is written."""
        name = sha256(os.path.normcase(folder.resolve()).encode()).hexdigest()[:32]
        return os.open(Path(tempfile.gettempdir()) / f"keyheat-{name}.claim", os.O_RDWR | os.O_CREAT)

    def _locked(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _is_still(folder: Path, descriptor: int) -> bool:
        """Return whether the folder is there: who had it before may have taken it away."""
        return folder.is_dir()
else:
    import fcntl

    def _opened(folder: Path) -> int:
        """The folder itself, which is what is locked."""
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)

    def _locked(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True  # there are no locks here
        return True

    def _is_still(folder: Path, descriptor: int) -> bool:
        """Return whether what is open has this name: who had it before may have taken it away."""
        try:
            return os.path.samestat(folder.stat(), os.fstat(descriptor))
        except FileNotFoundError:
            return False
