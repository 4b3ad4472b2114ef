"""Claims on a folder: only one run, or series of runs, writes to it at a time.

A claim is a lock of the operating system on the folder itself. It leaves no file behind and ends with its
process, so a run that states `running` in an unclaimed folder never ended. On file systems without locks,
only new folders are safe. Windows cannot lock folders; it locks an empty file in its temporary folder.
"""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import Final, Self

from keyheat.runfiles import CannotWrite, check_no_link

LOOKS: Final = 3
LOOK_S: Final = 0.02  # between two tries: `is_claimed` locks a folder for a moment


class Taken(CannotWrite):
    """A folder that is not empty or in use by another process; the message is for the user."""


@dataclass(slots=True)
class Claim:
    """A claimed folder, until `release` or the end of this process."""

    folder: Path
    created: int  # number of folders created: it and its parents
    _descriptor: int | None

    def unlock(self) -> None:
        """Let another process claim the folder, which stays."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def release(self) -> None:
        """Give up the folder; delete folders that were created for it and are empty."""
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
    """Claim a folder with any content. Raises `Taken` if another process has it, and `CannotWrite`."""
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
        for _ in range(LOOKS):
            if locked := _locked(descriptor):
                break
            sleep(LOOK_S)
        if not locked:
            claim.unlock()
            raise Taken(f"{folder}: another run is being made there now; give another folder (--out)")
        if _is_still(folder, descriptor):
            return claim
        claim.unlock()


def is_claimed(folder: Path) -> bool:
    """Whether a process writes to a folder now."""
    try:
        descriptor = _opened(folder)
    except OSError:
        return False
    try:
        return not _locked(descriptor)
    finally:
        os.close(descriptor)


def claim(folder: Path) -> Claim:
    """Claim an empty folder. Raises `Taken` or `CannotWrite`."""
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


def claim_numbered(first: Path, *, new: bool = False) -> Claim:
    """Claim the first empty folder among `first`, `first-2`, `first-3` ...; a `new` one is created."""
    for number in count(1):
        folder = first if number == 1 else first.with_name(f"{first.name}-{number}")
        created = _make_folders(folder) if new else 0
        if created or not new:
            with suppress(Taken):
                mine = claim(folder)
                mine.created = max(mine.created, created)
                return mine
    raise AssertionError  # numbers do not end


claim_new: Final = partial(claim_numbered, new=True)
"""Create and claim a folder of this name, or of the next free one."""


def _make_folders(folder: Path) -> int:
    """Create a folder and its parents; return their number, 0 if it exists."""
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
            return True  # this file system has no locks
        return True

    def _is_still(folder: Path, descriptor: int) -> bool:
        """Return whether what is open has this name: who had it before may have taken it away."""
        try:
            return os.path.samestat(folder.stat(), os.fstat(descriptor))
        except FileNotFoundError:
            return False
