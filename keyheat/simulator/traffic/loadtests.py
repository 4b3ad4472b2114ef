"""Which traffic each load test is: the one table of them.

A load test of one's own gets a line here: `docs/simulate.md` says how.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, Protocol

from keyheat.scenario.scenario import Scenario, ScenarioError
from keyheat.simulator.flow import Counting, Traffic
from keyheat.simulator.traffic import (
    aggregates,
    conditions,
    dynamic,
    indexed,
    mix,
    periods,
    popular,
    puts,
    shards,
)
from keyheat.simulator.traffic.sending import Sending
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.traced import Replay
from keyheat.simulator.traffic.users import LoadTest

LOADTESTS: Final[Mapping[str, Callable[[Setting], LoadTest]]] = {
    "aggregate_scan": aggregates.scanned,
    "aggregate_stream": aggregates.from_stream,
    "aggregate_transaction": aggregates.in_transactions,
    "audit_log": shards.one_key,
    "audit_log_calculated": partial(shards.on_calculated_shards, whole=1, single=4),
    "audit_log_random": shards.on_random_shards,
    "calculated_suffix": partial(shards.on_calculated_shards, whole=1, single=9),
    "composite_key": puts.composed,
    "country_index": indexed.by_country,
    "country_index_sharded": indexed.by_prefix,
    "date_suffix": shards.on_random_shards,
    "datekey": puts.plain,
    "device_id": puts.plain,
    "dynamic_sharding": dynamic.sharded_dynamically,
    "hot_device": puts.plain,
    "hotkey": puts.plain,
    "leaderboard": indexed.leaderboard,
    "leaderboard_sharded": indexed.sharded_leaderboard,
    "operations": mix.mixed,
    "product_sku": puts.plain,
    "random_suffix": shards.by_client,
    "read_cache": popular.read_through,
    "read_shards": shards.in_every_way,
    "read_spread": popular.from_copies,
    "sequence_key": indexed.by_order,
    "sharded": partial(shards.on_calculated_shards, whole=1, single=4, writers=2),
    "status_code": puts.plain,
    "table_per_period": periods.rolled_over,
    "too_small": puts.plain,
    "unique_key": conditions.unique,
    "user_id": puts.plain,
}
"""By the name of the file in loadtests/, without .py."""


REPLAY = "replay"  # a load of its own: it has no pace but the trace's times


class CountingTraffic(Traffic, Counting, Protocol):
    """A load test as the table meets it, and what it counts."""


def traffic_of(scenario: Scenario, seed: int, folder: Path = Path()) -> CountingTraffic:
    """A scenario's load test, as the simulator sends it; `folder` is the scenario's, where its trace is.

    Raises `ScenarioError` for a load test that the simulator does not know.
    """
    setting = Setting(scenario, Random(f"{seed}/traffic"), folder)
    if scenario.loadtest == REPLAY:
        return Replay(setting)
    known = LOADTESTS.get(scenario.loadtest)
    if known is None:
        raise ScenarioError(
            scenario.name,
            [
                f"the simulator does not know what {scenario.loadtest!r} sends: give it a line in "
                "keyheat/simulator/traffic/loadtests.py, as docs/simulate.md says; it knows "
                f"{', '.join(sorted([*LOADTESTS, REPLAY]))} @ $.loadtest"
            ],
        )
    return Sending(setting, known)
