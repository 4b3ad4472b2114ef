"""Run files are whole or absent, and a reader says what is wrong with one: of many mistakes, a screenful."""

import os
from pathlib import Path
from typing import IO

import pytest
from pydantic import BaseModel

from keyheat import runfiles
from keyheat.runfiles import FileProblem, read_json, write_atomically, write_json
from keyheat.validation import checked


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not whole JSON"),
        (b'{"format": "keyheat.run/1", "a": ', "not whole JSON"),
        (b'{"format": "keyheat.run/2"}', "states format 'keyheat.run/2'; this version reads 'keyheat.run/1'"),
        (b'{"a": 1}', "states no format"),
        (b"[1, 2]", "states no format"),
        (b"\xff\xfe", "not whole JSON"),
    ],
)
def test_a_damaged_json_file_is_explained(tmp_path: Path, body: bytes, message: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(body)
    with pytest.raises(FileProblem, match=message):
        read_json(path, runfiles.RUN)


def test_a_folder_of_runs_is_not_a_run(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    with pytest.raises(FileProblem) as said:
        read_json(tmp_path / "run.json", runfiles.RUN)
    assert str(said.value).endswith(f"run.json is missing; there are runs below it, such as {tmp_path / 'a'}")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_json(path, runfiles.RUN, {"run_id": "old"})

    def half(file: IO[bytes]) -> None:
        file.write(b"half a fi")
        raise OSError(28, "No space left on device")

    with pytest.raises(FileProblem, match=r"cannot write .*No space left on device"):
        write_atomically(path, half)
    assert read_json(path, runfiles.RUN)["run_id"] == "old"
    assert os.listdir(tmp_path) == ["run.json"]


def test_a_writer_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(file: IO[bytes]) -> None:
        file.write(b"half a fi")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "run.json", interrupted)
    assert os.listdir(tmp_path) == []


class Row(BaseModel):
    count: int


class Content(BaseModel):
    rows: tuple[Row, ...]


def test_of_many_mistakes_twenty_are_shown() -> None:
    with pytest.raises(FileProblem, match="100 errors") as problem:
        checked(Path("f.json"), Content, {"rows": [{}] * 100})
    assert len(str(problem.value).splitlines()) == 22
    assert str(problem.value).endswith("and 80 more")
