"""Route each request: refuse web pages of other sites, then call the API that it is for.

A web page can call this machine by a name of its own that resolves to it (DNS rebinding), and then read
answers and set any header. As another site it cannot read, but some requests are sent unasked: forms, images,
and `fetch` without headers of its own.
https://developer.mozilla.org/docs/Web/HTTP/Guides/CORS#simple_requests
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from keyheat.addresses import Hosts, hostname_of
from keyheat.endpoint.cloudwatch import TARGET as CLOUDWATCH
from keyheat.endpoint.cloudwatch import CloudWatch
from keyheat.endpoint.dynamodb import CONTROL, DATA, DynamoDB, operations
from keyheat.endpoint.errors import CORAL, ServiceError, internal_error
from keyheat.endpoint.http import Delivery, Headers, response
from keyheat.endpoint.pages import Pages
from keyheat.endpoint.service import Handler, Regions, ServiceClock

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
