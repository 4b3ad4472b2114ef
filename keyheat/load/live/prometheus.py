"""A load's metrics for Prometheus: each once, with its meaning; read at `/metrics` until the process ends.

Counters count from the start of a run, and begin at 0 with the next one. Keys are named as the run's own
files name them, by digests unless it shows keys, and only the hottest: at most twice `TOP_KEYS` at one time.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from socket import gethostname
from typing import Any, Final, Literal

from gevent.pywsgi import WSGIServer

from keyheat.addresses import Hosts
from keyheat.load import pacer
from keyheat.load.live.readings import TOP_KEYS
from keyheat.load.live.view import LiveView
from keyheat.load.record.record import Record
from keyheat.load.record.rows import ACCEPTED, CONSUMED, ERRORS, THROTTLED, spans_of
from keyheat.load.record.sketch import KeyTotals
from keyheat.load.transport import retries
from keyheat.metrics import PREFIX, TEXT, Distribution, Labels, Metric, own_version, prometheus_text
from keyheat.words import Direction, Resource, label_of

OUTCOMES: Final = {"accepted": ACCEPTED, "throttled": THROTTLED, "error": ERRORS}
UNSTATED: Final = "unstated"
BOUNDS_S: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def _declared(kind: Literal["gauge", "counter", "histogram"], name: str, says: str) -> Metric:
    return Metric(name=f"{PREFIX}_load_{name}", says=says, points=(), kind=kind)


_gauge, _counter, _histogram = (
    partial(_declared, "gauge"), partial(_declared, "counter"), partial(_declared, "histogram")
)  # fmt: skip

INFO = _gauge("info", "always 1; the labels say which run it is")
LOADING = _gauge("loading", "1 while requests are sent, 0 once the load has stopped")
ATTEMPTS = _counter("attempts_total", "attempts, by what came of them")
THROTTLES = _counter("throttles_total", "throttled attempts, by DynamoDB's reason")
FAILURES = _counter("failures_total", "attempts that failed for another reason, by its name")
CONSUMED_UNITS = _counter("consumed_units_total", "capacity units that were consumed, as answers say")
CAPACITY = _gauge("capacity_units_per_second", "capacity units that may be consumed, by what limits them")
SERVICE_TIME = _histogram("service_time_seconds", "of one attempt: from its first byte to its whole answer")
RESPONSE_TIME = _histogram("response_time_seconds", "of one request: from when it was due, with all attempts")
DEMAND = _counter("demand_total", "what the load asked for: requests, or capacity units")
SENT = _counter(
    "sent_total",
    "what was sent of the demand, each request once and not what its client holds back; "
    "what was throttled counts as what it would cost",
)
USERS = _gauge("users", "users that there are")
USERS_ASKED = _gauge("users_asked", "users that were asked for")
MISSED = _counter("starts_missed_total", "closed loop: starts that passed while the user waited")
LATE = _counter("arrivals_late_total", "open loop: arrivals that began over 10 ms late")
DROPPED = _counter("arrivals_dropped_total", "open loop: arrivals given up for being a second late")
RETRIED = _counter("retries_total", "attempts after the first of a request")
GAVE_UP = _counter("requests_given_up_total", "requests given up after their last attempt")
BACKED_OFF = _counter("backoff_seconds_total", "time that users waited before another attempt")
HELD_BACK = _counter("held_back_seconds_total", "time for which an adaptive client held requests back")
CPU = _gauge("cpu_ratio", "share of a core that a process of the generator uses")
LIMITED = _gauge("generator_limited", "1 where the generator, not the table, is the limit")
MISSING = _gauge("workers_missing", "workers that were lost")
KEY_ASKED = _gauge("hot_key_asked_units", "capacity units that one of the hottest keys asked for")
KEY_CONSUMED = _gauge("hot_key_consumed_units", "capacity units that one of the hottest keys got")
KEY_THROTTLES = _gauge("hot_key_throttles", "throttled attempts on one of the hottest keys")

COUNTED: Final = {
    LATE: pacer.LATE, DROPPED: pacer.DROPPED, RETRIED: retries.ATTEMPTS, GAVE_UP: retries.GIVEN_UP,
    BACKED_OFF: retries.BACKOFF_S, HELD_BACK: retries.HELD_S,
}  # fmt: skip
"""Metric -> what a record calls it among what is counted by name."""

LOAD_METRICS: Final = (
    INFO, LOADING, ATTEMPTS, THROTTLES, FAILURES, CONSUMED_UNITS, CAPACITY, SERVICE_TIME, RESPONSE_TIME,
    DEMAND, SENT, USERS, USERS_ASKED, MISSED, LATE, DROPPED, RETRIED, GAVE_UP, BACKED_OFF, HELD_BACK, CPU,
    LIMITED, MISSING, KEY_ASKED, KEY_CONSUMED, KEY_THROTTLES,
)  # fmt: skip
"""All of them."""


def load_metrics(record: Record, view: LiveView, seen: Mapping[str, Any]) -> tuple[Metric, ...]:
    """All that there is something to say of, in a fixed order; `seen` is the content of the live page."""
    view.look(record)
    parts = (
        _run(view, seen["state"]), _outcomes(record, view), _throttles(record, view), _limits(view),
        _times(record), _pace(record, view, seen), _generator(seen["generator"]), _keys(record),
    )  # fmt: skip
    return tuple(metric for group in parts for metric in group if metric.points)


def _of(metric: Metric, *points: tuple[Labels, float | Distribution]) -> Metric:
    return replace(metric, points=points)


def _run(view: LiveView, state: str) -> Iterator[Metric]:
    subject = view.subject
    labels = {
        "run": subject.run_id, "scenario": subject.scenario, "table": subject.table["name"],
        "target": subject.target, "version": own_version(),
    }  # fmt: skip
    yield _of(INFO, (labels, 1.0))
    yield _of(LOADING, ({}, float(state == "loading")))


def _outcomes(record: Record, view: LiveView) -> Iterator[Metric]:
    counts = view.counts(record, record.seconds.last() + 1)
    yield _of(
        ATTEMPTS,
        *(
            ({"operation": operation or "", "direction": direction, "outcome": outcome}, float(row[column]))
            for (index, direction, operation), row in counts.items()
            if index is None
            for outcome, column in OUTCOMES.items()
        ),
    )
    consumed: dict[tuple[str | None, str], float] = {}
    for (index, direction, _operation), row in counts.items():
        consumed[index, direction] = consumed.get((index, direction), 0.0) + row[CONSUMED]
    yield _of(CONSUMED_UNITS, *((_resource(*which), units) for which, units in consumed.items()))


def _resource(index: str | None, direction: str) -> dict[str, str]:
    return {"resource": label_of(index), "direction": direction}


def _throttles(record: Record, view: LiveView) -> Iterator[Metric]:
    yield _of(
        THROTTLES,
        *(
            (
                {
                    "operation": operation, **_resource(refused.index, refused.direction),
                    "reason": refused.reason or UNSTATED, "constraint": refused.constraint,
                },
                float(number),
            )
            for (operation, refused), number in view.tally.by_operation.items()
        ),
    )  # fmt: skip
    yield _of(FAILURES, *(({"kind": kind}, float(n)) for kind, n in record.errors_by_kind.items()))


def _limits(view: LiveView) -> Iterator[Metric]:
    points = []
    for index in (None, *(facts["name"] for facts in view.subject.table["indexes"])):
        for direction in Direction:
            limit = view.limit(Resource(index, direction))
            if limit["limit"] is not None:
                labels = {**_resource(index, direction), "limit": limit["limit_is"]}
                points.append((labels, float(limit["limit"])))
    yield _of(CAPACITY, *points)


def _times(record: Record) -> Iterator[Metric]:
    bounds_us = [bound * 1e6 for bound in BOUNDS_S]
    service, response = [], []
    for tag, latency in tuple(record.latencies.items()):
        operation, _, what = tag.rpartition(".")
        if what in OUTCOMES or what == "response":
            counts, total_us = spans_of(latency.counts(), bounds_us)
            distribution = Distribution(BOUNDS_S, counts, total_us / 1e6)
            if what == "response":
                response.append(({"operation": operation}, distribution))
            else:
                service.append(({"operation": operation, "outcome": what}, distribution))
    yield _of(SERVICE_TIME, *service)
    yield _of(RESPONSE_TIME, *response)


def _pace(record: Record, view: LiveView, seen: Mapping[str, Any]) -> Iterator[Metric]:
    health, unit = record.health, {"unit": view.subject.target_unit}
    users = sum(process["users"] for process in seen["generator"]["processes"])
    yield _of(DEMAND, (unit, health.asked))
    yield _of(SENT, (unit, health.sent))
    yield _of(USERS, ({}, float(users if seen["state"] == "loading" else 0)))
    yield _of(USERS_ASKED, ({}, float(view.subject.users)))
    yield _of(MISSED, ({}, float(health.missed)))
    for metric, name in COUNTED.items():
        if name in record.counted:
            yield _of(metric, ({}, float(record.counted[name])))


def _generator(generator: Mapping[str, Any]) -> Iterator[Metric]:
    processes = generator["processes"]
    yield _of(CPU, *(({"process": process["name"]}, process["cpu_percent"] / 100) for process in processes))
    if generator["checks"]:  # it is not too early to tell
        yield _of(LIMITED, ({}, float(generator["bound"])))
    yield _of(MISSING, ({}, float(len(generator["missing"]))))


def _keys(record: Record) -> Iterator[Metric]:
    """The keys that asked for most, and those that were throttled most, of the table and of its indexes."""
    by_units = {
        (name, key.name): key for name, heat in record.heat.items() for key in heat.sketch.top(TOP_KEYS)
    }
    throttled = {
        (name, key.name): key
        for name, heat in record.heat.items()
        for key in heat.sketch.top_throttled(TOP_KEYS)
    }
    hottest = _first(by_units, lambda key: key.units) | _first(throttled, lambda key: key.throttles)
    labelled = [({"key": key.name, **_resource(*_place(name))}, key) for (name, _), key in hottest.items()]
    yield _of(KEY_ASKED, *((labels, key.units) for labels, key in labelled))
    yield _of(KEY_CONSUMED, *((labels, key.consumed) for labels, key in labelled))
    yield _of(KEY_THROTTLES, *((labels, float(key.throttles)) for labels, key in labelled))


KeysOf = dict[tuple[str, str], KeyTotals]


def _first(keys: KeysOf, by: Any) -> KeysOf:
    return dict(sorted(keys.items(), key=lambda item: -by(item[1]))[:TOP_KEYS])


def _place(name: str) -> tuple[str | None, str]:
    """The index and direction of a record's heat, as `heat_of` names it."""
    direction, _, index = name.partition(":")
    return index or None, direction


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
        errors.append(f"--prometheus-port {port} is no port: 1 to 65535, or 0 for any that is free")
    names = frozenset({gethostname(), host, *options.allow_host} - {None, ""})
    return MetricsPort(port, host or HERE, names)


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """`/metrics`, as a WSGI application; it answers to its own name alone, as every page of ours."""

    metrics: Callable[[], tuple[Metric, ...]]
    hosts: Hosts

    def __call__(self, environ: Mapping[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        status, body = self._answer(environ)
        start(status, [("Content-Type", TEXT), ("Content-Length", str(len(body)))])
        return [body]

    def _answer(self, environ: Mapping[str, Any]) -> tuple[str, bytes]:
        def header(name: str) -> str | None:
            return environ.get(f"HTTP_{name.upper().replace('-', '_')}")

        if not self.hosts.answers(header):
            return "403 Forbidden", b"keyheat: this page answers to its own name alone (--allow-host NAME)\n"
        if environ["PATH_INFO"] != PATH:
            return "404 Not Found", f"keyheat: the metrics are at {PATH}\n".encode()
        return "200 OK", prometheus_text(self.metrics())


def serve_metrics(
    at: MetricsPort, metrics: Callable[[], tuple[Metric, ...]], say: Callable[[str], None]
) -> None:
    """Listen until the process ends. Raises `CannotListen`."""
    server = WSGIServer((at.host, at.port), MetricsPage(metrics, Hosts(at.names)), log=None, error_log=None)
    try:
        server.start()
    except OSError as error:
        raise CannotListen(
            f"--prometheus-port {at.port}: cannot listen on {at.host}:{at.port} "
            f"({error.strerror or error}): name another port, or end what has it"
        ) from error
    say(f"metrics for Prometheus: http://{at.host}:{server.server_port}{PATH}")
