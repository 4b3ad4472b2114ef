"""What an endpoint keeps of the requests to its tables where it is told to: by key, and bounded."""

from typing import Any

import pytest

from keyheat.endpoint import recording
from keyheat.endpoint.recording import RecordingModel
from keyheat.model.keyspace import position
from keyheat.model.resources import IndexCapacity, TableCapacity
from keyheat.model.table import TableModel
from keyheat.model.transactions import IndexWrite, Op
from keyheat.words import Capacity, Direction

A, B, C = (position(name, b"1") for name in (b"a", b"b", b"c"))
CAPACITY = TableCapacity(
    provisioned=Capacity(read=100, write=100),
    indexes=(IndexCapacity(name="by-b", provisioned=Capacity(read=100, write=100)),),
)


def recorder() -> tuple[RecordingModel, recording.Recording]:
    kept = recording.Recording()
    return RecordingModel(CAPACITY, now_s=0.0, recording=kept), kept


def by_key(kept: recording.Recording) -> dict[tuple[str, str | None, bool, str], tuple[int, float]]:
    return {
        (row["direction"], row["index"], row["entry"], row["key"]): (row["requests"], row["units"])
        for row in kept.rows(None)
    }


def test_it_decides_as_any_other_model_does_and_writes_it_down() -> None:
    model, kept = recorder()
    other = TableModel(CAPACITY, now_s=0.0)
    asked: list[Any] = []
    for one in (model, other):
        answers = [
            one.admit_write(A, 1_200.0, 0.0, (IndexWrite("by-b", B, 2.0),)),
            one.admit_write(A, 1_200.0, 0.0),
            one.admit_read(A, 2.0, 0.0, eventual=True),
            one.admit_together(
                [Op(direction=Direction.WRITE, position=C, units=4.0),
                 Op(direction=Direction.READ, position=C, units=8.0)], 0.0,
            ),
        ]  # fmt: skip
        asked.append((answers, one.decisions()))
    assert asked[0] == asked[1]
    a, b, c = (at[:8].hex() for at in (A, B, C))
    assert by_key(kept) == {
        ("write", None, False, a): (2, 2_400.0),
        ("write", None, False, c): (1, 4.0),
        ("write", "by-b", True, b): (1, 2.0),
        ("read", None, False, a): (1, 2.0),
        ("read", None, False, c): (1, 8.0),
    }
    refused = [row["refused"] for row in kept.rows(None) if row["refused"]]
    assert refused == [{"TableWriteKeyRangeThroughputExceeded": 1}]


def test_keys_beyond_the_most_are_one_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_KEYS", 2)
    model, kept = recorder()
    for at in (A, B, C, position(b"d"), A):
        model.admit_write(at, 1.0, 0.0)
    assert {key: requests for (*_, key), (requests, _units) in by_key(kept).items()} == {
        A[:8].hex(): 2, B[:8].hex(): 1, "": 2,
    }  # fmt: skip
