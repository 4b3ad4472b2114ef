"""Whom a server answers: this machine's own browser, and no page of somebody else's in it."""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

Asked = Callable[[str], str | None]
"""A header of the request by its name; None where it has none."""
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
SANDBOX: Final = "sandbox allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"
"""The policy of a page that a file holds: it works as always, and is a stranger to the server that gives it,
so that what somebody wrote into the file can read nothing else there, and change nothing.
https://www.w3.org/TR/CSP3/#directive-sandbox"""


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches an address."""
    return host in LOOPBACK or (_is_address(host) and ip_address(host).is_loopback)


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names by which the server may be called.

    A name of somebody else's that resolves to this machine (DNS rebinding) would make its pages ours in the
    eyes of the browser. An address cannot be rebound, and is let through.
    """

    names: frozenset[str]

    def answers(self, header: Asked, *, links: bool = True) -> bool:
        """Whether a request calls the server by its own name, and comes from no other site's page.

        `links`: whether a link on such a page may lead here.
        """
        if not self._ours(header("Host") or "") or not self._from_ours(header):
            return False
        elsewhere = header("Sec-Fetch-Site") in ("cross-site", "same-site")
        return not elsewhere or (links and header("Sec-Fetch-Mode") == "navigate")

    def _ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in map(str.lower, self.names) or name == "localhost" or _is_address(name)

    def _from_ours(self, header: Asked) -> bool:
        """Whether the page that asks, if it is one that says so, is the server's own.

        A proxy may have called the server by another name than the browser called the proxy.
        """
        origin = header("Origin")
        if origin is None:
            return True
        own = {(header("Host") or "").lower(), *map(str.lower, self.names)}
        return origin.lower().partition("://")[2] in own - {""}


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
