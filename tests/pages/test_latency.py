import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from keyheat.analysis.report.latency import percentile_grid, read_latency


def write(path, lines):
    path.write_text("\n".join(["#[keyheat.latency/1]", *lines, ""]))
    return path


def line(tag, values):
    histogram = HdrHistogram(1, 60_000_000, 3)
    for value in values:
        histogram.record_value(value)
    return f"Tag={tag},0.000,1.000,0.5,{histogram.encode().decode()}"


def test_percentiles_agree_with_the_values_themselves(tmp_path):
    values = np.random.default_rng(1).integers(100, 100_000, 5_000)
    (one,) = read_latency(write(tmp_path / "latency.hdr", [line("GetItem.accepted", values.tolist())]))
    for percentile, value_ms in one.curve[1:]:
        exact = np.percentile(values, percentile, method="higher") / 1000
        assert value_ms == pytest.approx(exact, rel=0.01)


def test_tags_without_requests_are_left_out(tmp_path):
    assert read_latency(write(tmp_path / "latency.hdr", [line("PutItem.throttled", [])])) == ()


def test_the_grid_goes_no_further_than_one_request():
    assert percentile_grid(1000)[-1] == pytest.approx(99.9)
    assert percentile_grid(1)[-1] == pytest.approx(90)
