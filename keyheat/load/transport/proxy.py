"""The proxy that the environment names for a target, as botocore finds it: both transports go the same way.

Nothing on this machine is asked through a proxy. A target with TLS is reached through a tunnel (CONNECT), so
that the proxy sees no request; one without is asked for by its whole URL.
"""

from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from botocore.utils import get_environ_proxies

from keyheat.load.transport.target import Target, TargetError


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and how it is spoken to."""

    scheme: str
    host: str
    port: int
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """Its URL, without what somebody logs in with."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def request_line(self, target: Target) -> str:
        """How a request for a target without TLS begins: its whole URL, and who asks."""
        line = f"POST {target.url}/ HTTP/1.1"
        if self.user is None:
            return line
        login = b64encode(f"{self.user}:{self.password or ''}".encode()).decode()
        return f"{line}\r\nProxy-Authorization: Basic {login}"


def proxy_of(target: Target) -> Proxy | None:
    """The proxy between here and the target; None: there is none. Raises `TargetError`."""
    scheme = "https" if target.tls else "http"
    url = None if target.local else get_environ_proxies(target.url).get(scheme)
    return _proxy_at(url, scheme) if url else None


def _proxy_at(url: str, scheme: str) -> Proxy:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host:
        named = f"{scheme.upper()}_PROXY"
        raise TargetError(f"{named} is not the URL of a proxy such as http://proxy.example:3128")
    user, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
    return Proxy(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), user, password)


def plain_proxy_of(target: Target) -> Proxy | None:
    """The proxy, where the transport that speaks to it knows plain HTTP alone. Raises `TargetError`."""
    proxy = proxy_of(target)
    if proxy is not None and proxy.scheme != "http":
        raise TargetError(
            f"the proxy {proxy.shown} is spoken to by {proxy.scheme}, which only --transport boto3 can; "
            "name one by http, or the target's host in NO_PROXY"
        )
    return proxy


def proxy_in_words(target: Target) -> str | None:
    """What the plan says of it; None: requests go straight to the target."""
    proxy = proxy_of(target)
    if proxy is None:
        return None
    return f"requests to {target.host} go through the proxy {proxy.shown}, and their latency is of both"
