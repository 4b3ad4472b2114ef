"""What is exported of a record: every count by its labels, keys by digests, and a bounded number of them.

Where Prometheus reads it: on this machine alone, and mistakes are said before the load.
"""

from argparse import Namespace
from dataclasses import replace
from typing import Any

import pytest
from werkzeug.test import Client

from keyheat.load.record.record import Record
from keyheat.load.record.rows import LARGEST_US, Latency, spans_of
from keyheat.load.run import prometheus
from keyheat.load.run.prometheus import BOUNDS_S, PREFIX, family_of, load_metrics, serve_metrics
from keyheat.load.run.view import TOP_KEYS, LiveView
from keyheat.scenario.keys import digest_of
from tests.load.live.test_view import INDEX, PARTITION, START, a_view, closed
from tests.make import an_attempt

PROCESSES = [{"name": "a", "users": 3, "cpu_percent": 25.0}, {"name": "b", "users": 4, "cpu_percent": 50.0}]
Found = dict[str, dict[tuple[tuple[str, str], ...], float]]


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
    found: Found = {}
    for family in load_metrics(shown, seen):
        for sample in family.samples:
            of_name = found.setdefault(sample.name.removeprefix(PREFIX), {})
            of_name[tuple(sorted(sample.labels.items()))] = sample.value
    return found


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
    buckets = {dict(labels)["le"]: value for labels, value in found["response_time_seconds_bucket"].items()}
    assert buckets == {f"{bound:g}": float(bound >= 0.005) for bound in BOUNDS_S} | {"+Inf": 1}
    assert found["response_time_seconds_count"] == {(("operation", "PutItem"),): 1}
    assert [*found["response_time_seconds_sum"].values()] == [pytest.approx(0.0025, rel=1e-3)]
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
    for name in ("hot_key_asked_units", "hot_key_throttles"):
        assert len(found[name]) == 2 * TOP_KEYS
    keys = {(dict(labels)["key"], dict(labels)["resource"]): value
            for labels, value in found["hot_key_asked_units"].items()}  # fmt: skip
    assert all(key.startswith("sha256:") for key, _resource in keys)
    assert keys[digest_of("an-index-key"), "by-day"] == 9_999
    assert keys[digest_of(f"asks-{many - 1}"), "table"] == 1_000 + many - 1
    assert max(found["hot_key_throttles"].values()) == 39


class Server:
    """Stands for gevent's server: which port it has, and what it serves."""

    page: Any = None

    def __init__(self, at: tuple[str, int], page: Any, **_log: Any) -> None:
        self.server_port = at[1] or 40_001
        Server.page = page

    def start(self) -> None:
        """It listens."""


def serve(port: int | None, host: str | None = None) -> list[str]:
    said: list[str] = []
    options = Namespace(prometheus_port=port, prometheus_host=host, allow_host=["proxy.example"])
    users = family_of("users")
    users.add_sample("keyheat_load_users", {}, 3.0)
    serve_metrics(options, lambda: (users,), said.append)
    return said


def test_it_is_on_this_machine_alone_unless_somebody_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    assert serve(None) == [], "nothing is served unless a port is said"
    monkeypatch.setattr(prometheus, "WSGIServer", Server)
    lines = serve(9464) + serve(0, "0.0.0.0")
    addresses = [line.removeprefix("metrics for Prometheus: ") for line in lines]
    assert addresses == ["http://127.0.0.1:9464/metrics", "http://0.0.0.0:40001/metrics"]


def answer(path: str, **headers: str) -> tuple[int, str]:
    response = Client(Server.page).get(path, headers={"Host": "127.0.0.1:9464", **headers})
    return response.status_code, response.text


def test_the_page_answers_to_its_own_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "WSGIServer", Server)
    serve(9464)
    status, body = answer("/metrics")
    assert status == 200
    assert "keyheat_load_users 3.0" in body
    assert answer("/metrics", Host="proxy.example")[0] == 200
    assert answer("/metrics", Host="evil.example")[0] == 403
    assert answer("/metrics", Origin="http://evil.example")[0] == 403
    assert answer("/") == (404, "keyheat: the metrics are at /metrics\n")
