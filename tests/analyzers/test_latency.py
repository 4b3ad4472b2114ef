"""Latencies as the load test writes them."""

from pathlib import Path

import pytest

from analyzers.latency import accepted_p99_ms, read_latencies
from loadtests._latency import Latency, write_log
from tablemodel.runfiles import FileProblem, write_atomically


def written(path: Path, **durations_us: list[int]) -> Path:
    latencies = {}
    for tag, values in durations_us.items():
        latencies[tag.replace("_", ".")] = latency = Latency()
        for value in values:
            latency.add(value)
    write_atomically(
        path, lambda file: write_log(file, latencies, start_s=1_800_000_000, end_s=1_800_000_060)
    )
    return path


def test_the_99th_percentile_of_every_accepted_attempt(tmp_path: Path) -> None:
    path = written(
        tmp_path / "latency.hdr",
        PutItem_accepted=[1_000] * 98,
        GetItem_accepted=[5_000] * 2,
        PutItem_throttled=[9],
    )
    assert set(read_latencies(path)) == {"PutItem.accepted", "GetItem.accepted", "PutItem.throttled"}
    assert accepted_p99_ms(path) == pytest.approx(5, rel=0.01)


def test_without_accepted_attempts_there_is_no_percentile(tmp_path: Path) -> None:
    assert accepted_p99_ms(written(tmp_path / "latency.hdr", PutItem_throttled=[9])) is None


@pytest.mark.parametrize(("keep", "message"), [(0.9, "holds no whole histogram"), (0.0, "does not state")])
def test_a_truncated_file_says_so(keep: float, message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "latency.hdr", PutItem_accepted=list(range(1, 9_000)))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(FileProblem, match=message):
        accepted_p99_ms(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="is missing"):
        read_latencies(tmp_path / "latency.hdr")
