"""One Locust process in an open loop: the hot-key users, full recording on, constant arrivals.

Run as `python -m benchmarks._arrivals_process URL PER_S SECONDS CPU`; prints one JSON object.
"""

import json
import os
import sys
from typing import Any

import gevent
import locust

from benchmarks._users import at_work, order_for
from keyheat.load.pacer import DROPPED
from keyheat.load.run.load import start_load
from loadtests.hotkey import HotKeyUser

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
    order = order_for(scenario, url, USERS)
    environment: Any = locust.env.Environment(user_classes=[HotKeyUser])
    load = start_load(order, environment)
    with at_work(environment, load):
        gevent.sleep(seconds)
    health = load.record.health
    return {
        "asked": health.demand,
        "achieved": health.sent,
        "late_p99_ms": health.late.percentile_us(99) / 1000,
        "dropped": load.record.counted[DROPPED],
    }


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[4])})
    print(json.dumps(measure(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))))
