"""The load of a scenario that states shards, also where its load test spreads no key by itself."""

from pathlib import Path

from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.simulator.altered import Altered, in_shards
from keyheat.simulator.flow import Traffic
from keyheat.simulator.traffic import asks_for_shards, traffic_of
from keyheat.words import Direction


def spreads_itself(scenario: Scenario, folder: Path = Path()) -> bool:
    """Whether the load test sends to as many shards as the scenario says, or as it finds that keys need.

    Of a load test that cannot be learnt nobody can say so: it is taken not to.
    """
    if scenario.dynamic_sharding is not None:
        return True
    try:
        return asks_for_shards(scenario, folder)
    except ScenarioError:
        return False


def spread_traffic(scenario: Scenario, seed: int, folder: Path = Path()) -> tuple[Traffic, tuple[str, ...]]:
    """What the scenario's load test sends, and what of it is not as the load test would do it.

    "What if these keys had 20 shards?" can be asked of every load test: hot keys are divided on their way.
    Raises `ScenarioError` for a load test of which a rehearsal cannot say what it sends.
    """
    traffic, count = traffic_of(scenario, seed, folder), scenario.keys.shards
    if count == 1 or spreads_itself(scenario, folder):
        return traffic, ()
    for direction in Direction:
        traffic = Altered(traffic, in_shards(count, direction))
    said = (
        f"{scenario.loadtest} spreads no key by itself: its hot keys are divided among {count} shards on "
        "their way, and nobody reads all shards of a key back"
    )
    return traffic, (said,)
