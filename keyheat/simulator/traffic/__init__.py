"""What is sent to a simulated table: a load test as its flows, second by second."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Protocol

from keyheat.scenario.scenario import Scenario
from keyheat.simulator.dryrun.ask import loadtest_of
from keyheat.simulator.dryrun.combinations import with_combinations
from keyheat.simulator.flow import Counting, Flow, FlowAnswer, Traffic
from keyheat.simulator.traffic.pace import Sending
from keyheat.simulator.traffic.replay import Replay
from keyheat.simulator.traffic.setting import TrafficSetting
from keyheat.words import Direction


class CountingTraffic(Traffic, Counting, Protocol):
    """A load test as the table meets it, and what it counts."""


def traffic_of(scenario: Scenario, seed: int, folder: Path = Path()) -> CountingTraffic:
    """Return the traffic of a scenario's load test; `folder` is the scenario's, with its trace.

    Raises `ScenarioError` for a load test that no sample shows.
    """
    scenario = with_combinations(scenario)
    setting = TrafficSetting(scenario, Random(f"{seed}/traffic"), folder)
    replays = scenario.load.arrivals == "trace"
    traffic = Replay(setting) if replays else Sending(setting, loadtest_of(scenario, folder))
    per_write = scenario.load.replicated_per_write
    return _Replicated(traffic, per_write) if per_write else traffic


class _Replicated:
    """A load, with the writes that come to a global table from its other Regions.

    They take write units like others; how DynamoDB paces them, and repeats refused ones, is not published:
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html
    """

    def __init__(self, load: CountingTraffic, per_write: float) -> None:
        self._load, self._per_write, self._sent = load, per_write, 0

    @property
    def counts(self) -> "dict[str, float]":
        return dict(self._load.counts)

    def second(self, at_s: float) -> Sequence[Flow]:
        flows = self._load.second(at_s)
        self._sent = len(flows)
        copied = (flow for flow in flows if flow.direction is Direction.WRITE and flow.table is None)
        copies = (
            replace(
                flow, operation="Replication", requests=flow.requests * self._per_write, ours=False,
                together=False, within=False,
            )
            for flow in copied
        )  # fmt: skip
        return [*flows, *copies]

    def answered(self, at_s: float, answers: Sequence[FlowAnswer]) -> None:
        self._load.answered(at_s, answers[: self._sent])


def asks_for_shards(scenario: Scenario, folder: Path = Path()) -> bool:
    """Return whether the load test sends by the number of shards. Raises `ScenarioError`."""
    return scenario.load.arrivals != "trace" and loadtest_of(scenario, folder).asks_for_shards
