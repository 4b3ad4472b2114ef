"""Latencies as the load test writes them."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from keyheat.load.record.rows import Latency, write_log
from keyheat.runfiles import write_atomically
from keyheat.runs.latencies import accepted_p99_ms, read_latencies


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


def log(path: Path, *lines: str, first: str = "#[keyheat.latency/1]") -> Path:
    path.write_text("\n".join([first, *lines, ""]))
    return path


def line(tag: str, values: Iterable[int]) -> str:
    histogram = HdrHistogram(1, 60_000_000, 3)
    for value in values:
        histogram.record_value(value)
    return f"Tag={tag},0.000,1.000,0.5,{histogram.encode().decode()}"


def test_histograms_of_one_tag_are_added_up(tmp_path: Path) -> None:
    halves = [line("PutItem.accepted", range(1, 501)), line("PutItem.accepted", range(501, 1001))]
    merged = read_latencies(log(tmp_path / "latency.hdr", *halves))["PutItem.accepted"]
    assert merged.get_total_count() == 1000
    assert merged.get_value_at_percentile(50) == pytest.approx(500, rel=0.01)
