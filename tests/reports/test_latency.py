import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from reports.latency import percentile_grid, read_latency
from tablemodel.runfiles import FileProblem


def write(path, lines, first="#[keyheat.latency/1]"):
    path.write_text("\n".join([first, *lines, ""]))
    return path


def line(tag, values):
    histogram = HdrHistogram(1, 60_000_000, 3)
    for value in values:
        histogram.record_value(value)
    return f"Tag={tag},0.000,1.000,0.5,{histogram.encode().decode()}"


def test_histograms_of_one_tag_are_added_up(tmp_path):
    path = write(
        tmp_path / "latency.hdr",
        [line("PutItem.accepted", range(1, 501)), line("PutItem.accepted", range(501, 1001))],
    )
    (one,) = read_latency(path)
    assert (one.operation, one.outcome, one.count) == ("PutItem", "accepted", 1000)
    assert one.max_ms == pytest.approx(1.0, rel=0.01)
    assert one.table[0] == pytest.approx(0.5, rel=0.01)


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


@pytest.mark.parametrize(
    ("lines", "first", "said"),
    [
        ([], "#[keyheat.latency/9]", "this version reads"),
        (["gibberish"], "#[keyheat.latency/1]", "not a histogram"),
        (
            ["Tag=PutItem.accepted,0.0,1.0,0.5,HISTFAAAABp42pNpmSzMwMDA"],
            "#[keyheat.latency/1]",
            "damaged histogram",
        ),
        (["Tag=PutItem.accepted,0.0,1.0,0.5,%%%"], "#[keyheat.latency/1]", "damaged histogram"),
    ],
)
def test_a_damaged_file_is_one_clear_line(tmp_path, lines, first, said):
    with pytest.raises(FileProblem, match=said):
        read_latency(write(tmp_path / "latency.hdr", lines, first))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileProblem, match=r"latency\.hdr is missing"):
        read_latency(tmp_path / "latency.hdr")
