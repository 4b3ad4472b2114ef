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
"""Domains of AWS services in each partition, over IPv4 and dual-stack, from botocore's `partitions.json`.
https://docs.aws.amazon.com/general/latest/gr/rande.html"""
OPEN_MINUTE: Final = "X-Keyheat-Open-Minute"
"""Request header: let the CloudWatch of our endpoint include the current minute."""
CLOCK: Final = "X-Keyheat-Clock"
"""Response header of our endpoint: its time in epoch seconds, which tests and trials move."""
SCALE: Final = "X-Keyheat-Scale"
"""Response header of our endpoint: the factor of every rate limit."""
DYNAMODB: Final = re.compile(r"(?:[a-z0-9-]+\.)?dynamodb(?:-fips)?\.([a-z0-9-]+)(?:\.vpce)?(\..+)")
"""DynamoDB's hosts, including interface endpoints: https://docs.aws.amazon.com/general/latest/gr/ddb.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/privatelink-interface-endpoints.html"""
OF_ACCOUNT: Final = re.compile(r"\d{12}\.ddb\.([a-z0-9-]+)(\..+)")
"""Hosts of one account: https://docs.aws.amazon.com/sdkref/latest/guide/feature-account-endpoints.html"""
PLAIN_URL: Final = re.compile(r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?/?", re.IGNORECASE)
"""A URL in which every parser sees the same host."""
SHOWN_LETTERS: Final = 200  # of a URL from a file

Resolve = Callable[[str], Iterable[str]]
"""Resolve a name to its addresses."""


def addresses_of(host: str) -> set[str]:
    try:
        return {str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return set()


def on_this_machine(host: str, resolve: Resolve = addresses_of) -> bool:
    """Whether a host is loopback, where nothing costs anything and no credentials are needed.

    Names are resolved: a resolver may give any address for `NAME.localhost`.
    """
    if host == "localhost" or host.endswith(".localhost"):
        addresses = list(resolve(host))
        return bool(addresses) and all(map(is_loopback, addresses))
    return is_loopback(host)


def is_loopback(address: str) -> bool:
    """Whether a text is a loopback address; a name is not."""
    return is_address(address) and ipaddress.ip_address(address).is_loopback


def is_address(name: str) -> bool:
    """Whether a text is an IP address, not a name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def known_host(url: str, resolve: Resolve = addresses_of) -> bool:
    """Whether a URL from a file is safe to call: DynamoDB in AWS over TLS, or this machine.

    Of local names only `localhost` counts: a DNS server decides what others resolve to.
    """
    if not PLAIN_URL.fullmatch(url):
        return False
    parts = urlsplit(url)
    host = parts.hostname or ""
    here = is_loopback(host) or (host == "localhost" and on_this_machine(host, resolve))
    return here or (parts.scheme == "https" and in_aws(host))


class UnknownEndpoint(ValueError):
    """A file names an endpoint that the command line does not; the message is for the user."""

    def __init__(self, file: str, url: str, option: str) -> None:
        super().__init__(
            f"{file} names the endpoint {url[:SHOWN_LETTERS]!r}, which is neither DynamoDB in AWS nor on "
            "this machine, and requests there are signed with your keys: if you know it, "
            f"say {option} and its URL"
        )
        self.url = url


def endpoint_of(named: str | None, given: str | None, *, file: str, option: str) -> str | None:
    """The endpoint to use: the given one, else the one in a file. Raises `UnknownEndpoint`."""
    if given is None and named is not None and not known_host(named):
        raise UnknownEndpoint(file, named, option)
    return given or named


def in_aws(host: str) -> bool:
    """Whether a host is DynamoDB in AWS, where each service has its own address.

    A rented machine in AWS has a similar name, and may serve anything.
    """
    return region_of(host) is not None


def region_of(host: str) -> str | None:
    """The Region of a DynamoDB host in AWS; None for any other host."""
    match = DYNAMODB.fullmatch(host) or OF_ACCOUNT.fullmatch(host)
    return match[1] if match and match[2] in OF_AWS else None


def without_account(host: str) -> str:
    """The Region's host for a host that names the account; the service is the same."""
    match = OF_ACCOUNT.fullmatch(host)
    return f"dynamodb.{match[1]}{match[2]}" if match and in_aws(host) else host


Asked = Callable[[str], str | None]
"""Get a header of the request by name; None without it."""
HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^][:/?#@\s]+))(?::[0-9]*)?")
"""A name or address (IPv6 in brackets), and a port: https://www.rfc-editor.org/rfc/rfc3986#section-3.2"""
SANDBOX: Final = "sandbox allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"
"""Policy of a page served from a file: it works as usual but cannot read or change anything else on the
server, even with injected content.
https://www.w3.org/TR/CSP3/#directive-sandbox"""


def hostname_of(header: str) -> str:
    """Parse the name or address of a `Host` header, without its port; empty if invalid."""
    match = HOST.fullmatch(header)
    return (match[1] or match[2]).lower().rstrip(".") if match else ""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names that a server answers to.

    Otherwise a foreign name that resolves to this machine (DNS rebinding) gets the rights of the server's own
    pages. An address cannot be rebound.
    """

    names: frozenset[str] = frozenset()

    def answers(self, header: Asked, *, links: bool = True) -> bool:
        """Whether a request uses one of the server's names and comes from no other site's page.

        `links`: whether a link on another site may lead here.
        """
        host, origin = header("Host") or "", header("Origin")
        # Behind a proxy, the browser and the proxy may use different names of the server.
        ours = {host.lower(), *map(str.lower, self.names)} - {""}
        if not self.is_known(host) or (origin is not None and origin.lower().partition("://")[2] not in ours):
            return False
        elsewhere = header("Sec-Fetch-Site") in ("cross-site", "same-site")
        return not elsewhere or (links and header("Sec-Fetch-Mode") == "navigate")

    def is_known(self, host: str) -> bool:
        """Whether a `Host` header has one of these names, this machine's, or an address."""
        name = hostname_of(host)
        return name == "localhost" or is_address(name) or name in map(str.lower, self.names)
