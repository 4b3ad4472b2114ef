"""What is exported of a record: every count by its labels, keys by digests, and a bounded number of them.

Where Prometheus reads it: on this machine alone, and mistakes are said before the load.
"""

from argparse import Namespace
from dataclasses import replace
from typing import Any

import pytest
from werkzeug.test import Client

from keyheat.addresses import Hosts
from keyheat.load.record.record import Record
from keyheat.load.record.rows import LARGEST_US, Latency, spans_of
from keyheat.load.run import prometheus
from keyheat.load.run.prometheus import BOUNDS_S, load_metrics, metrics_page, serve_metrics
from keyheat.load.run.view import TOP_KEYS, LiveView
from keyheat.metrics import Distribution, Metric
from keyheat.scenario.keys import digest_of
from tests.load.live.test_view import INDEX, PARTITION, START, a_view, closed
from tests.make import an_attempt

PROCESSES = [{"name": "a", "users": 3, "cpu_percent": 25.0}, {"name": "b", "users": 4, "cpu_percent": 50.0}]
Found = dict[str, dict[tuple[tuple[str, str], ...], float | Distribution]]


def view(record: Record) -> LiveView:
    table = {
        "name": "orders", "billing_mode": "PROVISIONED", "provisioned": {"read": 100, "write": 40},
        "max_on_demand": None,
        "indexes": [{"name": "by-day", "provisioned": None, "max_on_demand": {"read": None, "write": 50}}],
    }  # fmt: skip
    return replace(a_view(closed(record), table=table, scale=0.5, users=8), target_unit="WCU")


def measured(record: Record, shown: LiveView | None = None) -> Found:
    shown = shown or view(record)
    seen = shown.content(None, PROCESSES, missing=["a worker"], state="loading", end=START + 1)
    return {
        one.name.removeprefix("keyheat_load_"): {
            tuple(sorted(labels.items())): value for labels, value in one.points
        }
        for one in load_metrics(shown, seen)
    }


def a_record() -> Record:
    record = Record()
    for second in range(200):  # longer than the seconds that may still change
        record.add(an_attempt(second, units=3.0, by_index={"by-day": 1.0}))
        record.add(an_attempt(second, outcome="throttled", units=1.0, reason=PARTITION))
    record.add(an_attempt(5, outcome="throttled", units=1.0, reason=INDEX, refused_by="by-day"))
    record.add(an_attempt(5, outcome="throttled", units=1.0))
    record.timed("PutItem.response", 2_500)
    record.health.demand, record.health.sent = 900.0, 800.0
    return record


def test_counts_by_resource_limit_and_process() -> None:
    """`tests/test_live_metrics` has what a load of one table comes to."""
    record = a_record()
    shown = view(record)
    found = measured(record, shown)
    throttles = {
        tuple(dict(labels)[name] for name in ("resource", "reason", "constraint")): value
        for labels, value in found["throttles_total"].items()
    }
    assert throttles == {
        ("table", PARTITION, "partition"): 200,
        ("by-day", INDEX, "table"): 1,
        ("table", "unstated", "undetermined"): 1,
    }
    of_table, of_index = ((("direction", "write"), ("resource", one)) for one in ("table", "by-day"))
    assert found["consumed_units_total"] == {of_table: 400, of_index: 200}
    limits = {
        tuple(dict(labels).values()): value for labels, value in found["capacity_units_per_second"].items()
    }
    assert limits == {
        ("read", "provisioned", "table"): 50, ("write", "provisioned", "table"): 20,
        ("write", "on-demand maximum", "by-day"): 25,
    }  # fmt: skip
    unit = (("unit", "WCU"),)
    assert (found["demand_total"], found["sent_total"]) == ({unit: 900}, {unit: 800})
    assert (found["users"], found["users_asked"], found["workers_missing"]) == ({(): 7}, {(): 8}, {(): 1})
    assert found["cpu_ratio"] == {(("process", "a"),): 0.25, (("process", "b"),): 0.5}
    assert "requests.given_up" not in found, "what is not known is not there"
    assert measured(record, shown) == found, "a look counts nothing twice"


def test_times_are_right_to_a_thousandth() -> None:
    found = measured(a_record())
    (response,) = found["response_time_seconds"].values()
    assert isinstance(response, Distribution)
    assert dict(zip(response.bounds, response.counts, strict=False)) == {
        bound: float(bound == 0.005) for bound in BOUNDS_S
    }
    latency, times_us = Latency(), [1, 499, 500, 501, 1_000, 70_000, 10_000_000, 10_100_000, LARGEST_US]
    for us in times_us:
        latency.add(us)
    counts, total_us = spans_of(latency.counts(), [bound * 1e6 for bound in BOUNDS_S])
    assert total_us == pytest.approx(sum(times_us), rel=1e-3)
    assert (counts[0], counts[1], sum(counts), counts[-2], counts[-1]) == (3, 2, len(times_us), 1, 2)


def test_keys_are_digests_and_only_the_hottest() -> None:
    record, many = Record(), 300
    for number in range(many):
        record.add(an_attempt(1, f"asks-{number}", units=1_000.0 + number))
        for _ in range(number % 40):
            record.add(an_attempt(1, f"throttled-{number}", outcome="throttled", units=1.0, reason=PARTITION))
    record.entered(an_attempt(1), "by-day", "an-index-key", 9_999.0, throttled=False)
    found = measured(record)
    for name in ("hot_key_asked_units", "hot_key_consumed_units", "hot_key_throttles"):
        assert len(found[name]) == 2 * TOP_KEYS
    keys = {(dict(labels)["key"], dict(labels)["resource"]): value
            for labels, value in found["hot_key_asked_units"].items()}  # fmt: skip
    assert all(key.startswith("sha256:") for key, _resource in keys)
    assert keys[digest_of("an-index-key"), "by-day"] == 9_999
    assert keys[digest_of(f"asks-{many - 1}"), "table"] == 1_000 + many - 1
    assert max(found["hot_key_throttles"].values()) == 39  # type: ignore[type-var]


class Server:
    """Stands for gevent's server: which port it has, or that it cannot have it."""

    def __init__(self, at: tuple[str, int], *_page: Any, **_log: Any) -> None:
        self.at, self.server_port = at, at[1] or 40_001

    def start(self) -> None:
        """It listens."""


def test_it_is_on_this_machine_alone_unless_somebody_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def serve(port: int | None, host: str | None = None) -> None:
        options = Namespace(prometheus_port=port, prometheus_host=host, allow_host=[])
        serve_metrics(options, tuple, said.append)

    serve(None)
    assert said == [], "nothing is served unless a port is said"
    monkeypatch.setattr(prometheus, "WSGIServer", Server)
    serve(9464)
    serve(0, "0.0.0.0")
    addresses = [line.removeprefix("metrics for Prometheus: ") for line in said]
    assert addresses == ["http://127.0.0.1:9464/metrics", "http://0.0.0.0:40001/metrics"]


def answer(page: Any, path: str, **headers: str) -> tuple[int, str]:
    response = Client(page).get(path, headers={"Host": "127.0.0.1:9464", **headers})
    return response.status_code, response.text


def test_the_page_answers_to_its_own_name_alone() -> None:
    users = Metric(name="keyheat_load_users", says="users", points=(({}, 3.0),))
    page = metrics_page(lambda: (users,), Hosts(frozenset({"proxy.example"})))
    status, body = answer(page, "/metrics")
    assert status == 200
    assert "keyheat_load_users 3.0" in body
    assert answer(page, "/metrics", Host="proxy.example")[0] == 200
    assert answer(page, "/metrics", Host="evil.example")[0] == 403
    assert answer(page, "/metrics", Origin="http://evil.example")[0] == 403
    assert answer(page, "/") == (404, "keyheat: the metrics are at /metrics\n")
