"""Latencies keep three digits, and their log is one that HdrHistogram's own reader reads."""

from pathlib import Path

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from keyheat.load.record.rows import Latency, write_log


def latency_of(values: list[int]) -> Latency:
    latency = Latency()
    for us in values:
        latency.add(us)
    return latency


def test_the_log_is_read_by_the_histogram_library(tmp_path: Path) -> None:
    path = tmp_path / "latency.hdr"
    latencies = {"PutItem.accepted": latency_of([500, 700]), "PutItem.throttled": latency_of([90])}
    with path.open("wb") as file:
        write_log(file, latencies, start_s=1_795_000_000.0, end_s=1_795_000_060.0)
    assert path.read_text().startswith("#[keyheat.latency/1]\n")
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000, 3))
    found = [reader.get_next_interval_histogram() for _ in range(2)]
    reader.close()
    assert {histogram.get_tag(): histogram.get_total_count() for histogram in found} == {
        "PutItem.accepted": 2,
        "PutItem.throttled": 1,
    }
