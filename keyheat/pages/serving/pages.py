"""What a server gives of one run: its page, made when there is none, and its files."""

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

from keyheat.pages.run.exports import Kind, write_exports
from keyheat.pages.run.load import load_run
from keyheat.pages.run.page import REPORT, render
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, KEYS, FileProblem

KEPT: Final = 8  # pages that were made, some 5 MB each
SHOWN: Final = re.compile(rb'"shown"\s*:\s*"')
WITH_KEYS: Final = tuple(FILES[name] for name in (KEYS, EVIDENCE, DIAGNOSIS))

Stamp = tuple[int, ...]


@dataclass(slots=True)
class Pages:
    """Pages of runs. One is made at a time: it takes a core for a second or two."""

    clock: Callable[[], float]
    _made: OrderedDict[Path, tuple[Stamp, bytes]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def report(self, folder: Path) -> bytes:
        """The run's report.html, or one that is made now, which is kept in memory alone.

        A report that is older than the diagnosis is not shown. Raises `FileProblem`.
        """
        path, diagnosis = folder / REPORT, folder / FILES[DIAGNOSIS]
        try:
            if not path.is_symlink() and path.stat().st_mtime_ns >= diagnosis.stat().st_mtime_ns:
                return path.read_bytes()
        except FileNotFoundError:
            pass  # then it is made
        except OSError as error:
            raise FileProblem(f"cannot read {path}: {error.strerror or error}") from error
        with self._lock:
            return self._rendered(folder)

    def exported(self, folder: Path, kind: Kind) -> bytes:
        """What every chart shows, as a ZIP of files, keys as digests. Raises `FileProblem`."""
        with self._lock, TemporaryDirectory() as place:
            archive = BytesIO()
            with ZipFile(archive, "w", ZIP_DEFLATED) as zipped:
                for path, _rows in write_exports(folder, Path(place), kind):
                    zipped.write(path, path.name)
            return archive.getvalue()

    def _rendered(self, folder: Path) -> bytes:
        stamp = tuple(
            (folder / name).stat().st_mtime_ns for name in FILES.values() if (folder / name).exists()
        )
        known = self._made.pop(folder, None)
        if known is None or known[0] != stamp:
            now = datetime.fromtimestamp(self.clock(), UTC)
            known = stamp, render(load_run(folder), now).encode("utf-8")
        self._made[folder] = known
        while len(self._made) > KEPT:
            self._made.popitem(last=False)
        return known[1]


def files_of(folder: Path) -> dict[str, int]:
    """The run's own files that may be had, with their sizes in bytes; a link leads elsewhere, and is none."""
    paths = [folder / name for name in sorted(FILES.values())]
    return {path.name: path.stat().st_size for path in paths if path.is_file() and not path.is_symlink()}


def has_key_values(folder: Path) -> bool:
    """Whether key values are in the run's files, because it was told to show them. Raises `OSError`."""
    return any(SHOWN.search((folder / name).read_bytes()) for name in WITH_KEYS if (folder / name).is_file())
