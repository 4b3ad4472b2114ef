"""Run directories below a folder: where they are, and how far each has come.

A directory is a run where it holds a manifest or a diagnosis; nothing is looked for below one.
What cannot be read is a problem with its place, and never the end of the search.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from keyheat.analysis.summarize import read_summary
from keyheat.analysis.summary import RunSummary
from keyheat.inputs import is_text
from keyheat.masking import plain
from keyheat.runfiles import DIAGNOSIS, FILES, REPORT, RUN, FileProblem, parsed_json
from keyheat.runs.folder import is_underway
from keyheat.runs.manifest import Manifest, read_manifest

DEPTH: Final = 6  # folders below the one that is searched
MARKS: Final = (FILES[RUN], FILES[DIAGNOSIS])

State = Literal["done", "under way", "not analyzed", "never ended"]


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
    table: str | None = None
    report: bool = False
    made_s: float | None = None  # when its manifest was written, in seconds since 1970


def find_runs(
    folders: Sequence[Path], now_s: float, tell: Callable[[Sequence[Path]], Iterable[Path]] = iter
) -> tuple[list[FoundRun], list[UnreadPlace]]:
    """Every run below the folders once, and what could not be read; `now_s` judges signs of life.

    `tell` gives the places one by one, and shows how far that is.
    """
    problems: list[UnreadPlace] = []
    runs: list[FoundRun] = []
    places = dict.fromkeys(place for folder in folders for place in _runs_below(folder, DEPTH, problems))
    for place in tell([*places]):
        try:
            runs.append(_read(place, now_s))
        except (FileProblem, OSError) as problem:
            problems.append(UnreadPlace(place=place, why=str(problem).replace(f"{place}/", "")))
    return runs, problems


def _runs_below(folder: Path, depth: int, problems: list[UnreadPlace]) -> Iterator[Path]:
    if not is_text(str(folder)):
        problems.append(UnreadPlace(place=Path(plain(str(folder))), why="its name is not UTF-8; rename it"))
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
        return  # no run has been made yet, or somebody has just deleted it
    except OSError as error:
        problems.append(UnreadPlace(place=folder, why=f"cannot be read: {error.strerror or error}"))
        return
    if any(entry.name in MARKS for entry in entries):
        yield folder
    elif inner and not depth:
        problems.append(UnreadPlace(place=folder, why=f"is not searched: it is {DEPTH} folders down"))
    else:
        for entry in inner:
            yield from _runs_below(Path(entry.path), depth - 1, problems)


def _read(folder: Path, now_s: float) -> FoundRun:
    """Read what there is. Raises `FileProblem`."""
    made_s = next(path.stat().st_mtime for name in MARKS if (path := folder / name).exists())
    if (folder / FILES[DIAGNOSIS]).exists():
        return FoundRun(
            folder=folder,
            state="done",
            summary=read_summary(folder),
            table=_table(folder),
            report=(folder / REPORT).exists(),
            made_s=made_s,
        )
    manifest = read_manifest(folder)
    state: State = "never ended" if manifest.status == "running" else "not analyzed"
    under_way = is_underway(folder, now_s)
    return FoundRun(
        folder=folder,
        state="under way" if under_way else state,
        manifest=manifest,
        table=manifest.table.name,
        made_s=made_s,
    )


def _table(folder: Path) -> str | None:
    """The name of the run's table, which a summary does not have."""
    if not (folder / FILES[RUN]).exists():
        return None
    content = parsed_json(folder / FILES[RUN])
    table = content.get("table") if isinstance(content, dict) else None
    name = table.get("name") if isinstance(table, dict) else None
    return name if isinstance(name, str) else None
