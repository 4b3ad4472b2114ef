"""Route each request: refuse web pages of other sites, then call the API that it is for.

A page can call this machine by a name of its own that resolves to it (DNS rebinding), and then read answers
and set any header. As another site it cannot read, but some requests are sent unasked: of such a kind are
forms, images, and `fetch` without headers of its own.
https://developer.mozilla.org/docs/Web/HTTP/Guides/CORS#simple_requests
"""

import logging
from dataclasses import dataclass, field

import orjson

from keyheat.addresses import Hosts, hostname_of
from keyheat.endpoint.cloudwatch import TARGET as CLOUDWATCH
from keyheat.endpoint.cloudwatch import CloudWatch
from keyheat.endpoint.delivery import Delivery
from keyheat.endpoint.dynamodb import DynamoDB
from keyheat.endpoint.errors import CORAL, ServiceError, internal_error
from keyheat.endpoint.http import Headers, response
from keyheat.endpoint.pages import Pages

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

    hosts: Hosts = field(default_factory=Hosts)
    allowed: set[bytes | None] = field(default_factory=lambda: {None})
    _logged: set[str] = field(default_factory=set)

    def refusal(self, headers: Headers) -> bytes | None:
        """The whole response to a refused request; None for any other."""
        if not self.hosts.answers(lambda name: _text(headers.get(name.lower().encode()))):
            return self._refused(headers)
        if len(self.allowed) < KEPT:
            self.allowed.add(headers.get(b"host"))
        return None

    def _refused(self, headers: Headers) -> bytes:
        why = self._why(_text(headers.get(b"host")) or "", _text(headers.get(b"origin")))
        if why not in self._logged and len(self._logged) < KEPT:
            self._logged.add(why)
            LOG.warning("refused: %s", why)
        body = ServiceError("AccessDeniedException", why, prefix=CORAL, status=403).body()
        return response(403, orjson.dumps(body), content_type=b"application/x-amz-json-1.0")

    def _why(self, host: str, origin: str | None) -> str:
        if self.hosts.is_known(host):
            return f"a web page of another site asked: {_escape(origin or 'it does not say which')}"
        name = _escape(hostname_of(host) or host)
        return (
            f"this endpoint is not called {name}; if it should be, start it with --allow-host and that name"
        )


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def _escape(text: str) -> str:
    """Client text escaped for a terminal."""
    return ascii(text[:SHOWN_CHARACTERS])


@dataclass(slots=True, kw_only=True)
class Router:
    """Answers every request. DynamoDB's data operations come first and cost one look-up."""

    dynamodb: DynamoDB
    cloudwatch: CloudWatch
    pages: Pages
    guard: Guard = field(default_factory=Guard)

    def answer(
        self, method: bytes, url: bytes, headers: Headers, body: bytes, connection: int | None = None
    ) -> bytes | Delivery:
        """The whole response to any request, which came on a connection of that number; never raises."""
        if (
            headers.get(b"host") not in self.guard.allowed
            or b"origin" in headers
            or b"sec-fetch-site" in headers
        ):
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
