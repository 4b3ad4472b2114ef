"""The model against what others measured on real tables; the table of docs is what the command makes."""

from typing import Any
from urllib.parse import urlparse

import pytest

from keyheat.scenario.scenario import load_scenario
from keyheat.simulator.capacity import capacity_of
from tests.calibration.cases import Case, all_cases
from tests.calibration.fidelity import TABLE, table
from tests.calibration.simulated import FOLDER
from tests.calibration.verdicts import simulated_verdicts, verdicts
from tests.calibration.words import in_words

pytestmark = [pytest.mark.xdist_group("calibration"), pytest.mark.slow]
MODELLED = [case for case in all_cases() if not case.not_modelled]
SIMULATED = [case for case in MODELLED if case.simulated]
BY_DAY = {"mapbox-5s-hammer", "lab-5wcu-small", "doc-idle-burst-150rcu"}
"""A key range, a small table and a burst, each of a few seconds; all others are for the night."""


def by_night(cases: list[Case]) -> list[Any]:
    night = pytest.mark.nightly
    return [pytest.param(one, id=one.id, marks=() if one.id in BY_DAY else night) for one in cases]


@pytest.mark.parametrize("case", by_night(MODELLED))
def test_every_observation_is_met_or_its_miss_is_explained(case):
    assert case.observations
    for verdict in verdicts(case):
        seen = verdict.observation
        assert verdict.met == (not seen.missed), (
            f"{seen.name}: {seen.value} was observed, the model gives {verdict.middle} "
            f"({min(verdict.values)} to {max(verdict.values)}); explained as missed: {bool(seen.missed)}"
        )


@pytest.mark.parametrize("case", by_night(SIMULATED))
def test_the_simulator_gives_what_the_model_gives_or_the_difference_is_explained(case):
    pairs = list(zip(verdicts(case), simulated_verdicts(case), strict=True))
    assert any(simulated for _asked, simulated in pairs)
    for asked, simulated in pairs:
        if simulated is None:
            assert not asked.observation.differs
            continue
        seen = asked.observation
        assert simulated.like(asked) == (not seen.differs), (
            f"{seen.name}: asked one by one the model gives {asked.middle}, "
            f"the simulator {simulated.middle}; explained as different: {bool(seen.differs)}"
        )
        assert simulated.met == asked.met or seen.differs


def test_every_load_is_a_scenario_or_it_says_why_not():
    for case in MODELLED:
        if case.load["kind"] == "arithmetic":
            assert not case.simulated
            continue
        whole = case.simulated and all(one.simulated for one in case.observations)
        assert bool(case.not_simulated) != bool(whole), case.id


def test_every_scenario_belongs_to_a_case_and_is_named_after_it():
    files = {path.name for path in FOLDER.iterdir()}
    assert files == {case.simulated["scenario"] for case in SIMULATED}
    assert files == {f"{case.id}.toml" for case in SIMULATED}


def test_a_scenario_has_the_table_of_its_case():
    for case in SIMULATED:
        table = load_scenario(FOLDER / case.simulated["scenario"]).table
        assert capacity_of(table) == case.capacity, case.id


def test_every_metric_has_words():
    for case in MODELLED:
        for seen in case.observations:
            assert in_words(seen.metric)
    assert in_words("partitions 1000 500") == "partitions of a new table of 1,000 RCU and 500 WCU"
    assert in_words("throttles_block_3") == "throttled requests in part 3 of the load"
    with pytest.raises(KeyError):
        in_words("nothing_of_the_kind")


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_every_case_has_a_public_source(case):
    assert urlparse(case.source).scheme == "https"
    assert "." in urlparse(case.source).netloc
    assert bool(case.not_modelled) != bool(case.observations)


@pytest.mark.nightly  # it asks for every case
def test_the_table_is_what_make_fidelity_writes():
    assert TABLE.read_text(encoding="utf-8") == table()
