"""One Locust process at full speed: users of one operation, full recording on, never waiting in between.

Run as `python -m benchmarks._load_process TRANSPORT URL SECONDS CPU [OPERATION]`; prints one JSON object.
"""

import json
import os
import sys
from typing import Any

import gevent
import locust
from locust import task

from benchmarks._users import at_work, order_for
from keyheat.load.record.rows import ACCEPTED, ATTEMPTS
from keyheat.load.run.load import start_load
from keyheat.load.users.operations import BatchUser, ItemUser
from keyheat.load.users.user import TableUser
from keyheat.model.limits import BATCH_WRITE_ITEMS
from loadtests.hotkey import HotKeyUser


class QueryUser(ItemUser):
    """Reads one page after the other."""

    @task
    def send_one(self) -> None:
        self.query_items()


class BatchWriteUser(BatchUser):
    """Writes one batch of 25 items after the other."""

    @task
    def send_one(self) -> None:
        self.batch_write()


USERS = 16
SENT: dict[str, tuple[type[TableUser], int]] = {  # by whom, and how many attempts one request is
    "PutItem": (HotKeyUser, 1),
    "Query": (QueryUser, 1),
    "BatchWriteItem": (BatchWriteUser, BATCH_WRITE_ITEMS),
}
SCENARIO = {
    "format": "keyheat.scenario/1",
    "name": "null",
    "question": "How fast is the generator?",
    "loadtest": "hotkey",
    "table": {"name": "null", "sort_key": "sk", "provisioned": {"read": 1, "write": 1}},
    "keys": {"kind": "hot_key", "share": 0.9},
    "load": {"users": USERS, "requests_per_s": 1e7, "item_bytes": 1000},  # a rate that nobody reaches
}


def measure(transport: str, url: str, seconds: float, operation: str = "PutItem") -> dict[str, Any]:
    """Send for some seconds; the first one is not counted."""
    order = order_for(SCENARIO, url, USERS, transport)
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
    os.sched_setaffinity(0, {int(sys.argv[4])})
    print(json.dumps(measure(sys.argv[1], sys.argv[2], float(sys.argv[3]), *sys.argv[5:6])))
