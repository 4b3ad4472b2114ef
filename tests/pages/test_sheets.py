"""Sheets in the page: read again as they were, in few bytes, coarser where it is too much."""

from base64 import b64decode

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from keyheat.pages.sheets import FEW, Sheet, encoded, packed


def unpacked(content):
    """What `encoded` made, read again as the page's script does."""
    if isinstance(content, list):
        if content and isinstance(content[0], str):
            return [str(word) for word in content]
        return np.array([np.nan if value is None else value for value in content], np.float64)
    numbers, bits, value = [], 0, 0
    for byte in b64decode(content["packed"]):
        value |= (byte & 0x7F) << bits
        bits += 7
        if byte < 0x80:
            numbers.append(value)
            bits = value = 0
    steps = []
    place = 0
    while place < len(numbers):
        number = numbers[place]
        if number:
            steps.append(number >> 1 if not number & 1 else -(number >> 1) - 1)
        else:
            place += 1
            steps += [0] * (numbers[place] + 1)
        place += 1
    values = np.cumsum(steps) * content["unit"]
    for first, count in content["gaps"]:
        values[first : first + count] = np.nan
    if "words" in content:
        return [content["words"][int(place)] for place in values]
    return np.asarray(values, np.float64)


VALUES = st.one_of(st.just(float("nan")), st.just(0.0), st.floats(0, 1e7), st.integers(0, 40_000).map(float))


@example([5e-324], False)
@given(st.lists(VALUES, max_size=60), st.booleans())
def test_what_is_packed_is_read_again(values, many):
    values = np.array(values * (40 if many else 1), np.float64)
    content, _ = encoded(values)
    again = unpacked(content)
    assert isinstance(content, dict) == (len(values) > FEW)
    assert (np.isnan(again) == np.isnan(values)).all()
    highest = np.nanmax(values, initial=0.0) if np.isfinite(values).any() else 0.0
    assert_allclose(again, values, atol=max(1e-3, highest * 1e-3), rtol=0)


@pytest.mark.parametrize("times", [1, 500])
def test_words_are_read_again(times):
    words = ["table", "index by-country", "table"] * times
    assert unpacked(encoded(words)[0]) == words


def test_whole_numbers_stay_as_they_are():
    values = np.random.default_rng(1).integers(0, 2_000_000, 5_000).astype(float)
    assert (unpacked(encoded(values)[0]) == values).all()


def test_noise_takes_two_bytes_a_second_and_calm_nothing():
    noise = np.random.default_rng(1).poisson(1_000, 86_400).astype(float)
    assert len(encoded(noise)[0]["packed"]) < 2 * 86_400
    assert len(encoded(np.full(86_400, 4_000.0))[0]["packed"]) < 20


def sheet(**columns):
    return Sheet(name="some", columns=columns, start_s=0.0, step_s=1.0, end_s=3_000.0)


def test_a_column_that_two_charts_show_is_there_once():
    values = np.arange(3_000.0)
    found = packed({"a": sheet(x=values), "b": sheet(y=values, z=values * 2)})
    assert len(found["columns"]) == 2
    assert found["sheets"]["a"]["columns"] == [["x", 0]]
    assert found["sheets"]["b"]["columns"] == [["y", 0], ["z", 1]]


def test_what_is_too_much_is_in_longer_steps():
    noise = np.random.default_rng(1).poisson(1_000, 3_000).astype(float)
    found = packed({"a": sheet(x=noise)}, budget_bytes=3_500)
    assert found["sheets"]["a"]["step_s"] == 2
    assert found["sheets"]["a"]["rows"] == 1_500
    assert unpacked(found["columns"][0]) == pytest.approx(noise.reshape(1_500, 2).mean(axis=1), abs=1)


def test_a_sheet_is_a_table_with_its_times():
    made = Sheet(
        name="some", columns={"units_per_s": np.array([1.0, np.nan])}, start_s=1_800_000_000.0, step_s=60.0
    )
    rows = made.table().to_pylist()
    assert [row["units_per_s"] for row in rows] == [1.0, None]
    assert [row["from_utc"].isoformat() for row in rows] == [
        "2027-01-15T08:00:00+00:00",
        "2027-01-15T08:01:00+00:00",
    ]
