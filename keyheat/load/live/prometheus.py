"""A load's metrics for Prometheus: read at `/metrics` from before the load until its process ends."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from socket import gethostname
from typing import Any, Final

from gevent.pywsgi import WSGIServer

from keyheat.addresses import Hosts
from keyheat.metrics import TEXT, Metric, prometheus_text

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
