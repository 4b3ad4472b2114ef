"""A load's metrics for others: read by Prometheus while it goes on, or sent to an OpenTelemetry collector.

What cannot come to anything is said before the load begins. A collector that goes away in the middle is no
concern of the load's: it is said once, at the end.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import time
from typing import Any, Final

import gevent
from gevent.pywsgi import WSGIServer

from keyheat.addresses import Hosts
from keyheat.load.live.exports import Exports
from keyheat.load.live.run import LiveRun
from keyheat.masking import masked
from keyheat.metrics import TEXT, prometheus_text
from keyheat.otlp import Collector, NotSent

PATH: Final = "/metrics"
SCOPE: Final = "keyheat.load"
TRIED_S: Final = 3.0  # for an answer to the first request, before the load


class CannotExport(Exception):
    """Metrics cannot go where somebody wants them; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """`/metrics`, as a WSGI application; it answers to its own name alone, as every page of ours."""

    live: LiveRun
    hosts: Hosts

    def __call__(self, environ: Mapping[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request."""
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
        return "200 OK", prometheus_text(self.live.metrics())


class Exporters:
    """What carries out the exports of one process, whatever runs it makes."""

    def __init__(self, exports: Exports, live: LiveRun, say: Callable[[str], None]) -> None:
        self._exports, self._live, self._say = exports, live, say
        self._collector: Collector | None = None
        self._sending: gevent.Greenlet | None = None
        self._sent = self._lost = 0
        self._last: str | None = None  # why some were not taken
        self._gone = False  # whether those that were sent last are among them

    def start(self) -> None:
        """Listen, and see that the collector takes something. Raises `CannotExport`."""
        if self._exports.port is not None:
            self._listen(self._exports.port)
        if self._exports.collector is not None:
            self._try(self._exports.collector)

    def _listen(self, port: int) -> None:
        exports, page = self._exports, MetricsPage(self._live, Hosts(self._exports.names))
        server = WSGIServer((exports.host, port), page, log=None, error_log=None)
        try:
            server.start()
        except OSError as error:
            raise CannotExport(
                f"--prometheus-port {port}: cannot listen on {exports.host}:{port} "
                f"({error.strerror or error}): name another port, or end what has it"
            ) from error
        self._say(f"metrics for Prometheus: http://{exports.host}:{server.server_port}{PATH}")

    def _try(self, address: str) -> None:
        first = Collector(address, SCOPE, TRIED_S)
        try:
            first.send((), {}, began_s=time(), at_s=time())
        except NotSent as error:
            if self._exports.variable is None:
                raise CannotExport(f"--otlp: {error}; start it, or leave --otlp out") from error
            self._say(f"no metrics are sent, though {self._exports.variable} names a collector: {error}")
            return
        finally:
            first.close()
        self._collector = Collector(address, SCOPE)
        self._sending = gevent.spawn(self._follow)
        self._say(f"metrics are sent to {masked(address)} every {self._exports.every_s:g} s")

    def _follow(self) -> None:
        while True:
            gevent.sleep(self._exports.every_s)
            self.send()

    def send(self) -> None:
        """Send what is known now; where nobody takes it, that is noted."""
        subject = self._live.subject
        if self._collector is None or subject is None:
            return
        of = {
            "service.instance.id": subject.run_id, "keyheat.scenario": subject.scenario,
            "keyheat.table": subject.table["name"],
        }  # fmt: skip
        self._sent += 1
        try:
            self._collector.send(self._live.metrics(), of, began_s=subject.started_s, at_s=time())
            self._gone = False
        except NotSent as error:
            self._lost, self._last, self._gone = self._lost + 1, str(error), True

    def close(self) -> None:
        """Send what the last run came to, unless nobody took what came before; and say what was lost."""
        if self._collector is None:
            return
        if self._sending is not None:
            self._sending.kill()
        if not self._gone:
            self.send()
        self._collector.close()
        if self._lost:
            times = f"{self._lost} of {self._sent} times"
            self._say(f"metrics were not taken {times}, and the load went on: {self._last}")
