"""One Locust process whose users read: collections of 25 shards, or single shards at the same request rate.

Run as `python -m benchmarks._fanout_process URL collections|shards SECONDS CPU`; prints one JSON object.
"""

import json
import os
import sys
from collections.abc import Callable
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import gevent
import locust
from locust import task

from benchmarks._child import scenario_of
from benchmarks._users import at_work, order_for
from keyheat.load.run.load import Load, start_load
from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.transport.answer import Answer
from keyheat.load.transport.target import target_at
from keyheat.load.users.readers import Reader
from keyheat.scenario.keys import shard_keys

SHARDS, ITEMS_PER_SHARD, ITEM_BYTES = 25, 20, 500
USERS, QUERIES_PER_S = 4, 500.0
KEY = "day"
SCENARIO = scenario_of(
    "fanout",
    {"provisioned": {"read": 20_000, "write": 20_000}},
    {"kind": "uniform", "keys": 1, "shards": SHARDS},
    {"users": USERS, "requests_per_s": QUERIES_PER_S, "item_bytes": ITEM_BYTES},
    loadtest="read_shards",
)


class _Timed(Reader):
    """A reader that keeps the durations of its reads, and of the queries that each is made of."""

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.reads_ms: list[float] = environment.reads_ms
        self.queries_ms: list[list[float]] = environment.queries_ms
        self._of_this_read: list[float] = []

    def send(self, *arguments: Any, **more: Any) -> Answer:
        answer = super().send(*arguments, **more)
        assert answer.accepted, answer
        self._of_this_read.append(answer.service_s * 1000)
        return answer

    def timed(self, read: Callable[[], Any]) -> None:
        """Do one read and keep what it took."""
        self._of_this_read = []
        began_s = perf_counter()
        found = read()
        self.reads_ms.append((perf_counter() - began_s) * 1000)
        self.queries_ms.append(self._of_this_read)
        assert len(found.items) == ITEMS_PER_SHARD * found.requests


class Collections(_Timed):
    """Reads the whole collection, all shards at once."""

    @task
    def read_all(self) -> None:
        self.timed(lambda: self.read_collection(KEY))


class Shards(_Timed):
    """Reads one shard at a time."""

    @task
    def read_one(self) -> None:
        shard = self.rng.choice(shard_keys(KEY, SHARDS))
        self.timed(lambda: self.read_shards((shard,)))


def measure(url: str, user: type[_Timed], seconds: float) -> dict[str, Any]:
    """Fill the table and read for some seconds; the first one is not counted."""
    order = order_for(SCENARIO, url, USERS)
    RunTables(target=target_at(url), run_id=order.run_id, alone=True).prepare(order.scenario.table)
    environment: Any = locust.env.Environment(user_classes=[user])
    load = start_load(order, environment)
    environment.reads_ms, environment.queries_ms = [], []
    _fill(load)
    with at_work(environment, load):
        gevent.sleep(1.0)
        environment.reads_ms.clear()
        environment.queries_ms.clear()
        began_s = perf_counter()
        gevent.sleep(seconds)
        took_s = perf_counter() - began_s
        reads_ms, queries_ms = list(environment.reads_ms), list(environment.queries_ms)
    return {
        "queries_per_s": sum(map(len, queries_ms)) / took_s,
        "reads": len(reads_ms),
        "read_ms": median(reads_ms),
        "slowest_query_ms": median(max(one) for one in queries_ms),
        "query_ms": median(query for one in queries_ms for query in one),
    }


def _fill(load: Load) -> None:
    rng = Random(1)
    for number in range(SHARDS * ITEMS_PER_SHARD):
        body = load.items.put(shard_keys(KEY, SHARDS)[number % SHARDS], f"{number:09d}", rng)
        assert load.transport.send("PutItem", body).accepted


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[4])})
    kind = {"collections": Collections, "shards": Shards}[sys.argv[2]]
    print(json.dumps(measure(sys.argv[1], kind, float(sys.argv[3]))))
