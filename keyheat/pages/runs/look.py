"""What a server shows of its runs: looked at again when somebody asks, and never more often than it pays.

A look at thousands of directories takes a tenth of a second, beside a load that is being measured on the same
machine: so it is at most a twentieth of the time, however many ask. Runs under way are a file each, and are
read every second. The page of a run is made when there is none.
"""

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from time import perf_counter
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

import orjson

from keyheat.analysis.report.run import load_run
from keyheat.inputs import read_file
from keyheat.pages.run.report import FileKind, render, write_exports
from keyheat.pages.runs.found import FoundRun, RunSearch, UnreadPlace
from keyheat.pages.runs.index import NOTHING, Memory, Recall, Runs, content_of, place_of
from keyheat.pages.runs.rows import RunRow, rows_of
from keyheat.pages.runs.trends import trends_of
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, KEYS, REPORT, FileProblem, bytes_of
from keyheat.runs.folder import Underway, read_underway
from keyheat.runs.signs import PHASES
from keyheat.wording.constraints import target_words

LEAST_S: Final = 1.0
SHARE: Final = 0.05
DIGITS: Final = 16
LOADING: Final = "loading"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsSnapshot:
    """All runs at one moment. `version` names what is in `content`, which runs under way are not."""

    runs: Runs
    content: dict[str, Any]
    version: str
    by_key: dict[str, RunRow]


@dataclass(slots=True)
class Look:
    """The runs below some folders, and in the history, for many who ask at once."""

    folders: tuple[Path, ...]
    search: RunSearch
    recall: Recall
    clock: Callable[[], float]  # seconds since 1970
    _lock: Lock = field(default_factory=Lock)
    _again_s: float = 0.0
    _found: list[FoundRun] = field(default_factory=list)
    _problems: list[UnreadPlace] = field(default_factory=list)
    _memory: Memory = NOTHING
    _seen: RunsSnapshot | None = None

    def seen(self) -> RunsSnapshot:
        """All runs as they are now, or were a moment ago."""
        with self._lock:
            if self._seen is None or self.clock() >= self._again_s:
                self._look()
            assert self._seen is not None, "there has been a look"
            return self._seen

    def under_way(self) -> list[dict[str, Any]]:
        """Every run that is going on, as the page shows it."""
        seen, now_s = self.seen(), self.clock()
        moving = [row for row in seen.runs.rows if row.state == "under way"]
        return [_moving(row, signs, now_s) for row in moving if (signs := _signs(row)) is not None]

    def _look(self) -> None:
        begun = perf_counter()
        found, problems = self.search.look(self.folders, self.clock())
        memory = self.recall.look()
        if self._seen is None or memory is not self._memory or not self._same(found, problems):
            self._found, self._problems, self._memory = found, problems, memory
            remembered, forgotten = memory
            self._seen = self._made(rows_of(found, remembered), (*problems, *forgotten))
        self._again_s = self.clock() + max(LEAST_S, (perf_counter() - begun) / SHARE)

    def _same(self, found: list[FoundRun], problems: list[UnreadPlace]) -> bool:
        """Whether nothing has changed but how far the runs under way are."""
        return (
            problems == self._problems
            and len(found) == len(self._found)
            and all(map(_alike, found, self._found))
        )

    def _made(self, rows: tuple[RunRow, ...], problems: tuple[UnreadPlace, ...]) -> RunsSnapshot:
        runs = Runs(rows=rows, problems=problems, folders=self.folders, history=self.recall.path)
        ended = tuple(row for row in rows if row.state != "under way")
        trends = trends_of(ended)
        content = content_of(ended, trends, problems, place=place_of, link=_link)
        version = sha256(orjson.dumps(content)).hexdigest()[:DIGITS]
        return RunsSnapshot(
            runs=runs,
            content=content | {"version": version},
            version=version,
            by_key={row.key: row for row in rows},
        )


def _alike(one: FoundRun, other: FoundRun) -> bool:
    if one.underway is None or other.underway is None:
        return one is other
    return replace(one, underway=None) == replace(other, underway=None)


def _link(row: RunRow) -> str | None:
    """A run that was analyzed has a page, or gets one when it is asked for."""
    return f"run/{row.key}/report" if row.folder is not None and row.state == "done" else None


def _signs(row: RunRow) -> Underway | None:
    """How far a run is; None: it has just ended, or was killed, which the next look finds out."""
    if row.folder is None:
        return None
    try:
        return read_underway(row.folder)
    except FileProblem:
        return None


def _moving(row: RunRow, signs: Underway, now_s: float) -> dict[str, Any]:
    since_s = max(0.0, now_s - signs.at_s) if signs.phase == LOADING else 0.0
    return {
        "key": row.key,
        "scenario": row.scenario,
        "question": row.question,
        "target": target_words(row.target),
        "folder": place_of(row),
        "doing": PHASES.get(signs.phase, signs.phase),
        "elapsed_s": signs.elapsed_s + since_s,
        "duration_s": signs.duration_s,
        "accepted": signs.accepted,
        "throttled": signs.throttled,
        "errors": signs.errors,
        "seconds": signs.seconds,
    }


KEPT: Final = 8  # pages that were made, some 5 MB each
MOST_PAGE_BYTES: Final = 64 << 20
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
                return read_file(path, MOST_PAGE_BYTES)
        except FileNotFoundError:
            pass  # then it is made
        except OSError as error:
            raise FileProblem(f"cannot read {path}: {error.strerror or error}") from error
        with self._lock:
            return self._rendered(folder)

    def exported(self, folder: Path, kind: FileKind) -> bytes:
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
    """Whether key values are in the run's files, because it was told to show them. Raises `FileProblem`."""
    return any(SHOWN.search(bytes_of(folder / name)) for name in WITH_KEYS if (folder / name).is_file())
