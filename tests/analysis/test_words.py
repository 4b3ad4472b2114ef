"""Words that a diagnosis, a terminal and a report share."""

import re
from pathlib import Path

import pytest

from keyheat.analysis.advice import client_setting, hot_partition, recommendations, waiting
from keyheat.show.fix import steps_title
from keyheat.words import TITLES, capital, glued, key_name, sentence, title_of, whose

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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sent 5 requests", "Sent 5 requests."),
        ("Sent 5.", "Sent 5."),
        ("run.json is missing", "run.json is missing."),
        ("", "."),
    ],
)
def test_a_note_becomes_a_sentence(text: str, said: str) -> None:
    assert sentence(text) == said


def test_names_keep_their_spelling_at_the_beginning_of_a_line() -> None:
    assert [capital("keyheat collect"), capital("run.json is")] == ["Keyheat collect", "run.json is"]


def test_every_action_has_a_title() -> None:
    modules = (recommendations, hot_partition, client_setting, waiting)
    text = "".join(Path(one.__file__).read_text() for one in modules)
    actions = set(re.findall(r'action=(?:"(\w+)" if moves else )?"(\w+)"', text))
    assert {action for pair in actions for action in pair if action} == TITLES.keys()
    assert title_of("do_something_new") == "Do something new"


def test_a_number_stays_with_its_unit_and_a_resource_has_an_article() -> None:
    assert glued("28 % of 4,000 WCU/s in 50 s") == "28\u00a0% of 4,000\u00a0WCU/s in 50\u00a0s"
    assert [whose(None), whose("table"), whose("by_country")] == [
        "the table",
        "the table",
        "index by_country",
    ]


def test_the_steps_of_a_fix_are_one_heading_each_said_once() -> None:
    steps = ("raise_capacity", "replicate_reads", "raise_capacity")
    assert steps_title(steps) == "Raise the capacity and keep copies of the hot item"
    assert steps_title(("shard_writes",)) == "Shard the hot key"
