"""Whom a server answers: this machine's own browser, and no page of somebody else's in it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from keyheat.addresses import is_address

Asked = Callable[[str], str | None]
"""A header of the request by its name; None where it has none."""
HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^][:/?#@\s]+))(?::[0-9]*)?")
"""A name, an address, or one of IPv6 in brackets, and a port: https://www.rfc-editor.org/rfc/rfc3986#section-3.2"""
SANDBOX: Final = "sandbox allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"
"""The policy of a page that a file holds: it works as always, and is a stranger to the server that gives it,
so that what somebody wrote into the file can read nothing else there, and change nothing.
https://www.w3.org/TR/CSP3/#directive-sandbox"""


def hostname_of(header: str) -> str:
    """The name or address in a `Host` header, without its port; empty where there is none."""
    found = HOST.fullmatch(header)
    return (found[1] or found[2]).lower().rstrip(".") if found else ""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names by which a server may be called.

    A name of somebody else's that resolves to this machine (DNS rebinding) would make the server's pages
    theirs in the eyes of the browser. An address cannot be rebound, and is let through.
    """

    names: frozenset[str] = frozenset()

    def answers(self, header: Asked, *, links: bool = True) -> bool:
        """Whether a request calls the server by its own name, and comes from no other site's page.

        `links`: whether a link on such a page may lead here.
        """
        if not self.known(header("Host") or "") or not self._from_ours(header):
            return False
        elsewhere = header("Sec-Fetch-Site") in ("cross-site", "same-site")
        return not elsewhere or (links and header("Sec-Fetch-Mode") == "navigate")

    def known(self, host: str) -> bool:
        """Whether a `Host` header has one of these names, this machine's own, or an address."""
        name = hostname_of(host)
        return name == "localhost" or is_address(name) or name in map(str.lower, self.names)

    def _from_ours(self, header: Asked) -> bool:
        """Whether the page that asks, if it is one that says so, is the server's own.

        A proxy may have called the server by another name than the browser called the proxy.
        """
        origin = header("Origin")
        if origin is None:
            return True
        own = {(header("Host") or "").lower(), *map(str.lower, self.names)}
        return origin.lower().partition("://")[2] in own - {""}
