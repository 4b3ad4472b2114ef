"""Run directories on any file system that fsspec knows, there whole or not at all.

An archive is the files of the run and, written last, `archive.json` with the size and digest of each. A place
without it is none. Files are sent to a place beside it first (`.NAME.XXXX.part`), where what a killed process
leaves may be deleted.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import orjson
from pydantic import ValidationError

from keyheat import runfiles
from keyheat.bounds import NotAccepted, parsed_json
from keyheat.masking import masked
from keyheat.regression.history.problem import HistoryProblem
from keyheat.runfiles import read_json
from keyheat.validation import Part


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """A directory of a file system."""

    fs: Any
    path: str

    def of(self, name: str) -> str:
        """The path of a file in it."""
        return f"{self.path.rstrip('/')}/{name}"

    def make_room(self, name: str) -> str:
        """The path of a file in it, whose folder is made."""
        path = self.of(name)
        self.fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        return path

    @property
    def local(self) -> Path | None:
        """The directory on this machine; None where it is another file system."""
        return Path(self.path) if "file" in self.fs.protocol else None


def place_of(url: str) -> ArchivePlace:
    """The place that a URL, or a path of this machine, names. Raises `HistoryProblem`."""
    import fsspec

    parts = urlsplit(url)
    if parts.scheme in ("", "file"):  # fsspec leaves %20 in a file's URL as it is
        path = Path(unquote(parts.path) if parts.scheme else url).absolute()
        return ArchivePlace(fsspec.filesystem("file"), path.as_posix())
    try:
        fs, path_there = fsspec.url_to_fs(url)
    except ImportError as error:
        raise HistoryProblem(f"{parts.scheme}:// needs a package that is not installed: {error}") from error
    return ArchivePlace(fs, path_there)


@contextmanager
def beside(place: ArchivePlace) -> Iterator[ArchivePlace]:
    """A new place in the same folder, which is gone afterwards."""
    parent, _slash, name = place.path.rstrip("/").rpartition("/")
    part = ArchivePlace(place.fs, f"{parent}/.{name}.{uuid4().hex[:8]}.part")
    try:
        yield part
    finally:
        if place.fs.exists(part.path):
            place.fs.rm(part.path, recursive=True)


@contextmanager
def said(doing: str, url: str) -> Iterator[None]:
    """Whatever a file system raises, and each raises its own, as one `HistoryProblem` with the address."""
    try:
        yield
    except Exception as error:
        raise HistoryProblem(f"{doing} {masked(url)}: {masked(str(error))}") from error


FORMAT: Final = "keyheat.archive/1"
NAME: Final = "archive.json"
RUN: Final = runfiles.FILES[runfiles.RUN]
CHUNK_BYTES: Final = 1 << 20


class ArchiveEntry(Part):
    """One file of an archive; `name` is its path in the run directory."""

    name: str
    bytes: int
    sha256: str


class Listing(Part):
    """All that an archive holds."""

    run_id: str
    files: tuple[ArchiveEntry, ...]


def archive(folder: Path, url: str) -> str:
    """Copy a run directory to `url`, whole or not at all; gives the address as it may be kept.

    That is without a password: fsspec's configuration has it for whoever fetches the run. What is there
    already is not sent again. Raises `HistoryProblem`, also where another run is there.
    """
    with said(f"cannot archive {folder} to", url):
        place, listing = place_of(url), _listing(folder)
        if place.local is not None and place.local.resolve() == folder.resolve():
            raise HistoryProblem(f"{folder} cannot be archived to where it is")
        there = listing_at(place)
        found = there.run_id if there else _run_id_at(place)
        if found not in (None, listing.run_id):
            raise HistoryProblem(f"{masked(url)} holds another run, {found}; nothing is written over it")
        if there != listing or not _is_whole(place, listing):
            _send(folder, listing, place, there)
    return place.local.as_uri() if place.local is not None else masked(url)


def fetch(url: str, folder: Path) -> Path:
    """Copy an archived run to `folder`, which is new or has it already. Raises `HistoryProblem`."""
    with said("cannot fetch", url):
        place = place_of(url)
        listing = listing_at(place)
        if listing is None:
            raise HistoryProblem(
                f"{masked(url)} is no archive of a run, or not a whole one: {NAME} is not there"
            )
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            if _has(folder, listing):
                return folder
            raise HistoryProblem(f"{folder} holds something else; name a folder that is new")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=folder.parent, prefix=f".{folder.name}.", suffix=".part"
        ) as part:
            for entry in listing.files:
                _receive(place, entry, Path(part, "run", entry.name))
            os.replace(Path(part, "run"), folder)
    return folder


def remove(url: str, run_id: str) -> None:
    """Delete a run directory, archived or not. Raises `HistoryProblem` where `url` is not that run's.

    One that holds folders is left: a run has none, so they are somebody's.
    """
    with said("cannot delete", url):
        place = place_of(url)
        if (found := _run_id_at(place)) != run_id:
            held = "no run" if found is None else f"run {found}"
            raise HistoryProblem(f"{masked(url)} holds {held} and not run {run_id}: it is left as it is")
        entries = place.fs.ls(place.path, detail=True)
        linked = place.local is not None and place.local.is_symlink()
        if linked or any(entry["type"] != "file" for entry in entries):
            raise HistoryProblem(f"{masked(url)} holds more than a run: it is left as it is")
        place.fs.rm(place.path, recursive=True)


def listing_at(place: ArchivePlace) -> Listing | None:
    """What an archive says that it holds; None where there is no whole one. Raises `HistoryProblem`."""
    try:
        raw = parsed_json(place.fs.cat_file(place.of(NAME)))
    except FileNotFoundError:
        return None
    except NotAccepted as error:
        raise HistoryProblem(f"its {NAME} is {error}") from error
    if not isinstance(raw, dict) or raw.pop("format", None) != FORMAT:
        raise HistoryProblem(f"its {NAME} is not of the format {FORMAT}")
    try:
        listing = Listing.model_validate(raw)
    except ValidationError as error:
        raise HistoryProblem(f"its {NAME} is damaged: {error.error_count()} fields are wrong") from error
    if strays := [one.name for one in listing.files if not _is_inside(one.name)]:
        raise HistoryProblem(f"its {NAME} names files outside of the run: {', '.join(strays)}")
    return listing


def _listing(folder: Path) -> Listing:
    """All files of a run directory but hidden and unfinished ones."""
    run_id = read_json(folder / RUN, runfiles.RUN).get("run_id")
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name != NAME and not _is_unfinished(path.relative_to(folder))
    )
    entries = (_entry(path, path.relative_to(folder).as_posix()) for path in paths)
    return Listing(run_id=run_id or folder.name, files=tuple(entries))


def _is_unfinished(path: Path) -> bool:
    return path.suffix == ".tmp" or any(part.startswith(".") for part in path.parts)


def _entry(path: Path, name: str) -> ArchiveEntry:
    with path.open("rb") as file:
        return _copied(file, None, name)


def _copied(source: IO[bytes], target: IO[bytes] | None, name: str) -> ArchiveEntry:
    """What was read, after it went to `target`."""
    digest, size = sha256(), 0
    while chunk := source.read(CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
        if target is not None:
            target.write(chunk)
    return ArchiveEntry(name=name, bytes=size, sha256=digest.hexdigest())


def _send(folder: Path, listing: Listing, place: ArchivePlace, there: Listing | None) -> None:
    """Send all files beside the place, then move them there, and the listing last."""
    with beside(place) as part:
        sent = tuple(_sent(folder, one.name, part) for one in listing.files)
        content = {"format": FORMAT, "run_id": listing.run_id, "files": [one.model_dump() for one in sent]}
        part.fs.pipe_file(part.make_room(NAME), orjson.dumps(content, option=orjson.OPT_INDENT_2))
        if there is not None:
            place.fs.rm_file(place.of(NAME))
        for name in (*_names(sent), NAME):
            part.fs.mv(part.of(name), place.make_room(name))
        for name in set(_names(there.files if there else ())) - set(_names(sent)):
            with suppress(FileNotFoundError):
                place.fs.rm_file(place.of(name))


def _sent(folder: Path, name: str, part: ArchivePlace) -> ArchiveEntry:
    with (folder / name).open("rb") as source, part.fs.open(part.make_room(name), "wb") as target:
        entry = _copied(source, target, name)
    if (size := part.fs.info(part.of(name))["size"]) != entry.bytes:
        raise HistoryProblem(f"{name} arrived with {size:,} of {entry.bytes:,} bytes")
    return entry


def _receive(place: ArchivePlace, entry: ArchiveEntry, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with place.fs.open(place.of(entry.name), "rb") as source, path.open("wb") as target:
        received = _copied(source, target, entry.name)
        target.flush()
        os.fsync(target.fileno())
    if received != entry:
        raise HistoryProblem(f"{entry.name} is not the file that was archived: its digest is another")


def _is_whole(place: ArchivePlace, listing: Listing) -> bool:
    """Whether every file is there in its full size; its digest would cost as much as sending it again."""
    with suppress(FileNotFoundError):
        return all(place.fs.info(place.of(one.name))["size"] == one.bytes for one in listing.files)
    return False


def _has(folder: Path, listing: Listing) -> bool:
    """Whether a folder has every file of an archive, each as it was archived."""
    with suppress(FileNotFoundError, IsADirectoryError):
        return all(_entry(folder / one.name, one.name) == one for one in listing.files)
    return False


def _run_id_at(place: ArchivePlace) -> str | None:
    """The run that is at a place, whole or not; None where there is none."""
    try:
        raw = parsed_json(place.fs.cat_file(place.of(RUN)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    run_id = raw.get("run_id") if isinstance(raw, dict) else None
    return run_id if isinstance(run_id, str) else None


def _names(entries: Sequence[ArchiveEntry]) -> list[str]:
    return [one.name for one in entries]


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts
