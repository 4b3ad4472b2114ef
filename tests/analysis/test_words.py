"""Words that a diagnosis, a terminal and a report share."""

import pytest

from keyheat.words import key_name, title_of

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
