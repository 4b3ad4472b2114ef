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
from keyheat.endpoint.cloudwatch.api import TARGET as CLOUDWATCH
from keyheat.endpoint.cloudwatch.api import answer as cloudwatch
from keyheat.endpoint.delivery import Delivery
from keyheat.endpoint.dynamodb import Operation, unknown_operation
from keyheat.endpoint.errors import CORAL, ServiceError, internal_error
from keyheat.endpoint.http import Headers, response
from keyheat.endpoint.pages import PREFIX, Pages
from keyheat.endpoint.regions import Regions

LOG = logging.getLogger(__name__)
KEPT = 64
"""Hosts that are remembered, and refusals that are logged: more of them come from an attacker."""
SHOWN_CHARACTERS = 100


@dataclass(slots=True)
class Guard:
    """Turns such requests away.

    `known` are Hosts that were let through, so that the router asks only about others, and about browsers.
    Browsers always send one; a check of health may not.
    """

    hosts: Hosts = field(default_factory=Hosts)
    known: set[bytes | None] = field(default_factory=lambda: {None})
    _said: set[str] = field(default_factory=set)

    def refusal(self, headers: Headers) -> bytes | None:
        """The whole response to a request that is turned away; None for any other."""
        if not self.hosts.answers(lambda name: _text(headers.get(name.lower().encode()))):
            return self._refused(headers)
        if len(self.known) < KEPT:
            self.known.add(headers.get(b"host"))
        return None

    def _refused(self, headers: Headers) -> bytes:
        why = self._why(_text(headers.get(b"host")) or "", _text(headers.get(b"origin")))
        if why not in self._said and len(self._said) < KEPT:
            self._said.add(why)
            LOG.warning("refused: %s", why)
        body = ServiceError("AccessDeniedException", why, prefix=CORAL, status=403).body()
        return response(403, orjson.dumps(body), content_type=b"application/x-amz-json-1.0")

    def _why(self, host: str, origin: str | None) -> str:
        if self.hosts.known(host):
            return f"a web page of another site asked: {_shown(origin or 'it does not say which')}"
        name = _shown(hostname_of(host) or host)
        return (
            f"this endpoint is not called {name}; if it should be, start it with --allow-host and that name"
        )


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def _shown(text: str) -> str:
    """Text of a client, fit for a terminal."""
    return ascii(text[:SHOWN_CHARACTERS])


@dataclass(slots=True, kw_only=True)
class Router:
    """Answers every request. DynamoDB's data operations come first and cost one look-up."""

    operations: dict[bytes, Operation]
    regions: Regions
    pages: Pages
    guard: Guard = field(default_factory=Guard)

    def answer(
        self, method: bytes, url: bytes, headers: Headers, body: bytes, connection: int | None = None
    ) -> bytes | Delivery:
        """The whole response to any request, which came on a connection of that number; never raises."""
        if (
            headers.get(b"host") not in self.guard.known
            or b"origin" in headers
            or b"sec-fetch-site" in headers
        ):
            refusal = self.guard.refusal(headers)
            if refusal is not None:
                return refusal
        operation = self.operations.get(headers.get(b"x-amz-target", b""))
        if operation is not None and method == b"POST":
            try:
                dynamodb = self.regions.signed_for(headers)
            except ServiceError as error:
                self.regions.asked[operation.name] += 1
                return self.regions.at_home.refused(error)
            exchange = dynamodb.service.caller
            exchange.connection = connection
            return exchange.answered(dynamodb.answer(operation, body))
        try:
            return self._others(method, url, headers, body)
        except Exception:
            LOG.exception("%s %s failed inside the endpoint", method, url)
            return self.regions.at_home.refused(internal_error())

    def _others(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes:
        """The answer of CloudWatch or of a page."""
        target = headers.get(b"x-amz-target", b"").decode("latin-1")
        if target.startswith(CLOUDWATCH):
            name, request_id = target.removeprefix(CLOUDWATCH), next(self.regions.ids)
            return cloudwatch(
                lambda: self.regions.signed_for(headers).metrics, name, headers, body, request_id
            )
        if url.startswith(PREFIX):
            return self.pages.answer(method, url, headers, body)
        if method == b"GET" and url == b"/":
            return response(200, b"healthy: keyheat\n", content_type=b"text/plain")
        if not target:
            message = "No X-Amz-Target header: not a request of DynamoDB or CloudWatch"
        else:
            message = f"The local endpoint has no operation {target}"
        of_dynamodb = not target or target.startswith("DynamoDB")
        home, error = self.regions.at_home, unknown_operation(message)
        return home.refused(error) if of_dynamodb else home.failed(error)
