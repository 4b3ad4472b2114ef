"""Words and numbers as a diagnosis, a terminal and a report show them."""

import pytest

from keyheat import numbers
from keyheat.words import index_of, key_name, label_of, title_of, whose

DIGEST = "sha256:7f5d1618e7d28cc7"


@pytest.mark.parametrize(
    ("key", "shown", "name"),
    [
        (DIGEST, None, "sha256:7f5d1618e7d2"),
        (DIGEST, "hot", "hot"),
        (DIGEST, "", ""),
        ("a-plain-key", None, "a-plain-key"),
        ("a-plain-key-that-is-long", None, "a-plain-key…"),
    ],
)
def test_a_digest_is_shortened_and_a_shown_key_is_not(key: str, shown: str | None, name: str) -> None:
    assert key_name(key, shown) == name


def test_an_action_that_is_not_known_is_said_as_it_stands() -> None:
    assert title_of("do_something_new") == "Do something new"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1803.4, "1,800"), (12.34, "12.3"), (0.01234, "0.0123"), (99.96, "100"), (1e7, "10,000,000"),
     (300.0, "300"), (-2.5, "-2.5"), (None, "–"), (float("nan"), "–")],
)  # fmt: skip
def test_measured_quantities_have_three_digits(value: float | None, text: str) -> None:
    assert numbers.measured(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.284, "28 %"), (0.0, "0 %"), (1.0, "100 %"), (0.9996, "99.9 %"), (0.004, "0.4 %"),
     (0.00001, "under 0.1 %"),
     (1.31, "131 %"), (600.0, "60,000 %"), (None, "–")],
)  # fmt: skip
def test_a_share_never_rounds_to_all_or_nothing(share: float | None, text: str) -> None:
    assert numbers.percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.6, "1 min"), (75, "1 min 15 s"), (90_061, "1 d 1 h"), (7 * 86_400, "7 d")],
)
def test_a_span_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert numbers.span(seconds) == text


def test_an_index_that_is_called_table_is_told_apart_from_the_table() -> None:
    for index in (None, "table", "by-country", "index"):
        assert index_of(label_of(index)) == index
    assert (whose(label_of(None)), whose(label_of("table"))) == ("the table", "index table")
