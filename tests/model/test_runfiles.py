"""Run files are whole or absent, and a reader says what is wrong with one."""

import os
from pathlib import Path
from typing import IO, Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat import runfiles
from keyheat.runfiles import FileProblem, read_json, write_atomically, write_json
from keyheat.runs import parquet
from keyheat.runs.parquet import read_table, write_table

ROW = {
    "second": [1_800_000_000], "index": [None], "direction": ["write"], "operation": ["PutItem"],
    "attempts": [3], "accepted": [1], "throttled": [1], "errors": [1], "consumed_units": [1.0], "unmet": [1],
}  # fmt: skip


def seconds() -> pa.Table:
    return pa.table(ROW).cast(parquet.SECONDS_SCHEMA)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=20)
@given(content=st.dictionaries(st.text(max_size=5).filter(lambda k: k != "format"), json_values, max_size=4))
def test_json_comes_back_as_it_was(tmp_path_factory: Any, content: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("run") / "run.json"
    write_json(path, runfiles.RUN, content)
    assert read_json(path, runfiles.RUN) == {"format": runfiles.RUN, **content}
    assert next(iter(orjson.loads(path.read_bytes()))) == "format"


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


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    for read, name in ((read_json, runfiles.RUN), (read_table, runfiles.SECONDS)):
        with pytest.raises(FileProblem, match="is missing"):
            read(tmp_path / "absent", name)
    with pytest.raises(FileProblem, match="cannot read"):
        read_json(tmp_path, runfiles.RUN)


def test_a_folder_of_runs_is_not_a_run(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    with pytest.raises(FileProblem) as said:
        read_json(tmp_path / "run.json", runfiles.RUN)
    assert str(said.value).endswith(f"run.json is missing; there are runs below it, such as {tmp_path / 'a'}")


@pytest.mark.parametrize("kept", [0, 4, 100, -1])
def test_a_truncated_table_is_explained(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "seconds.parquet"
    write_table(path, runfiles.SECONDS, seconds())
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(FileProblem, match="not a whole Parquet file"):
        read_table(path, runfiles.SECONDS)


def test_a_table_of_another_format_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "seconds.parquet"
    write_table(path, runfiles.SECONDS, seconds())
    with pytest.raises(FileProblem, match=r"keyheat\.throttles/1"):
        read_table(path, runfiles.THROTTLES)


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


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileProblem, match="cannot write"):
        write_json(tmp_path / "file" / "run.json", runfiles.RUN, {})
