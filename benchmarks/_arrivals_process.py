"""One Locust process in an open loop: the hot-key users, full recording on, constant arrivals.

Run as `python -m benchmarks._arrivals_process URL PER_S SECONDS CPU`; prints one JSON object.
"""

import json
import os
import sys
from typing import Any

import gevent
import locust
from gevent import get_hub

from generator.pace.arrivals import DROPPED
from generator.run.load import Order, start_load
from generator.run.pulse import beat, fold, watch_lag
from loadtests.hotkey import HotKeyUser
from tablemodel.scenario import scenario_from_dict

USERS = 100


def measure(url: str, per_s: float, seconds: float) -> dict[str, Any]:
    """Let requests arrive for some seconds."""
    scenario = {
        "format": "keyheat.scenario/1",
        "name": "null",
        "question": "How accurate is the open loop?",
        "loadtest": "hotkey",
        "table": {"name": "null", "sort_key": "sk", "provisioned": {"read": 1, "write": 1}},
        "keys": {"kind": "hot_key", "share": 0.9},
        "load": {"users": USERS, "arrivals": "constant", "requests_per_s": per_s, "duration_s": seconds},
    }
    order = Order(
        run_id="bench",
        scenario=scenario_from_dict(scenario, "benchmark"),
        url=url,
        region="us-east-1",
        transport="signed",
        show_keys=False,
        users=USERS,
    )
    environment: Any = locust.env.Environment(user_classes=[HotKeyUser])
    load = environment.keyheat = start_load(order)
    runner = environment.create_local_runner()
    environment.stop_timeout = 5.0
    work = [gevent.spawn(watch_lag, load), gevent.spawn(beat, load, lambda: None)]
    get_hub().loop.update_now()
    runner.start(USERS, spawn_rate=USERS)
    gevent.sleep(seconds)
    load.stop()
    runner.quit()
    gevent.killall(work)
    fold(load)
    health = load.record.health
    return {
        "asked": health.asked,
        "achieved": health.offered,
        "late_p99_ms": health.late.percentile_us(99) / 1000,
        "dropped": load.record.counted[DROPPED],
    }


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[4])})
    print(json.dumps(measure(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))))
