"""The load of a scenario that states shards, also where its load test spreads no key by itself."""

from pathlib import Path
from typing import Final

from keyheat.scenario.scenario import Scenario
from keyheat.simulator.altered import Altered, in_shards
from keyheat.simulator.flow import Traffic
from keyheat.simulator.search import SPREADS_ITSELF
from keyheat.simulator.traffic import traffic_of
from keyheat.words import Direction

ASKS_FOR_SHARDS: Final = SPREADS_ITSELF | {"dynamic_sharding"}
"""Load tests that send to as many shards as the scenario says."""


def spread_traffic(scenario: Scenario, seed: int, folder: Path = Path()) -> tuple[Traffic, tuple[str, ...]]:
    """What the scenario's load test sends, and what of it is not as the load test would do it.

    "What if these keys had 20 shards?" can be asked of every load test: hot keys are divided on their way.
    Raises `ScenarioError` for a load test that the simulator does not know.
    """
    traffic, count = traffic_of(scenario, seed, folder), scenario.keys.shards
    if count == 1 or scenario.loadtest in ASKS_FOR_SHARDS:
        return traffic, ()
    for direction in Direction:
        traffic = Altered(traffic, in_shards(count, direction))
    said = (
        f"{scenario.loadtest} spreads no key by itself: its hot keys are divided among {count} shards on "
        "their way, and nobody reads all shards of a key back"
    )
    return traffic, (said,)
