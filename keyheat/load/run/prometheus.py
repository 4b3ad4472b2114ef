"""A load's metrics for Prometheus: each once, with its meaning; read at `/metrics` until the process ends.

Counters count from the start of a run, and begin at 0 with the next one. Keys are named as the run's own
files name them, by digests unless it shows keys, and only the hottest: at most twice `TOP_KEYS` at one time.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, chain
from socket import gethostname
from types import SimpleNamespace
from typing import Any, Final

from flask import Request, Response
from gevent.pywsgi import WSGIServer
from prometheus_client import Metric, generate_latest
from prometheus_client.core import HistogramMetricFamily

from keyheat.addresses import Hosts
from keyheat.load import pacer
from keyheat.load.options import InputError
from keyheat.load.record.record import own_version
from keyheat.load.record.rows import ACCEPTED, ERRORS, THROTTLED, consumed_in, spans_of
from keyheat.load.run.view import LiveView
from keyheat.load.transport import retries
from keyheat.words import label_of

PREFIX: Final = "keyheat_load_"
TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
"""https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format"""
OUTCOMES: Final = {"accepted": ACCEPTED, "throttled": THROTTLED, "error": ERRORS}
UNSTATED: Final = "unstated"
BOUNDS_S: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
COUNTED: Final = {
    "arrivals_late_total": pacer.LATE, "arrivals_dropped_total": pacer.DROPPED,
    "retries_total": retries.ATTEMPTS, "requests_given_up_total": retries.GIVEN_UP,
}  # fmt: skip
"""Metric -> what a record calls it among what is counted by name."""
SAYS: Final = {
    "info": "always 1; the labels say which run it is",
    "attempts_total": "attempts, by what came of them",
    "throttles_total": "throttled attempts, by DynamoDB's reason",
    "failures_total": "attempts that failed for another reason, by its name",
    "consumed_units_total": "capacity units that were consumed, as answers say",
    "capacity_units_per_second": "capacity units that may be consumed, by what limits them",
    "service_time_seconds": "of one attempt: from its first byte to its whole answer",
    "response_time_seconds": "of one request: from when it was due, with all attempts",
    "demand_total": "what the load asked for: requests, or capacity units",
    "sent_total": "what was sent of the demand, each request once and not what its client holds back; what "
    "was throttled counts as what it would cost",
    "users": "users that there are",
    "users_asked": "users that were asked for",
    "starts_missed_total": "closed loop: starts that passed while the user waited",
    "arrivals_late_total": "open loop: arrivals that began over 10 ms late",
    "arrivals_dropped_total": "open loop: arrivals given up for being a second late",
    "retries_total": "attempts after the first of a request",
    "requests_given_up_total": "requests given up after their last attempt",
    "cpu_ratio": "share of a core that a process of the generator uses",
    "generator_limited": "1 where the generator, not the table, is the limit",
    "workers_missing": "workers that were lost",
    "hot_key_asked_units": "capacity units that one of the hottest keys asked for",
    "hot_key_throttles": "throttled attempts on one of the hottest keys",
}
"""Every metric, in the order in which they are written; the end of its name says of which kind it is."""
Points = Iterator[tuple[str, Mapping[str, str], Any]]
"""A metric's name without the prefix, the labels of one point, and its value; of a histogram its buckets and
their sum."""


def family_of(name: str, labels: Iterable[str] = ()) -> Metric:
    """One metric of a load, without points, by its name without the prefix.

    Names follow https://prometheus.io/docs/practices/naming/: the unit at the end, `_total` for a counter.
    """
    if name.endswith("_time_seconds"):
        return HistogramMetricFamily(f"{PREFIX}{name}", SAYS[name], labels=[*labels])
    kind = "counter" if name.endswith("_total") else "gauge"
    return Metric(f"{PREFIX}{name}".removesuffix("_total"), SAYS[name], kind)


def load_metrics(view: LiveView, seen: Mapping[str, Any]) -> tuple[Metric, ...]:
    """All metrics that have points; `seen` is the content of the live page."""
    families: dict[str, Metric] = {}
    for name, labels, value in chain(_run(view, seen), _requests(view), _keys(seen["keys"])):
        family = families.setdefault(name, family_of(name, labels))
        if isinstance(family, HistogramMetricFamily):
            family.add_metric([*labels.values()], *value)
        else:
            family.add_sample(f"{PREFIX}{name}", dict(labels), value)
    return tuple(families[name] for name in SAYS if name in families)


def _run(view: LiveView, seen: Mapping[str, Any]) -> Points:
    run = view.manifest
    yield "info", {
        "run": run["run_id"], "scenario": run["scenario"]["name"], "table": run["table"]["name"],
        "target": run["target"], "version": own_version(),
    }, 1.0  # fmt: skip
    for resource, limit, limit_is in view.limits():
        if limit is not None:
            labels = {**_resource(resource.index, resource.direction), "limit": limit_is or ""}
            yield "capacity_units_per_second", labels, limit
    health, unit, generator = view.record.health, {"unit": view.target_unit}, seen["generator"]
    yield "demand_total", unit, health.demand
    yield "sent_total", unit, health.sent
    users = sum(process["users"] for process in generator["processes"])
    yield "users", {}, float(users if seen["state"] == "loading" else 0)
    yield "users_asked", {}, float(run["users"])
    yield "starts_missed_total", {}, float(health.missed)
    for metric, name in COUNTED.items():
        if name in view.record.counted:
            yield metric, {}, float(view.record.counted[name])
    for process in generator["processes"]:
        yield "cpu_ratio", {"process": process["name"]}, process["cpu_percent"] / 100
    if generator["checks"]:  # else it is too early
        yield "generator_limited", {}, float(generator["bound"])
    yield "workers_missing", {}, float(len(generator["missing"]))


def _resource(index: str | None, direction: str) -> dict[str, str]:
    return {"resource": label_of(index), "direction": direction}


def _requests(view: LiveView) -> Points:
    totals = view.totals()
    for (index, direction, operation), row in totals.items():
        for outcome, column in OUTCOMES.items() if index is None else ():
            labels = {"operation": operation or "", "direction": direction, "outcome": outcome}
            yield "attempts_total", labels, float(row[column])
    for resource, units in consumed_in(totals).items():
        yield "consumed_units_total", _resource(resource.index, resource.direction), units
    for (name, refuser), number in view.throttles.items():
        labels = {
            "operation": name, **_resource(refuser.index, refuser.direction),
            "reason": refuser.reason or UNSTATED, "constraint": refuser.constraint,
        }  # fmt: skip
        yield "throttles_total", labels, float(number)
    for kind, number in view.record.errors_by_kind.items():
        yield "failures_total", {"kind": kind}, float(number)
    edges = [*(f"{bound:g}" for bound in BOUNDS_S), "+Inf"]
    for tag, latency in tuple(view.record.latencies.items()):
        operation, _, what = tag.rpartition(".")
        if what in OUTCOMES or what == "response":
            counts, total_us = spans_of(latency.counts(), [bound * 1e6 for bound in BOUNDS_S])
            value = list(zip(edges, map(float, accumulate(counts)), strict=True)), total_us / 1e6
            if what == "response":
                yield "response_time_seconds", {"operation": operation}, value
            else:
                yield "service_time_seconds", {"operation": operation, "outcome": what}, value


def _keys(seen: Mapping[str, Any]) -> Points:
    rows = (*seen["by_units"], *seen["by_throttles"])
    for row in {(row["key"], row["index"], row["direction"]): row for row in rows}.values():
        labels = {"key": row["key"], **_resource(row["index"], row["direction"])}
        for name in ("asked_units", "throttles"):
            yield f"hot_key_{name}", labels, float(row[name])


PATH: Final = "/metrics"
HERE: Final = "127.0.0.1"


def serve_metrics(
    options: Namespace, metrics: Callable[[], tuple[Metric, ...]], say: Callable[[str], None]
) -> None:
    """Listen where the options say, until the process ends. Raises `InputError`."""
    port, host = options.prometheus_port, options.prometheus_host or HERE
    if port is None:
        return
    hosts = Hosts(frozenset({gethostname(), host, *options.allow_host}))

    @Request.application
    def answer(request: Any) -> Response:
        """Answer to its own name alone, as every page of ours."""
        if not hosts.answers(request.headers.get):
            words, status = "this page answers to its own name alone (--allow-host NAME)", 403
        elif request.path != PATH:
            words, status = f"the metrics are at {PATH}", 404
        else:
            registry: Any = SimpleNamespace(collect=metrics)
            return Response(generate_latest(registry), content_type=TEXT)
        return Response(f"keyheat: {words}\n", status, mimetype="text/plain")

    server = WSGIServer((host, port), answer, log=None, error_log=None)
    try:
        server.start()
    except OSError as error:
        raise InputError(
            f"--prometheus-port {port}: cannot listen on {host}:{port} "
            f"({error.strerror or error}): name another port, or end what has it"
        ) from error
    say(f"metrics for Prometheus: http://{host}:{server.server_port}{PATH}")
