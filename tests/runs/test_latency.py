"""Latencies as the load test writes them."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from keyheat.runs.latencies import accepted_p99_ms, read_latencies


def log(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["#[keyheat.latency/1]", *lines, ""]))
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


def test_the_99th_percentile_of_every_accepted_attempt(tmp_path: Path) -> None:
    puts, gets = line("PutItem.accepted", [1_000] * 98), line("GetItem.accepted", [5_000] * 2)
    path = log(tmp_path / "latency.hdr", puts, gets, line("PutItem.throttled", [9]))
    assert set(read_latencies(path)) == {"PutItem.accepted", "GetItem.accepted", "PutItem.throttled"}
    assert accepted_p99_ms(path) == pytest.approx(5, rel=0.01)
