"""The six scenarios of a trial, and what is shared of it: numbers, and nothing that tells whose they are."""

import json
import re
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import pytest

from keyheat.model.behaviour import DEFAULT, Behaviour, behaving
from keyheat.runfiles import FileProblem
from keyheat.simulator.simulate import simulate
from tests.trial.worlds import trial_of
from tools.trial.judgement import SHOWS, _scaled
from tools.trial.record import (
    FOLDER,
    NAMES,
    Trial,
    observation,
    read_trial,
    region_of,
    trial_scenario,
    write_trial,
)

PAGE = (Path(__file__).parents[2] / "docs" / "trust.md").read_text(encoding="utf-8")
SECRET = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders"
SENT = [(100 + second, 10, 8.0) for second in range(70)]
REFUSED = [
    (107, "TableWriteKeyRangeThroughputExceeded", 3),
    (108, "TableWriteKeyRangeThroughputExceeded", 1),
    (108, SECRET, 2),
    (165, None, 4),
]


def seen():
    return observation("hot-key", SENT, REFUSED, duration_s=70)


def test_it_is_counted_from_the_first_request_on() -> None:
    one = seen()
    assert one.attempts == 700
    assert (one.first_throttle_s, one.at_limit_s) == (7, 3)
    assert one.units_by_10_s == (80.0,) * 7
    assert [(minute.attempts, minute.units) for minute in one.minutes] == [(600, 480.0), (100, 80.0)]
    assert one.minutes[0].throttles == {"TableWriteKeyRangeThroughputExceeded": 4, "other": 2}
    assert one.minutes[1].throttles == {"other": 4}


def test_words_of_others_are_not_copied(tmp_path: Path) -> None:
    """A reason is whatever an endpoint said; a Region whatever somebody has configured."""
    write_trial(tmp_path / "trial.json", trial_of([seen()], region=region_of(SECRET)))
    text = (tmp_path / "trial.json").read_text()
    for word in ("arn:", "orders", "123456789012", "http"):
        assert word not in text


def test_a_file_that_says_more_or_less_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trial.json"
    write_trial(path, trial_of([seen()]))
    content = json.loads(path.read_text()) | {"account": "123456789012"}
    path.write_text(json.dumps(content))
    with pytest.raises(FileProblem, match=r"\$.account"):
        read_trial(path)
    path.write_text('{"format": "keyheat.trial/9"}')
    with pytest.raises(FileProblem, match=r"keyheat\.trial/1"):
        read_trial(path)


def test_every_field_is_on_the_page() -> None:
    told = set(re.findall(r"^\| `(?:scenarios\[\]\.)?(\w+)(?:\[\])?` \|", PAGE, re.MULTILINE))
    schema = Trial.model_json_schema()
    assert told >= set(schema["properties"]) - {"scenarios"}
    assert told >= set(schema["$defs"]["Observed"]["properties"])
    for field in schema["$defs"]["MinuteCount"]["properties"]:
        assert f"`{field}`" in PAGE


@pytest.mark.parametrize("name", NAMES)
def test_each_is_short_and_sends_little(name: str) -> None:
    scenario = trial_scenario(name)
    assert 20 <= scenario.load.duration_s <= 60
    assert scenario.load.requests_per_s <= 500
    assert scenario.table.name.startswith("keyheat-"), "the policies allow no other"
    assert scenario.table.on_end == "delete"


@pytest.mark.nightly
@pytest.mark.slow
def test_a_parameter_shows_where_it_is_said_to_and_nowhere_else() -> None:
    """A scenario that it is not said to touch is the same, bit by bit, with half and twice as much of it."""
    assert set(SHOWS) <= {field.name for field in fields(Behaviour)}

    def come(name: str, behaviour: Behaviour) -> Counter[str]:
        run = simulate(trial_scenario(name), seed=1, folder=FOLDER, behaviour=behaviour, counts_only=True)
        return Counter({side.value: count for side, count in run.client.throttled.items()})

    usual = {name: come(name, DEFAULT) for name in NAMES}
    for parameter, shows in SHOWS.items():
        changed = [replace(DEFAULT, **{parameter: _scaled(parameter, factor)}) for factor in (0.5, 2)]
        for name in NAMES:
            same = all(come(name, one) == usual[name] for one in changed)
            assert same or name in shows, f"{parameter} shows in {name}, and is not said to"
        assert any(come(name, one) != usual[name] for name in shows for one in changed), parameter


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        ("bursts=1", "unknown behaviour parameter 'bursts'"),
        ("burst_s", "burst_s takes a number"),
        ("burst_s=nan", "burst_s takes a number"),
        ("burst_s=-1", "burst_s takes a number"),
        ("nodes=0", "nodes takes a whole number"),
        ("nodes=1.5", "nodes takes a whole number"),
        ("node_grant_s=3", "node_grant_s takes two numbers"),
        ("node_grant_s=9,2", "node_grant_s takes two numbers"),
    ],
)
def test_a_behaviour_that_is_none(setting: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        behaving([setting])
