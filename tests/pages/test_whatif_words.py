"""The words of a what-if search, from made-up candidates."""

from typing import Any

import pytest

from keyheat.model.resources import Cause
from keyheat.plan.prices import load_prices
from keyheat.scenario.scenario import FORMAT, scenario_from_dict
from keyheat.simulator.outcome import Left, SimulationOutcome
from keyheat.simulator.search import Trial, WhatIfSearch
from keyheat.wording.whatif import notes_of, sentence_of, whatif_json
from keyheat.words import Direction

WRITE, READ = Direction.WRITE, Direction.READ
SCENARIO = scenario_from_dict(
    {
        "format": FORMAT,
        "name": "asked",
        "question": "How many are enough?",
        "loadtest": "hotkey",
        "table": {
            "name": "orders",
            "provisioned": {"read": 100, "write": 400},
            "auto_scaling": {"write": {"min": 5, "max": 4_000}},
        },
        "keys": {"kind": "uniform"},
    },
    "test",
)
READS_TOO = Left(index=None, direction=READ, cause=Cause.KEY_RANGE, events=9_000)


def candidate(value: int, share: float, *left: Left) -> Trial:
    outcome = SimulationOutcome(
        seed=1,
        seconds=60,
        loaded_s=60,
        attempts={WRITE: 1_000, READ: 0},
        throttled={WRITE: round(share * 1_000), READ: 0},
        accepted_per_s={(None, WRITE): 100.0},
        left=left,
    )
    return Trial(value=value, scenario=SCENARIO, outcomes=(outcome,), share=share, enough=share <= 0.001)


def search(*candidates: Trial, **changes: Any) -> WhatIfSearch:
    enough = [one for one in candidates if one.enough]
    fields = {
        "question": "write-capacity",
        "scenario": SCENARIO,
        "index": None,
        "direction": WRITE,
        "share_most": 0.001,
        "most": 40_000,
        "burst": False,
        "candidates": candidates,
        "answer": enough[0] if enough else None,
    }
    return WhatIfSearch(**{**fields, **changes})  # type: ignore[arg-type]


def test_the_limit_is_that_of_the_side_that_was_asked_for() -> None:
    own = Left(index="by-day", direction=WRITE, cause=Cause.PROVISIONED, events=500)
    found = search(candidate(400, 0.5, READS_TOO, own), candidate(800, 0.0, READS_TOO))
    assert sentence_of(found) == (
        "800 WCU are enough: none of the writes throttled, where 0.1 % is allowed; with 400 it was 50 %, by "
        "the provisioned capacity of index by-day (writes)."
    )


def test_what_is_not_enough_says_what_would_help() -> None:
    own = Left(index=None, direction=WRITE, cause=Cause.KEY_RANGE, events=500)
    found = search(candidate(40_000, 0.25, own))
    assert sentence_of(found) == (
        "Not even 40,000 WCU are enough: 25 % is still throttled, by the limit of one partition of the table "
        "(writes)."
    )
    notes = notes_of(found, load_prices(), None)
    assert "ask how many shards are enough (keyheat whatif SCENARIO shards)." in notes[0]
    assert "Timeline and auto scaling are left out: the capacity is the same all the time." in notes


def test_a_number_that_held_by_luck_is_named() -> None:
    own = Left(index=None, direction=WRITE, cause=Cause.KEY_RANGE, events=500)
    tried = [candidate(1, 0.4, own), candidate(2, 0.0), candidate(3, 0.1, own), candidate(4, 0.0)]
    found = search(*tried, question="shards", most=100, answer=tried[3], burst=True)
    assert sentence_of(found).startswith("4 shards are enough: none of the attempts throttled")
    notes = notes_of(found, load_prices(), 2)
    assert notes[0].startswith("By the formula 2 shards would do")
    assert notes[1] == "2 held as well, but only by luck: one shard more did not."
    assert notes[2].startswith("Saved-up burst counts here")


def test_json_has_every_candidate_with_its_costs() -> None:
    content = whatif_json(search(candidate(400, 0.5, READS_TOO), candidate(800, 0.0)), load_prices(), None)
    assert [one["value"] for one in content["candidates"]] == [400, 800]
    assert content["candidates"][0]["limited_by"][0]["constraint"] == "partition"
    assert content["candidates"][1]["provisioned_dollars_per_month"] > 0
    assert content["answer"] == 800


@pytest.mark.parametrize(
    ("question", "cause", "index", "said"),
    [
        ("write-capacity", Cause.PROVISIONED, None, "keyheat whatif SCENARIO write-capacity --index by-day."),
        ("shards", Cause.KEY_RANGE, None, "keyheat whatif SCENARIO shards --index by-day."),
        ("write-capacity", Cause.PROVISIONED, "by-day", None),
    ],
)
def test_what_another_resource_throttles_is_asked_for_by_its_name(
    question: str, cause: Cause, index: str | None, said: str | None
) -> None:
    left = Left(index="by-day", direction=WRITE, cause=cause, events=500)
    notes = notes_of(search(candidate(100, 0.5, left), question=question, index=index), load_prices(), None)
    found = [note for note in notes if note.startswith("That is a limit of index by-day")]
    assert [note.endswith(said or "") for note in found] == ([True] if said else [])
