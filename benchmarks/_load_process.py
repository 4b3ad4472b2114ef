"""One Locust process, full recording on: users of one operation at full speed, or constant arrivals of puts.

Run as `python -m benchmarks._load_process TRANSPORT URL SECONDS CPU OPERATION [ARRIVALS_PER_S]`; prints JSON.
"""

import json
import os
import sys
from typing import Any

import gevent
import locust
from locust import task

from benchmarks._child import scenario_of
from benchmarks._users import at_work, order_for
from keyheat.load.pacer import DROPPED
from keyheat.load.record.rows import ACCEPTED, ATTEMPTS
from keyheat.load.run.load import start_load
from keyheat.load.users.operations import ItemUser
from keyheat.load.users.user import TableUser
from keyheat.model.limits import BATCH_WRITE_ITEMS
from loadtests.hotkey import HotKeyUser


class QueryUser(ItemUser):
    """Reads one page after the other."""

    @task
    def send_one(self) -> None:
        self.query_items()


class BatchWriteUser(ItemUser):
    """Writes one batch of 25 items after the other."""

    @task
    def send_one(self) -> None:
        self.batch_write()


USERS, ARRIVING = 16, 100
SENT: dict[str, tuple[type[TableUser], int]] = {  # by whom, and how many attempts one request is
    "PutItem": (HotKeyUser, 1),
    "Query": (QueryUser, 1),
    "BatchWriteItem": (BatchWriteUser, BATCH_WRITE_ITEMS),
}
TABLE = {"provisioned": {"read": 1, "write": 1}}
HOT = {"kind": "hot_key", "share": 0.9}


def arrivals(url: str, per_s: float, seconds: float) -> dict[str, Any]:
    """Let requests arrive for some seconds."""
    asked = {"users": ARRIVING, "arrivals": "constant", "requests_per_s": per_s, "duration_s": seconds}
    environment: Any = locust.env.Environment(user_classes=[HotKeyUser])
    load = start_load(order_for(scenario_of("null", TABLE, HOT, asked), url, ARRIVING), environment)
    with at_work(environment, load):
        gevent.sleep(seconds)
    health = load.record.health
    return {
        "asked": health.demand,
        "achieved": health.sent,
        "late_p99_ms": health.late.percentile_us(99) / 1000,
        "dropped": load.record.counted[DROPPED],
    }


def measure(transport: str, url: str, seconds: float, operation: str) -> dict[str, Any]:
    """Send for some seconds; the first one is not counted."""
    asked = {"users": USERS, "requests_per_s": 1e7, "item_bytes": 1000}  # a rate that nobody reaches
    order = order_for(scenario_of("null", TABLE, HOT, asked), url, USERS, transport)
    user, attempts = SENT[operation]
    environment: Any = locust.env.Environment(user_classes=[user])
    load = start_load(order, environment)
    with at_work(environment, load):
        gevent.sleep(seconds + 1.5)
    whole = sorted({row.second for row in load.record.seconds.rows})[1:-1]
    counts = [load.record.seconds.of_requests([second]) for second in whole]
    return {
        "per_s": sum(count[ACCEPTED] for count in counts) / len(whole) / attempts,
        "failed": sum(count[ATTEMPTS] - count[ACCEPTED] for count in counts),
        "p50_us": load.record.latencies[f"{operation}.accepted"].percentile_us(50),
        "p99_us": load.record.latencies[f"{operation}.accepted"].percentile_us(99),
    }


if __name__ == "__main__":
    transport, url, seconds, cpu, operation, *rate = sys.argv[1:]
    os.sched_setaffinity(0, {int(cpu)})
    measured = (
        arrivals(url, float(rate[0]), float(seconds))
        if rate
        else measure(transport, url, float(seconds), operation)
    )
    print(json.dumps(measured))
