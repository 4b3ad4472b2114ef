"""What an endpoint has recorded, as a load: every key has its part of the units, at any rate."""

import numpy as np
import pytest

from keyheat.model.splits import key_point
from keyheat.testing.local import RecordedRow, sent_steadily
from keyheat.words import Direction

HASHES = {name: f"{key_point(name.encode()):016x}" for name in ("a", "b")}


def row(key: str, requests: int, units: float, **other: object) -> RecordedRow:
    made: RecordedRow = {
        "direction": "write", "index": None, "eventual": False, "entry": False,
        "key": HASHES.get(key, ""), "name": key or None, "requests": requests, "units": units, "refused": {},
    }  # fmt: skip
    return {**made, **other}  # type: ignore[typeddict-item]


def test_each_key_has_its_part_of_the_units() -> None:
    load = sent_steadily([row("a", 1, 9.0), row("b", 3, 3.0)], requests_per_s=400, seconds=2)
    (flow,) = load.second(0)
    assert (flow.requests, flow.units, flow.direction) == (400, 3.0, Direction.WRITE)
    by_name = {flow.keys.name(place): share for place, share in enumerate(flow.keys.shares)}
    assert by_name == pytest.approx({"a": 0.75, "b": 0.25})
    assert flow.keys.even == 0.0
    assert list(flow.keys.points) == sorted(flow.keys.points)
    assert load.second(1) == load.second(0)
    assert load.second(2) == ()


def test_entries_of_an_index_go_with_the_writes() -> None:
    entries = [row("b", 4, 8.0, index="by-b", entry=True)]
    (flow,) = sent_steadily([row("a", 4, 4.0), *entries], requests_per_s=10, seconds=1).second(0)
    (entry,) = flow.index_writes
    assert (flow.requests, entry.index, entry.units) == (10.0, "by-b", 2.0)
    assert np.array_equal(entry.keys.points, [key_point(b"b")])
