"""Find run directories below a folder, with the state of each.

A directory is a run if it holds a manifest or a diagnosis; the search does not descend into runs. A directory
that cannot be read is reported, and the search goes on.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from keyheat.analysis.summary import RunSummary, read_summary, target_of
from keyheat.inputs import is_text
from keyheat.masking import masked, plain
from keyheat.runfiles import DIAGNOSIS, FILES, REPORT, RUN, FileProblem
from keyheat.runs.claims import is_claimed
from keyheat.runs.manifest import read_manifest

DEPTH: Final = 6  # folders below the one that is searched
MARKS: Final = (FILES[RUN], FILES[DIAGNOSIS])

State = Literal["done", "under way", "not analyzed", "never ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadPlace:
    """A place that could not be read, and why."""

    folder: Path
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """A run in its directory; it has a summary once it is done.

    `started_s` is when it was made, in seconds since 1970: the clock of a simulated run is a virtual one.
    """

    folder: Path
    scenario: str
    question: str
    target: str
    started_s: float
    duration_s: float | None
    state: State = "done"
    table: str | None = None
    summary: RunSummary | None = None
    report: bool = False


def find_runs(folders: Sequence[Path]) -> tuple[list[FoundRun], list[UnreadPlace]]:
    """Return every run below the folders once, and what could not be read."""
    problems: list[UnreadPlace] = []
    runs: list[FoundRun] = []
    run_folders = dict.fromkeys(run for folder in folders for run in _runs_below(folder, DEPTH, problems))
    for folder in run_folders:
        try:
            runs.append(_read(folder))
        except (FileProblem, OSError) as problem:
            problems.append(UnreadPlace(folder=folder, why=str(problem).replace(f"{folder}/", "")))
    return runs, problems


def _runs_below(folder: Path, depth: int, problems: list[UnreadPlace]) -> Iterator[Path]:
    if not is_text(str(folder)):
        problems.append(UnreadPlace(folder=Path(plain(str(folder))), why="its name is not UTF-8; rename it"))
        return
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
        inner = [
            entry
            for entry in entries
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        ]
    except FileNotFoundError:
        return  # no run has been made yet, or it was just deleted
    except OSError as error:
        problems.append(UnreadPlace(folder=folder, why=f"cannot be read: {error.strerror or error}"))
        return
    if any(entry.name in MARKS for entry in entries):
        yield folder
    elif inner and not depth:
        problems.append(UnreadPlace(folder=folder, why=f"is not searched: it is {DEPTH} folders down"))
    else:
        for entry in inner:
            yield from _runs_below(Path(entry.path), depth - 1, problems)


def _read(folder: Path) -> FoundRun:
    """Read a run directory. Raises `FileProblem`."""
    manifest = read_manifest(folder)
    summary = read_summary(folder) if (folder / FILES[DIAGNOSIS]).exists() else None
    state: State = "done" if summary else "never ended" if manifest.status == "running" else "not analyzed"
    at_s = (folder / FILES[RUN]).stat().st_mtime if manifest.simulated else manifest.started_at.timestamp()
    return FoundRun(
        folder=folder, scenario=manifest.name or folder.name, question=masked(manifest.question or ""),
        target=masked(target_of(manifest)), started_s=at_s, table=manifest.table.name,
        duration_s=summary.duration_s if summary else manifest.duration_s, summary=summary,
        state="under way" if not summary and is_claimed(folder) else state,
        report=summary is not None and (folder / REPORT).exists(),
    )  # fmt: skip
