"""What is sent to a simulated table: a load test as its requests, keys and units, second by second."""

from pathlib import Path
from random import Random
from typing import Protocol

from keyheat.scenario.scenario import Scenario
from keyheat.simulator.dryrun.ask import loadtest_of
from keyheat.simulator.dryrun.combinations import with_combinations
from keyheat.simulator.flow import Counting, Traffic
from keyheat.simulator.traffic.loadtest import users_of
from keyheat.simulator.traffic.pace import Sending
from keyheat.simulator.traffic.replay import Replay
from keyheat.simulator.traffic.replicated import Replicated
from keyheat.simulator.traffic.setting import TrafficSetting


class CountingTraffic(Traffic, Counting, Protocol):
    """A load test as the table meets it, and what it counts."""


def traffic_of(scenario: Scenario, seed: int, folder: Path = Path()) -> CountingTraffic:
    """What a scenario's load test sends; `folder` is the scenario's, where its trace is.

    Raises `ScenarioError` for a load test of which no sample shows it.
    """
    scenario = with_combinations(scenario)
    found = _sent(scenario, seed, folder)
    per_write = scenario.load.replicated_per_write
    return Replicated(found, per_write) if per_write else found


def _sent(scenario: Scenario, seed: int, folder: Path) -> CountingTraffic:
    setting = TrafficSetting(scenario, Random(f"{seed}/traffic"), folder)
    if scenario.load.arrivals == "trace":
        return Replay(setting)
    return Sending(setting, users_of(setting, loadtest_of(scenario, folder)))


def asks_for_shards(scenario: Scenario, folder: Path = Path()) -> bool:
    """Whether what the load test sends follows from the number of shards. Raises `ScenarioError`."""
    return scenario.load.arrivals != "trace" and loadtest_of(scenario, folder).asks_for_shards
