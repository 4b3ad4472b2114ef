"""What an endpoint keeps of the requests to its tables where it is told to: by key, and bounded."""

import pytest

from keyheat.endpoint import recording
from keyheat.endpoint.recording import RecordingModel
from keyheat.model.keyspace import position
from keyheat.model.resources import TableCapacity
from keyheat.words import Capacity


def test_refused_requests_are_kept_too_and_keys_beyond_the_most_are_one_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "MOST_KEYS", 2)
    kept = recording.Recording()
    model = RecordingModel(TableCapacity(provisioned=Capacity(100, 100)), now_s=0.0)
    model.recording = kept
    a, b, c, d = (position(name) for name in (b"a", b"b", b"c", b"d"))
    for at, units in ((a, 1_200.0), (b, 1.0), (c, 2.0), (d, 3.0), (a, 1_200.0)):
        model.admit_write(at, units, 0.0)
    assert {row["key"]: (row["requests"], row["units"], row["refused"]) for row in kept.rows(None)} == {
        a[:8].hex(): (2, 2_400.0, {"TableWriteKeyRangeThroughputExceeded": 1}),
        b[:8].hex(): (1, 1.0, {}),
        "": (2, 5.0, {}),
    }
