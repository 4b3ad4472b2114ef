"""A load's metrics for Prometheus: each once, with its meaning; read at `/metrics` until the process ends.

Counters count from the start of a run, and begin at 0 with the next one. Keys are named as the run's own
files name them, by digests unless it shows keys, and only the hottest: at most twice `TOP_KEYS` at one time.
"""

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from socket import gethostname
from typing import Any, Final

from flask import Request, Response
from gevent.pywsgi import WSGIServer

from keyheat.addresses import Hosts
from keyheat.load import pacer
from keyheat.load.live.readings import consumed_in, hottest_keys
from keyheat.load.live.view import LiveView
from keyheat.load.record.record import Record
from keyheat.load.record.rows import ACCEPTED, ERRORS, THROTTLED, spans_of
from keyheat.load.transport import retries
from keyheat.metrics import PREFIX, TEXT, Distribution, Labels, Metric, own_version, prometheus_text
from keyheat.words import label_of

OUTCOMES: Final = {"accepted": ACCEPTED, "throttled": THROTTLED, "error": ERRORS}
UNSTATED: Final = "unstated"
BOUNDS_S: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


Points = Iterator[tuple[str, Labels, float | Distribution]]
"""A metric's name without the prefix, the labels of one point, and its value."""

SAYS: Final = {
    "gauge info": "always 1; the labels say which run it is",
    "gauge loading": "1 while requests are sent, 0 once the load has stopped",
    "counter attempts_total": "attempts, by what came of them",
    "counter throttles_total": "throttled attempts, by DynamoDB's reason",
    "counter failures_total": "attempts that failed for another reason, by its name",
    "counter consumed_units_total": "capacity units that were consumed, as answers say",
    "gauge capacity_units_per_second": "capacity units that may be consumed, by what limits them",
    "histogram service_time_seconds": "of one attempt: from its first byte to its whole answer",
    "histogram response_time_seconds": "of one request: from when it was due, with all attempts",
    "counter demand_total": "what the load asked for: requests, or capacity units",
    "counter sent_total": "what was sent of the demand, each request once and not what its client holds "
    "back; what was throttled counts as what it would cost",
    "gauge users": "users that there are",
    "gauge users_asked": "users that were asked for",
    "counter starts_missed_total": "closed loop: starts that passed while the user waited",
    "counter arrivals_late_total": "open loop: arrivals that began over 10 ms late",
    "counter arrivals_dropped_total": "open loop: arrivals given up for being a second late",
    "counter retries_total": "attempts after the first of a request",
    "counter requests_given_up_total": "requests given up after their last attempt",
    "counter backoff_seconds_total": "time that users waited before another attempt",
    "counter held_back_seconds_total": "time for which an adaptive client held requests back",
    "gauge cpu_ratio": "share of a core that a process of the generator uses",
    "gauge generator_limited": "1 where the generator, not the table, is the limit",
    "gauge workers_missing": "workers that were lost",
    "gauge hot_key_asked_units": "capacity units that one of the hottest keys asked for",
    "gauge hot_key_consumed_units": "capacity units that one of the hottest keys got",
    "gauge hot_key_throttles": "throttled attempts on one of the hottest keys",
}
COUNTED: Final = {
    "arrivals_late_total": pacer.LATE, "arrivals_dropped_total": pacer.DROPPED,
    "retries_total": retries.ATTEMPTS, "requests_given_up_total": retries.GIVEN_UP,
    "backoff_seconds_total": retries.BACKOFF_S, "held_back_seconds_total": retries.HELD_S,
}  # fmt: skip
"""Metric -> what a record calls it among what is counted by name."""


def _metric(kind_and_name: str, says: str) -> Metric:
    kind: Any
    kind, name = kind_and_name.split()
    return Metric(name=f"{PREFIX}_load_{name}", says=says, points=(), kind=kind)


LOAD_METRICS: Final = tuple(_metric(*entry) for entry in SAYS.items())
"""All of them."""


def load_metrics(record: Record, view: LiveView, seen: Mapping[str, Any]) -> tuple[Metric, ...]:
    """All metrics that have points, in a fixed order; `seen` is the content of the live page."""
    view.look(record)
    points: dict[str, list[tuple[Labels, float | Distribution]]] = {}
    for name, labels, value in chain(
        _run(view, seen), _requests(record, view), _times(record), _pace(record, view, seen),
        _generator(seen["generator"]), _keys(record),
    ):  # fmt: skip
        points.setdefault(f"{PREFIX}_load_{name}", []).append((labels, value))
    return tuple(
        replace(metric, points=tuple(points[metric.name])) for metric in LOAD_METRICS if metric.name in points
    )


def _run(view: LiveView, seen: Mapping[str, Any]) -> Points:
    run = view.manifest
    yield "info", {
        "run": run["run_id"], "scenario": run["scenario"]["name"], "table": run["table"]["name"],
        "target": run["target"], "version": own_version(),
    }, 1.0  # fmt: skip
    yield "loading", {}, float(seen["state"] == "loading")
    for resource, limit, limit_is in view.limits():
        if limit is not None:
            labels = {**_resource(resource.index, resource.direction), "limit": limit_is or ""}
            yield "capacity_units_per_second", labels, limit


def _resource(index: str | None, direction: str) -> dict[str, str]:
    return {"resource": label_of(index), "direction": direction}


def _requests(record: Record, view: LiveView) -> Points:
    counts = view.counts(record, record.seconds.last() + 1)
    for (index, direction, operation), row in counts.items():
        for outcome, column in OUTCOMES.items() if index is None else ():
            labels = {"operation": operation or "", "direction": direction, "outcome": outcome}
            yield "attempts_total", labels, float(row[column])
    for resource, units in consumed_in(counts).items():
        yield "consumed_units_total", _resource(*resource), units
    for (name, refuser), number in view.tally.by_operation.items():
        labels = {
            "operation": name, **_resource(refuser.index, refuser.direction),
            "reason": refuser.reason or UNSTATED, "constraint": refuser.constraint,
        }  # fmt: skip
        yield "throttles_total", labels, float(number)
    for kind, number in record.errors_by_kind.items():
        yield "failures_total", {"kind": kind}, float(number)


def _times(record: Record) -> Points:
    bounds_us = [bound * 1e6 for bound in BOUNDS_S]
    for tag, latency in tuple(record.latencies.items()):
        operation, _, what = tag.rpartition(".")
        if what in OUTCOMES or what == "response":
            counts, total_us = spans_of(latency.counts(), bounds_us)
            distribution = Distribution(BOUNDS_S, counts, total_us / 1e6)
            if what == "response":
                yield "response_time_seconds", {"operation": operation}, distribution
            else:
                yield "service_time_seconds", {"operation": operation, "outcome": what}, distribution


def _pace(record: Record, view: LiveView, seen: Mapping[str, Any]) -> Points:
    health, unit = record.health, {"unit": view.target_unit}
    yield "demand_total", unit, health.demand
    yield "sent_total", unit, health.sent
    users = sum(process["users"] for process in seen["generator"]["processes"])
    yield "users", {}, float(users if seen["state"] == "loading" else 0)
    yield "users_asked", {}, float(view.manifest["users"])
    yield "starts_missed_total", {}, float(health.missed)
    for metric, name in COUNTED.items():
        if name in record.counted:
            yield metric, {}, float(record.counted[name])


def _generator(generator: Mapping[str, Any]) -> Points:
    for process in generator["processes"]:
        yield "cpu_ratio", {"process": process["name"]}, process["cpu_percent"] / 100
    if generator["checks"]:  # else it is too early
        yield "generator_limited", {}, float(generator["bound"])
    yield "workers_missing", {}, float(len(generator["missing"]))


def _keys(record: Record) -> Points:
    """The keys with most demand and those throttled most, of the table and of its indexes."""
    hottest = hottest_keys(record, "top", "units") | hottest_keys(record, "top_throttled", "throttles")
    for (name, key), totals in hottest.items():
        direction, _, index = name.partition(":")
        labels = {"key": key, **_resource(index or None, direction)}
        yield "hot_key_asked_units", labels, totals.units
        yield "hot_key_consumed_units", labels, totals.consumed
        yield "hot_key_throttles", labels, float(totals.throttles)


HERE: Final = "127.0.0.1"
PATH: Final = "/metrics"


class CannotListen(Exception):
    """The port of the metrics is not free; the text says what to do."""


@dataclass(frozen=True, slots=True)
class MetricsPort:
    """Where Prometheus reads the metrics of a load."""

    port: int
    host: str = HERE
    names: frozenset[str] = frozenset()  # by which `host` may be called


def metrics_port(options: Namespace, errors: list[str]) -> MetricsPort | None:
    """The port that the options name; None without one. What is wrong with them goes to `errors`."""
    host, port = options.prometheus_host, options.prometheus_port
    if port is None:
        if host is not None:
            errors.append(f"--prometheus-host {host} needs a port: add --prometheus-port 9464")
        return None
    if not 0 <= port <= 65_535:
        errors.append(f"--prometheus-port {port} is not a port; use 1 to 65535, or 0 for any free port")
    names = frozenset({gethostname(), host, *options.allow_host} - {None, ""})
    return MetricsPort(port, host or HERE, names)


def metrics_page(metrics: Callable[[], tuple[Metric, ...]], hosts: Hosts) -> Callable[..., Any]:
    """`/metrics`, as a WSGI application; it answers to its own name alone, as every page of ours."""

    @Request.application
    def answer(request: Any) -> Response:
        if not hosts.answers(request.headers.get):
            return Response(
                "keyheat: this page answers to its own name alone (--allow-host NAME)\n",
                403,
                mimetype="text/plain",
            )
        if request.path != PATH:
            return Response(f"keyheat: the metrics are at {PATH}\n", 404, mimetype="text/plain")
        return Response(prometheus_text(metrics()), content_type=TEXT)

    return answer


def serve_metrics(
    at: MetricsPort, metrics: Callable[[], tuple[Metric, ...]], say: Callable[[str], None]
) -> None:
    """Listen until the process ends. Raises `CannotListen`."""
    server = WSGIServer((at.host, at.port), metrics_page(metrics, Hosts(at.names)), log=None, error_log=None)
    try:
        server.start()
    except OSError as error:
        raise CannotListen(
            f"--prometheus-port {at.port}: cannot listen on {at.host}:{at.port} "
            f"({error.strerror or error}): name another port, or end what has it"
        ) from error
    say(f"metrics for Prometheus: http://{at.host}:{server.server_port}{PATH}")
