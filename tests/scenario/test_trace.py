"""Traces: every mistake by its row before anything starts, and the rows as they are, from CSV or Parquet."""

import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from keyheat.scenario.trace import TraceError, TraceKeys, TraceRow, check_trace, read_trace
from tests.conftest import ROOT, Golden

HEADER = "time,operation,key,size_bytes,sort_key\n"


def least(key: str, sort_key: str | None) -> int:
    return 20 + len(key)


def trace(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "trace.csv"
    path.write_text(header + "".join(f"{line}\n" for line in lines))
    return path


def errors_of(path: Path, *, has_sort_key: bool = True) -> list[str]:
    return check_trace(path, has_sort_key=has_sort_key, least=least)


def rows_of(path: Path) -> list[TraceRow]:
    assert errors_of(path) == []
    return list(read_trace(path, has_sort_key=True, least=least))


RIGHT = [
    TraceRow(0.0, "PutItem", "a", "1", 500),
    TraceRow(0.25, "GetItem", "sha256:00ff", None, None),
    TraceRow(0.25, "Query", "a", None, 0),
    TraceRow(3.0, "UpdateItem", "ä#1", "2", 100),
]


def test_a_csv_is_read_as_it_stands(tmp_path: Path) -> None:
    path = trace(
        tmp_path, "0,put,a,500,1", "0.25,GetItem,sha256:00ff,,", "0.250,query,a,0,", "3e0,update,ä#1,100.0,2"
    )
    assert rows_of(path) == RIGHT


@pytest.mark.parametrize("dated", [False, True])
def test_a_parquet_file_is_read_as_it_stands(tmp_path: Path, dated: bool) -> None:
    path = tmp_path / "trace.parquet"
    at_s = [row.at_s for row in RIGHT]
    times: list[Any] = [datetime.fromtimestamp(1_750_000_000 + s, UTC) for s in at_s] if dated else at_s
    columns = {
        "sort_key": [row.sort_key for row in RIGHT],
        "key": [row.key for row in RIGHT],
        "other": [1, 2, 3, 4],
        "operation": [row.operation for row in RIGHT],
        "time": times,
        "size_bytes": [row.size_bytes for row in RIGHT],
    }
    pa.parquet.write_table(pa.table(columns), path)
    assert rows_of(path) == RIGHT


def test_dates_count_from_the_first_row(tmp_path: Path) -> None:
    path = trace(
        tmp_path,
        "2026-11-20T23:59:59Z,get,a,,",
        "2026-11-21T01:00:00.5+01:00,get,a,,",
        "2026-11-21 00:00:02,get,a,,",
    )
    assert [row.at_s for row in rows_of(path)] == [0.0, 1.5, 3.0]


WRONG_ROWS = (
    "0,put,a,500,", "soon,scan,,1.5,", "5,get,a,,", "4,get,a,,", "6,put,a,-1,", "6,put,a,409601,",
    "6,put,a,,", "6,put,abc,22,", "-1,get,a,,", "nan,get,a,,", "2026-11-20T00:00Z,get,a,,",
    f"7,get,{'k' * 2049},,",
)  # fmt: skip


def test_every_wrong_row_is_named_at_once(tmp_path: Path, golden: Golden) -> None:
    path = trace(tmp_path, *WRONG_ROWS)
    said = "".join(f"{line}\n" for line in errors_of(path))
    golden("trace.txt", said)
    with pytest.raises(TraceError, match="row 2: time 'soon'"):
        list(read_trace(path, has_sort_key=True, least=least))


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("t.csv", b"", "Empty CSV file"),
        ("t.csv", HEADER.encode(), "the trace has no rows"),
        ("t.csv", b"time,key\n0,a\n", "column operation is missing"),
        ("t.csv", HEADER.encode() + b"0,put\n", "Expected 5 columns, got 2"),
        ("t.csv", HEADER.encode() + b"0,get,\xff\xfe,,\n", "UTF-8"),
        ("t.parquet", b"PAR1 no", "Parquet"),
        ("t.json", b"{}", "a trace is a .csv or a .parquet file"),
        ("absent.csv", None, "No such file or directory"),
        ("absent.parquet", None, "No such file or directory"),
    ],
)
def test_what_is_no_trace_is_said(tmp_path: Path, name: str, content: bytes | None, error: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    errors = errors_of(path)
    assert any(error in line for line in errors), errors


def test_the_keys_of_a_trace_are_drawn_in_its_order_and_again(tmp_path: Path) -> None:
    keys = TraceKeys(trace(tmp_path, "0,get,a,,", "1,put,b,500,"))
    assert [keys.draw(Random(1), 0.0) for _ in range(5)] == ["a", "b", "a", "b", "a"]


@pytest.mark.opens
def test_the_example_is_right_and_what_its_script_writes(tmp_path: Path) -> None:
    folder = ROOT / "configs" / "traces"
    assert len(rows_of(folder / "example.csv")) == 180
    script = shutil.copy(folder / "make.py", tmp_path)
    subprocess.run([sys.executable, script], check=True)
    assert (tmp_path / "example.csv").read_bytes() == (folder / "example.csv").read_bytes()
