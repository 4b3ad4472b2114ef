"""The six scenarios of a trial: short, cheap, and each shows what it says and nothing else."""

from collections import Counter
from dataclasses import fields, replace

import pytest

from keyheat.model.behaviour import DEFAULT, Behaviour, behaving
from keyheat.simulator.simulate import simulate
from tools.trial.judgement import SHOWS, _scaled
from tools.trial.record import FOLDER, NAMES, trial_scenario


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
