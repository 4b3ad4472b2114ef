"""Who is not answered: a web page of somebody else's, in a browser of somebody who has the endpoint running.

A page can call this machine by a name of its own that resolves to it (DNS rebinding), and then read answers
and set any header. As another site it cannot read, but some requests are sent unasked: of such a kind are
forms, images, and `fetch` without headers of its own.
https://developer.mozilla.org/docs/Web/HTTP/Guides/CORS#simple_requests
"""

import logging
from dataclasses import dataclass, field

import orjson

from keyheat.endpoint.errors import CORAL, ServiceError
from keyheat.endpoint.wire.http import Headers
from keyheat.endpoint.wire.responses import response
from keyheat.hosts import Hosts, hostname_of

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
