"""Run directories below a folder: where they are, and how far each has come.

A directory is a run where it holds a manifest or a diagnosis; nothing is looked for below one.
What cannot be read is a problem with its place, and never the end of the search.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from platform import node
from typing import Final, Literal

import psutil

from keyheat.analysis.summarize import read_summary
from keyheat.analysis.summary import RunSummary
from keyheat.inputs import is_text
from keyheat.masking import plain
from keyheat.runfiles import DIAGNOSIS, FILES, REPORT, RUN, SUMMARY, FileProblem, parsed_json
from keyheat.runs.folder import UNDERWAY_NAME, Underway, read_underway
from keyheat.runs.manifest import Manifest, read_manifest

DEPTH: Final = 6  # folders below the one that is searched
MARKS: Final = (FILES[RUN], FILES[DIAGNOSIS])
WATCHED: Final = (
    *MARKS,
    FILES[SUMMARY],
    REPORT,
    UNDERWAY_NAME,
)  # what is read, or linked to, changes with one of these
SILENT_S: Final = 60.0  # after which a process on another machine counts as gone
BORN_WITHIN_S: Final = 2.0  # the system's own clock steps, and its times of birth with it

State = Literal["done", "under way", "not analyzed", "never ended"]
Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadPlace:
    """A place that could not be read, and why."""

    place: Path
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """A run directory. One that is done has a summary, any other one its manifest."""

    folder: Path
    state: State
    summary: RunSummary | None = None
    manifest: Manifest | None = None
    underway: Underway | None = None
    table: str | None = None
    report: bool = False
    made_s: float | None = None  # when its manifest was written, in seconds since 1970


Places = list[tuple[Path, Stamp]]


@dataclass(slots=True)
class RunSearch:
    """Finds and reads runs, again and again: what has not changed since is not read again.

    `tell` gives the places that have to be read one by one, and shows how far that is.
    """

    tell: Callable[[Places], Iterable[tuple[Path, Stamp]]] = iter
    _known: dict[Path, tuple[Stamp, FoundRun]] = field(default_factory=dict)

    def look(self, folders: Sequence[Path], now_s: float) -> tuple[list[FoundRun], list[UnreadPlace]]:
        """Every run below the folders once, and what could not be read; `now_s` judges signs of life."""
        problems: list[UnreadPlace] = []
        places = dict(place for folder in folders for place in _runs_below(folder, DEPTH, problems))
        known = {
            place: (stamp, found)
            for place, (stamp, found) in self._known.items()
            if places.get(place) == stamp and found.underway is None
        }
        for place, stamp in self.tell([one for one in places.items() if one[0] not in known]):
            try:
                found = _found(place, {name for name, *_ in stamp}, now_s)
                known[place] = stamp, replace(found, made_s=_made_s(stamp))
            except (FileProblem, OSError) as problem:
                problems.append(UnreadPlace(place=place, why=str(problem).replace(f"{place}/", "")))
        self._known = known
        return [known[place][1] for place in places if place in known], problems


def _runs_below(folder: Path, depth: int, problems: list[UnreadPlace]) -> Iterator[tuple[Path, Stamp]]:
    if not is_text(str(folder)):
        problems.append(UnreadPlace(place=Path(plain(str(folder))), why="its name is not UTF-8; rename it"))
        return
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
        stamps = (_stamp(entry) for entry in entries if entry.name in WATCHED)
        stamp = tuple(stamp for stamp in stamps if stamp is not None)
        inner = [
            entry
            for entry in entries
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        ]
    except FileNotFoundError:
        return  # no run has been made yet, or somebody has just deleted it
    except OSError as error:
        problems.append(UnreadPlace(place=folder, why=f"cannot be read: {error.strerror or error}"))
        return
    if any(name in MARKS for name, *_ in stamp):
        yield folder, stamp
        return
    if inner and not depth:
        problems.append(UnreadPlace(place=folder, why=f"is not searched: it is {DEPTH} folders down"))
        return
    for entry in inner:
        yield from _runs_below(Path(entry.path), depth - 1, problems)


def _stamp(entry: "os.DirEntry[str]") -> tuple[str, int, int] | None:
    """What tells that a file is another one than before; None: it has just gone, or is a link to nowhere."""
    try:
        there = entry.stat()
    except FileNotFoundError:
        return None
    return entry.name, there.st_mtime_ns, there.st_size


def _made_s(stamp: Stamp) -> float:
    """When the run's first file was written."""
    times = {name: time_ns / 1e9 for name, time_ns, _size in stamp}
    return times.get(MARKS[0]) or times[MARKS[1]]


def _found(folder: Path, names: set[str], now_s: float) -> FoundRun:
    """Read what there is. Raises `FileProblem`."""
    signs = read_underway(folder) if UNDERWAY_NAME in names else None
    alive = signs if signs is not None and is_alive(signs, now_s) else None
    report = REPORT in names
    if FILES[DIAGNOSIS] in names:
        summary = read_summary(folder)
        return FoundRun(
            folder=folder, state="done", summary=summary, table=_table(folder, names), report=report
        )
    manifest = read_manifest(folder)
    state: State = "never ended" if manifest.status == "running" else "not analyzed"
    return FoundRun(
        folder=folder,
        state=state if alive is None else "under way",
        manifest=manifest,
        underway=alive,
        table=manifest.table.name,
    )


def _table(folder: Path, names: set[str]) -> str | None:
    """The name of the run's table, which a summary does not have."""
    if FILES[RUN] not in names:
        return None
    content = parsed_json(folder / FILES[RUN])
    table = content.get("table") if isinstance(content, dict) else None
    name = table.get("name") if isinstance(table, dict) else None
    return name if isinstance(name, str) else None


def is_alive(signs: Underway, now_s: float) -> bool:
    """Whether the process that gave the signs is there; one of another machine has to have said so lately."""
    if signs.host != node():
        return now_s - signs.at_s < SILENT_S
    try:
        process = psutil.Process(signs.pid)
        apart_s = abs(float(process.create_time()) - signs.born_s)
        return apart_s < BORN_WITHIN_S and bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
