"""Words that a diagnosis, a terminal and a report share."""

import re
from pathlib import Path

import pytest

from keyheat.analysis.advice import client_setting, hot_partition, recommendations, waiting
from keyheat.words import TITLES, key_name, title_of

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


def test_every_action_has_a_title() -> None:
    modules = (recommendations, hot_partition, client_setting, waiting)
    text = "".join(Path(one.__file__).read_text() for one in modules)
    actions = set(re.findall(r'action=(?:"(\w+)" if moves else )?"(\w+)"', text))
    assert {action for pair in actions for action in pair if action} == TITLES.keys()
    assert title_of("do_something_new") == "Do something new"
