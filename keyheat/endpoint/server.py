"""The endpoint as a server: who may ask, the API that each request is for, housekeeping, a clean end.

A web page can call this machine by a name of its own that resolves to it (DNS rebinding), and then read
answers and set any header. As another site it cannot read, but some requests are sent unasked: forms, images,
and `fetch` without headers of its own.
https://developer.mozilla.org/docs/Web/HTTP/Guides/CORS#simple_requests
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

import orjson

from keyheat.addresses import Hosts, hostname_of
from keyheat.endpoint.cloudwatch import TARGET as CLOUDWATCH
from keyheat.endpoint.cloudwatch import CloudWatch
from keyheat.endpoint.dynamodb import CONTROL, DATA, DynamoDB, operations
from keyheat.endpoint.errors import CORAL, ServiceError, internal_error
from keyheat.endpoint.http import Connection, Connections, Delivery, Headers, response
from keyheat.endpoint.options import ClientBounds
from keyheat.endpoint.pages import Pages
from keyheat.endpoint.service import Handler, Regions, ServiceClock

SWEEP_S = 1.0
BACKLOG = 1024
QUIET_SWEEPS = 3
YOUNG, OLDEST = 0, 2  # the collector's generations
LOG = logging.getLogger(__name__)
KEPT = 64
"""Hosts that are remembered, and refusals that are logged: more of them come from an attacker."""
SHOWN_CHARACTERS = 100


@dataclass(slots=True)
class Guard:
    """Refuses such requests.

    `allowed` are Hosts that passed, so that the router checks only others, and browsers. Browsers always send
    a Host; a health check may not.
    """

    hosts: Hosts
    allowed: set[bytes | None] = field(default_factory=lambda: {None})
    _logged: set[str] = field(default_factory=set)

    def refusal(self, headers: Headers) -> bytes | None:
        """The whole response to a refused request; None for any other."""
        texts = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
        if self.hosts.answers(lambda name: texts.get(name.lower())):
            if len(self.allowed) < KEPT:
                self.allowed.add(headers.get(b"host"))
            return None
        host, origin = texts.get("host", ""), texts.get("origin", "it does not say which")
        name = _escape(hostname_of(host) or host)
        why = f"this endpoint is not called {name}; if it should be, start it with --allow-host and that name"
        if self.hosts.is_known(host):
            why = f"a web page of another site asked: {_escape(origin)}"
        if why not in self._logged and len(self._logged) < KEPT:
            self._logged.add(why)
            LOG.warning("refused: %s", why)
        body = ServiceError("AccessDeniedException", why, prefix=CORAL, status=403).body()
        return response(403, orjson.dumps(body), content_type=b"application/x-amz-json-1.0")


def _escape(text: str) -> str:
    """Client text escaped for a terminal."""
    return ascii(text[:SHOWN_CHARACTERS])


class Router:
    """Answers every request of one endpoint: DynamoDB, CloudWatch, and the pages about itself.

    `hosts`: the names by which it may be called besides this machine's own. `clock`: the services', where its
    time may be moved on.
    """

    def __init__(
        self,
        regions: Regions,
        control: Mapping[str, Handler] = CONTROL,
        data: Mapping[str, Handler] = DATA,
        *,
        hosts: Hosts | None = None,
        clock: ServiceClock | None = None,
    ) -> None:
        self.dynamodb = DynamoDB(regions, operations(control, data))
        self.cloudwatch = CloudWatch(regions, self.dynamodb.ids)
        self.pages = Pages(regions, clock)
        self.guard = Guard(hosts or Hosts())

    def answer(
        self, method: bytes, url: bytes, headers: Headers, body: bytes, connection: int | None = None
    ) -> bytes | Delivery:
        """The whole response to any request, which came on a connection of that number; never raises."""
        host = headers.get(b"host")
        if host not in self.guard.allowed or b"origin" in headers or b"sec-fetch-site" in headers:
            refusal = self.guard.refusal(headers)
            if refusal is not None:
                return refusal
        target = headers.get(b"x-amz-target")
        api: Pages | DynamoDB | CloudWatch = self.pages if target is None else self.dynamodb
        if target is not None and target.startswith(CLOUDWATCH):
            api = self.cloudwatch
        try:
            response = api.answer(method, url, headers, body, connection)
        except Exception:
            LOG.exception("%s %s failed inside the endpoint", method, url)
            return self.dynamodb.failed(internal_error())
        if response is None:
            return self.dynamodb.unknown("No X-Amz-Target header: not a request of DynamoDB or CloudWatch")
        return response


@dataclass(slots=True)
class Housekeeping:
    """Collects garbage between requests, since a collection inside one would look like service latency.

    Requests leave next to no cycles behind, so the automatic collector, which would walk a million stored
    items, is off. Once a second the young objects alone are looked at; a full collection waits until the
    endpoint has been quiet for some seconds.
    """

    collect: Callable[[int], object] = gc.collect
    quiet: int = 0
    due: bool = False
    answered: int = 0

    def start(self) -> None:
        """Set what was made at start-up apart, never to be looked at again."""
        gc.collect()
        gc.freeze()
        gc.disable()

    def sweep(self, answered: int) -> None:
        """Collect garbage once a second; `answered` requests in all so far."""
        if answered != self.answered:
            self.answered, self.quiet, self.due = answered, 0, True
            self.collect(YOUNG)
            return
        self.quiet += 1
        if self.due and self.quiet >= QUIET_SWEEPS:
            self.collect(OLDEST)
            self.due = False


@dataclass(slots=True)
class Server:
    router: Router
    bounds: ClientBounds = field(default_factory=ClientBounds)
    housekeeping: Housekeeping | None = None
    connections: Connections = field(init=False)
    _listening: asyncio.Server | None = None
    _timer: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self.connections = Connections(self.router.answer, self.bounds)

    async def start(self, host: str, port: int) -> int:
        """Listen, and give the port, which was free to choose where 0 was asked. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(
            partial(Connection, self.connections), host, port, backlog=BACKLOG
        )
        self._timer = loop.call_later(SWEEP_S, self._sweep)
        return int(self._listening.sockets[0].getsockname()[1])

    async def stop(self, grace_s: float = 3.0) -> None:
        """Stop accepting; let requests that have begun end, for `grace_s` at most; hang up."""
        if self._listening is not None:
            self._listening.close()
        if self._timer is not None:
            self._timer.cancel()
        ends_s = perf_counter() + grace_s
        while not self.connections.close_idle() and perf_counter() < ends_s:
            await asyncio.sleep(0.01)
        for connection in list(self.connections.open):
            connection.abort()

    def _sweep(self) -> None:
        self.connections.sweep()
        if self.housekeeping is not None:
            self.housekeeping.sweep(self.connections.answered)
        self._timer = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)
