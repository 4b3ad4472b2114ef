"""Fields of a scenario set to other values, as a person types them."""

import pytest

from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import overridden
from tests.make import a_shipped


@pytest.fixture
def scenario() -> Scenario:
    return a_shipped("country-index")


def test_any_field_is_set_by_its_path(scenario: Scenario) -> None:
    settings = ["keys.shards=20", "table.indexes[0].provisioned.write = 500", 'load.arrivals="poisson"']
    made = overridden(scenario, settings, "it")
    assert made.keys.shards == 20
    assert made.table.indexes[0].provisioned.write == 500
    assert made.load.arrivals == "poisson"
    assert overridden(scenario, ["table.indexes.by-country.provisioned.write=500"], "it").table == made.table
    assert made.load.duration_s == scenario.load.duration_s


def test_a_part_that_the_file_does_not_have_is_made(scenario: Scenario) -> None:
    made = overridden(scenario, ["thresholds.throttle_share_max=0.1", 'companions[0].name="beside"',
                                 'companions[0].billing_mode="PAY_PER_REQUEST"'], "it")  # fmt: skip
    assert made.thresholds.throttle_share_max == 0.1
    assert made.thresholds.wrong_reads_max == scenario.thresholds.wrong_reads_max
    assert [table.name for table in made.companions] == ["beside"]


def test_a_field_without_a_value_is_taken_out(scenario: Scenario) -> None:
    """One target takes the place of another."""
    settings = ["load.requests_per_s=", "load.write_units_per_s=900", 'load.arrivals="constant"']
    assert overridden(scenario, settings, "it").load.target_unit == "WCU"


TASKS = ["tasks=[{operation='put', per_s=900}, {operation='query', per_s=100}]"]


@pytest.fixture
def paced(scenario: Scenario) -> Scenario:
    """A scenario whose tasks say how often each is sent, and whose load does not."""
    settings = ["loadtest='operations'", "load.requests_per_s=", *TASKS]
    return overridden(scenario, settings, "it")


@pytest.mark.parametrize(
    ("settings", "total"),
    [
        (["tasks[0].per_s=2_000"], 2_100),
        (["tasks[1]="], 900),
        (["load.duration_s=7"], 1_000),
        (["load.requests_per_s=500", "tasks[0].per_s=2_000"], 500),
    ],
)
def test_the_total_is_that_of_the_tasks_as_set(paced: Scenario, settings: list[str], total: float) -> None:
    assert paced.load.requests_per_s == 1_000
    assert overridden(paced, settings, "it").load.requests_per_s == total


def test_what_was_expected_is_not_expected_of_another_scenario(scenario: Scenario) -> None:
    assert scenario.expects == "partition"
    assert overridden(scenario, [], "it") is scenario
    assert overridden(scenario, ["keys.shards=20"], "it").expects is None
    assert overridden(scenario, ["keys.shards=20", 'expects="none"'], "it").expects == "none"
