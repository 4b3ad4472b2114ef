"""Classify host names as loopback, AWS or other; check Host and Origin headers."""

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

OF_AWS: Final = (
    *(".amazonaws.com", ".api.aws"),
    *(".amazonaws.com.cn", ".api.amazonwebservices.com.cn"),
    *(".amazonaws.eu", ".api.amazonwebservices.eu"),
    *(".c2s.ic.gov", ".api.aws.ic.gov"),
    *(".sc2s.sgov.gov", ".api.aws.scloud"),
    *(".cloud.adc-e.uk", ".api.cloud-aws.adc-e.uk"),
    *(".csp.hci.ic.gov", ".api.aws.hci.ic.gov"),
)
"""Where the services of AWS are, in each of its partitions, over IPv4 alone and over both: as botocore's
`partitions.json` has them. https://docs.aws.amazon.com/general/latest/gr/rande.html"""
OPEN_MINUTE: Final = "X-Keyheat-Open-Minute"
"""The header by which our endpoint's CloudWatch is asked for the minute that goes on, as far as it is."""
CLOCK: Final = "X-Keyheat-Clock"
"""The header by which our endpoint says its time, in epoch seconds: tests and trials move it."""
SCALE: Final = "X-Keyheat-Scale"
"""The header by which our endpoint says by how much it multiplies every rate limit."""
DYNAMODB: Final = re.compile(r"(?:[a-z0-9-]+\.)?dynamodb(?:-fips)?\.([a-z0-9-]+)(?:\.vpce)?(\..+)")
"""DynamoDB's hosts, those of interface endpoints as well: https://docs.aws.amazon.com/general/latest/gr/ddb.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/privatelink-interface-endpoints.html"""
OF_ACCOUNT: Final = re.compile(r"\d{12}\.ddb\.([a-z0-9-]+)(\..+)")
"""Hosts of one account: https://docs.aws.amazon.com/sdkref/latest/guide/feature-account-endpoints.html"""
PLAIN_URL: Final = re.compile(r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?/?", re.IGNORECASE)
"""An endpoint's URL that every reader of URLs takes for the same host."""
SHOWN_LETTERS: Final = 200  # of a URL from a file

Resolve = Callable[[str], Iterable[str]]
"""Gives the addresses of a name; none where it has none."""


def addresses_of(host: str) -> set[str]:
    """What a name resolves to now."""
    try:
        return {str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return set()


def on_this_machine(host: str, resolve: Resolve = addresses_of) -> bool:
    """Whether it is loopback: nothing there costs anything, and no credentials are needed.

    A name is what it resolves to: the resolver of `NAME.localhost` may give any address.
    """
    if host == "localhost" or host.endswith(".localhost"):
        addresses = list(resolve(host))
        return bool(addresses) and all(map(is_loopback, addresses))
    return is_loopback(host)


def is_loopback(address: str) -> bool:
    """Whether it is a loopback address; a name is not."""
    return is_address(address) and ipaddress.ip_address(address).is_loopback


def is_address(name: str) -> bool:
    """Whether it is an IP address rather than a name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def known_host(url: str, resolve: Resolve = addresses_of) -> bool:
    """Whether requests may go there because a file says so: DynamoDB in AWS over TLS, or this machine.

    Of the names of this machine only its own counts: others resolve to what a DNS server answers.
    """
    if not PLAIN_URL.fullmatch(url):
        return False
    parts = urlsplit(url)
    host = parts.hostname or ""
    here = is_loopback(host) or (host == "localhost" and on_this_machine(host, resolve))
    return here or (parts.scheme == "https" and in_aws(host))


class UnknownEndpoint(ValueError):
    """A file names an endpoint that the command line does not; the message is for the user of that file."""

    def __init__(self, file: str, url: str, option: str) -> None:
        quoted = repr(url[:SHOWN_LETTERS])
        super().__init__(
            f"{file} names the endpoint {quoted}, which is neither DynamoDB in AWS nor on this machine, and "
            f"requests there are signed with your keys: if you know it, say {option} and its URL"
        )
        self.url = url


def endpoint_of(named: str | None, given: str | None, *, file: str, option: str) -> str | None:
    """The endpoint to use: the given one, else the one in a file. Raises `UnknownEndpoint`."""
    if given is None and named is not None and not known_host(named):
        raise UnknownEndpoint(file, named, option)
    return given or named


def in_aws(host: str) -> bool:
    """Whether it is DynamoDB in AWS itself, where each service has an address of its own.

    A rented machine there has such a name, too, and may serve anything.
    """
    return region_of(host) is not None


def region_of(host: str) -> str | None:
    """The Region that a host of DynamoDB in AWS is of; None for any other host."""
    match = DYNAMODB.fullmatch(host) or OF_ACCOUNT.fullmatch(host)
    return match[1] if match and match[2] in OF_AWS else None


def without_account(host: str) -> str:
    """The Region's own host in place of one that names the account; the service is the same."""
    match = OF_ACCOUNT.fullmatch(host)
    return f"dynamodb.{match[1]}{match[2]}" if match and in_aws(host) else host


Asked = Callable[[str], str | None]
"""A header of the request by its name; None where it has none."""
HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^][:/?#@\s]+))(?::[0-9]*)?")
"""A name, an address, or one of IPv6 in brackets, and a port: https://www.rfc-editor.org/rfc/rfc3986#section-3.2"""
SANDBOX: Final = "sandbox allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"
"""The policy of a page that a file holds: it works as always, and is a stranger to the server that gives it,
so that injected content can read nothing else there, and change nothing.
https://www.w3.org/TR/CSP3/#directive-sandbox"""


def hostname_of(header: str) -> str:
    """The name or address in a `Host` header, without its port; empty if it has none."""
    match = HOST.fullmatch(header)
    return (match[1] or match[2]).lower().rstrip(".") if match else ""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names by which a server may be called.

    A foreign name that resolves to this machine (DNS rebinding) would make the server's pages
    theirs in the eyes of the browser. An address cannot be rebound, and is let through.
    """

    names: frozenset[str] = frozenset()

    def answers(self, header: Asked, *, links: bool = True) -> bool:
        """Whether a request calls the server by its own name, and comes from no other site's page.

        `links`: whether a link on such a page may lead here.
        """
        if not self.is_known(header("Host") or "") or not self._from_ours(header):
            return False
        elsewhere = header("Sec-Fetch-Site") in ("cross-site", "same-site")
        return not elsewhere or (links and header("Sec-Fetch-Mode") == "navigate")

    def is_known(self, host: str) -> bool:
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
        hosts = {(header("Host") or "").lower(), *map(str.lower, self.names)}
        return origin.lower().partition("://")[2] in hosts - {""}
