"""Directories on any file system that fsspec knows."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from keyheat.masking import masked
from keyheat.regression.history.problem import HistoryProblem


@dataclass(frozen=True, slots=True)
class Place:
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


def place_of(url: str) -> Place:
    """The place that a URL, or a path of this machine, names. Raises `HistoryProblem`."""
    import fsspec

    parts = urlsplit(url)
    if parts.scheme in ("", "file"):  # fsspec leaves %20 in a file's URL as it is
        path = Path(unquote(parts.path) if parts.scheme else url).absolute()
        return Place(fsspec.filesystem("file"), path.as_posix())
    try:
        fs, path_there = fsspec.url_to_fs(url)
    except ImportError as error:
        raise HistoryProblem(f"{parts.scheme}:// needs a package that is not installed: {error}") from error
    return Place(fs, path_there)


@contextmanager
def beside(place: Place) -> Iterator[Place]:
    """A new place in the same folder, which is gone afterwards."""
    parent, _slash, name = place.path.rstrip("/").rpartition("/")
    part = Place(place.fs, f"{parent}/.{name}.{uuid4().hex[:8]}.part")
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
