"""A run directory is archived and fetched whole or not at all, wherever fsspec can go."""

import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from keyheat.regression.history.archive import NAME, archive, fetch, remove
from keyheat.regression.history.problem import HistoryProblem
from keyheat.runfiles import RUN, write_json


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "made" / "a run"
    write_json(folder / "run.json", RUN, {"run_id": "hotkey-1", "status": "finished"})
    (folder / "seconds.parquet").write_bytes(bytes(range(256)) * 9_000)
    (folder / "latency.hdr").write_bytes(b"")
    (folder / ".report.html.x.tmp").write_text("half a file")
    return folder


@pytest.fixture(params=["memory", "file", "path"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    there = tmp_path / "kept in a box" / "nightly" / "3"
    yield {"memory": "memory://box/nightly/3", "file": there.as_uri(), "path": str(there)}[request.param]
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def names_at(url: str) -> list[str]:
    """Every file below the folder that holds the place, with the place's own name before it."""
    place = fsspec.filesystem("memory") if url.startswith("memory") else None
    if place is not None:
        return sorted(path.removeprefix("/box/nightly/") for path in place.find("/box/nightly"))
    folder = Path(url.removeprefix("file://").replace("%20", " ")).parent
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_run_is_there_as_it_was_and_nothing_else(run: Path, url: str, tmp_path: Path) -> None:
    address = archive(run, url)
    wanted = [f"3/{name}" for name in (NAME, "latency.hdr", "run.json", "seconds.parquet")]
    assert names_at(url) == wanted
    back = fetch(address, tmp_path / "back" / "again")
    assert contents(back) == contents(run)
    assert [path.name for path in back.parent.iterdir()] == ["again"]
    assert fetch(address, back) == back
    assert address == (Path(url).as_uri() if url.startswith("/") else url)


class Counting:
    """How often files were opened for writing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.written: list[str] = []
        for system in (MemoryFileSystem, LocalFileSystem):
            monkeypatch.setattr(system, "_open", self._counted(system._open))

    def _counted(self, opens: Callable[..., Any]) -> Callable[..., Any]:
        def counted(system: Any, path: str, mode: str = "rb", *more: Any, **options: Any) -> Any:
            if "w" in mode:
                self.written.append(path)
            return opens(system, path, mode, *more, **options)

        return counted


def test_what_is_there_is_not_sent_again(run: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(run, url)
    counting = Counting(monkeypatch)
    archive(run, url)
    assert counting.written == []
    (run / "diagnosis.json").write_text("{}")
    (run / "latency.hdr").unlink()
    archive(run, url)
    assert counting.written
    assert names_at(url) == [f"3/{name}" for name in (NAME, "diagnosis.json", "run.json", "seconds.parquet")]


@pytest.mark.parametrize("fails_at", range(6))
def test_what_breaks_off_leaves_no_archive_and_is_mended_by_the_next(
    run: Path, url: str, fails_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter(range(fails_at, -1, -1))

    def failing(does: Callable[..., Any]) -> Callable[..., Any]:
        def fails(*arguments: Any, **options: Any) -> Any:
            if not next(left, 1):
                raise OSError("the line was cut")
            return does(*arguments, **options)

        return fails

    with monkeypatch.context() as broken:
        for system in (MemoryFileSystem, LocalFileSystem):
            broken.setattr(system, "makedirs", failing(system.makedirs))
        with pytest.raises(HistoryProblem, match=r"cannot archive .*the line was cut"):
            archive(run, url)
    assert f"3/{NAME}" not in names_at(url)
    with pytest.raises(HistoryProblem, match="is no archive of a run, or not a whole one"):
        fetch(url, tmp_path / "back")
    assert not (tmp_path / "back").exists()
    archive(run, url)
    assert contents(fetch(url, tmp_path / "back")) == contents(run)
    assert all(name.startswith("3/") for name in names_at(url))


def test_nothing_is_written_over_another_run(run: Path, url: str) -> None:
    archive(run, url)
    write_json(run / "run.json", RUN, {"run_id": "hotkey-2"})
    with pytest.raises(HistoryProblem, match="holds another run, hotkey-1"):
        archive(run, url)
    with pytest.raises(HistoryProblem, match="to where it is"):
        archive(run, str(run))


def test_a_file_that_was_changed_is_not_fetched(run: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    archive(run, str(there))
    body = (there / "seconds.parquet").read_bytes()
    (there / "seconds.parquet").write_bytes(b"\0" + body[1:-1] + b"\0")
    with pytest.raises(HistoryProblem, match=r"seconds.parquet is not the file that was archived"):
        fetch(str(there), tmp_path / "back")
    assert not (tmp_path / "back").exists()
    listing = json.loads((there / NAME).read_text())
    listing["files"][0]["name"] = "../../elsewhere"
    (there / NAME).write_text(json.dumps(listing))
    with pytest.raises(HistoryProblem, match="names files outside of the run"):
        fetch(str(there), tmp_path / "back")
    (there / NAME).write_text("{")
    with pytest.raises(HistoryProblem, match="not whole JSON"):
        fetch(str(there), tmp_path / "back")


def test_a_folder_that_holds_something_else_is_left_alone(run: Path, tmp_path: Path) -> None:
    address = archive(run, str(tmp_path / "there"))
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    with pytest.raises(HistoryProblem, match="holds something else"):
        fetch(address, mine)
    assert contents(mine) == {"notes.txt": b"mine"}


@pytest.mark.skipif(find_spec("adlfs") is not None, reason="the package is there")
def test_a_file_system_whose_package_is_missing_is_named(run: Path) -> None:
    with pytest.raises(HistoryProblem, match=r"abfs:// needs a package that is not installed.*adlfs"):
        archive(run, "abfs://container/run")
    with pytest.raises(HistoryProblem, match="Protocol not known: nowhere"):
        archive(run, "nowhere://bucket/run")
    with pytest.raises(HistoryProblem, match=r"Protocol not known") as raised:
        fetch("nowhere://me:secret@host/run", Path("back"))
    assert "secret" not in str(raised.value)


def test_the_address_that_is_kept_has_no_password(run: Path) -> None:
    assert archive(run, "memory://me:s3cr3t@box/run") == "memory://me@box/run"


def test_only_that_run_is_deleted(run: Path, url: str) -> None:
    archive(run, url)
    with pytest.raises(HistoryProblem, match="holds run hotkey-1 and not run hotkey-2: it is left"):
        remove(url, "hotkey-2")
    assert f"3/{NAME}" in names_at(url)
    remove(url, "hotkey-1")
    assert names_at(url) == []
    with pytest.raises(HistoryProblem, match="holds no run"):
        remove(url, "hotkey-1")


def test_a_folder_with_more_than_a_run_is_not_deleted(run: Path) -> None:
    (run / "thesis").mkdir()
    with pytest.raises(HistoryProblem, match="holds more than a run"):
        remove(run.as_uri(), "hotkey-1")
    (run / "thesis").rmdir()
    link = run.parent / "link"
    link.symlink_to(run)
    with pytest.raises(HistoryProblem, match="holds more than a run"):
        remove(link.as_uri(), "hotkey-1")
    remove(run.as_uri(), "hotkey-1")
    assert not run.exists()
