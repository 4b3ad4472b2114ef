"""Who is answered, and by which API.

A page can call this machine by a name of its own that resolves to it (DNS rebinding), and then read answers
and set any header. As another site it cannot read, but some requests are sent unasked: of such a kind are
forms, images, and `fetch` without headers of its own.
https://developer.mozilla.org/docs/Web/HTTP/Guides/CORS#simple_requests
"""

import logging
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from keyheat.addresses import Hosts, hostname_of
from keyheat.endpoint.dynamodb import Operation, internal_error, unknown_operation
from keyheat.endpoint.errors import CORAL, ServiceError
from keyheat.endpoint.http import Headers, response
from keyheat.endpoint.regions import Regions

LOG = logging.getLogger(__name__)
KEPT = 64
"""Hosts that are known, and refusals that are said: more of them come from nobody who means well."""
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
    """What somebody else chose, fit for a terminal."""
    return ascii(text[:SHOWN_CHARACTERS])


class PageApi(Protocol):
    """Something else that answers requests, where it finds that they are meant for it."""

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The whole response, or None: not meant for it."""


@dataclass(slots=True, kw_only=True)
class Router:
    """Answers every request. DynamoDB's data operations come first and cost one look-up."""

    operations: dict[bytes, Operation]
    regions: Regions
    pages: tuple[PageApi, ...]
    guard: Guard = field(default_factory=Guard)

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes:
        """The whole response to any request; never raises."""
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
                dynamodb = self.regions.signed_for(headers).dynamodb
            except ServiceError as error:
                self.regions.asked[operation.name] += 1
                return self._refused(error)
            return dynamodb.answer(operation, body)
        try:
            for page in self.pages:
                raw = page.answer(method, url, headers, body)
                if raw is not None:
                    return raw
        except Exception:
            LOG.exception("%s %s failed inside the endpoint", method, url)
            return self._refused(internal_error())
        return self._unknown(method, url, headers)

    def _unknown(self, method: bytes, url: bytes, headers: Headers) -> bytes:
        if method == b"GET" and url == b"/":
            return response(200, b"healthy: keyheat\n", content_type=b"text/plain")
        target = headers.get(b"x-amz-target", b"").decode("latin-1")
        if not target:
            message = "No X-Amz-Target header: not a request of DynamoDB or CloudWatch"
        else:
            message = f"The local endpoint has no operation {target}"
        if target.startswith("DynamoDB"):
            return self._refused(unknown_operation(message))
        return self.regions.at_home.dynamodb.failed(unknown_operation(message))  # of another service

    def _refused(self, error: ServiceError) -> bytes:
        """The answer to a request that is for no Region."""
        return self.regions.at_home.dynamodb.refused(error)
