"""Which requests Locust's page obeys: those of the page itself, and those of a program with its token.

A page of any site that is open in the same browser can send requests here, too, and start a load that costs
money. What it cannot do is hide where it comes from (`Origin`, `Sec-Fetch-Site`), call this server by a name
that is its own, or have the cookie sent along that Locust's page gets. https://fetch.spec.whatwg.org/#origin-header
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from hmac import compare_digest
from secrets import token_urlsafe
from socket import gethostname
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Request, Response, request

from keyheat.addresses import Hosts, on_this_machine
from keyheat.load.run.plan import LoadPlan

HEADER: Final = "X-Keyheat-Token"
READS: Final = ("GET", "HEAD", "OPTIONS")
CHANGES: Final = tuple(f"locust.{view}" for view in ("swarm", "stop", "reset_stats", "update_user"))
"""Locust's views that change something; some of them answered a GET once."""
TOLD: Final = 20  # callers that are named on the terminal
FOREIGN: Final = "keyheat: this page is for its own name and its own requests alone (--allow-host NAME)\n"
NO_TOKEN: Final = f"keyheat: this run costs money: reload its page, or send its token ({HEADER})\n"


@dataclass(slots=True)
class Callers:
    """Those who ask for something of one process's page. `token`: what changes need; None: nothing costs."""

    hosts: Hosts
    token: str | None
    cookie: str
    say: Callable[[str], None]
    _told: set[str] = field(default_factory=set)

    def refusal(self, call: Request) -> str | None:
        """Why a request is not answered; None if it is. The terminal says it once for each caller."""
        changes = call.method not in READS or call.endpoint in CHANGES
        if not self.hosts.answers(call.headers.get, links=not changes):
            self._tell(call, call.headers.get("Origin") or call.headers.get("Host") or "an unknown host", "")
            return FOREIGN
        if changes and self.token is not None and not self._knows(call, self.token):
            self._tell(call, call.headers.get("Host") or "an unknown host", " without its token")
            return NO_TOKEN
        return None

    def welcome(self, call: Request, answer: Response, path: str) -> None:
        """Give a page its token, which no script reads and no other site's page sends."""
        if self.token is None or answer.mimetype != "text/html" or answer.status_code != 200:
            return
        if call.cookies.get(self.cookie) != self.token:
            answer.set_cookie(
                self.cookie, self.token, path=path, httponly=True, samesite="Strict", secure=call.is_secure
            )

    def _knows(self, call: Request, token: str) -> bool:
        sent = call.headers.get(HEADER) or call.cookies.get(self.cookie) or ""
        return compare_digest(sent.encode(), token.encode())

    def _tell(self, call: Request, who: str, how: str) -> None:
        caller = f"{who[:100]!a}{how}"
        if caller in self._told or len(self._told) >= TOLD:
            return
        self._told.add(caller)
        what = f"{call.method} {call.path}"[:100]
        self.say(f"refused: {what!a} from {caller}; said once")


def callers_of(plan: LoadPlan, options: Any, say: Callable[[str], None]) -> Callers:
    """Those whom the page of a plan has to tell apart, by what the command line says of it."""
    display_name = urlsplit(options.web_host_display_name or "").hostname
    names = {options.web_host, display_name, gethostname(), *options.allow_host} - {"", "*", None}
    return Callers(
        hosts=Hosts(frozenset(names)),
        token=None if plan.free else token_urlsafe(24),
        cookie=f"keyheat-{options.web_port}",  # a browser gives cookies to all ports of a host
        say=say,
    )


def keep_out(callers: Callers, web_ui: Any) -> None:
    """Have Locust's page refuse all other callers; call this before it listens."""
    options = web_ui.environment.parsed_options
    path = f"{options.web_base_path or ''}/"
    if callers.token is not None:
        _announce(callers, web_ui, path)

    @web_ui.app.before_request  # type: ignore[untyped-decorator]
    def refuse() -> Response | None:
        why = callers.refusal(request)
        return None if why is None else Response(why, 403, mimetype="text/plain")

    @web_ui.app.after_request  # type: ignore[untyped-decorator]
    def welcome(answer: Response) -> Response:
        callers.welcome(request, answer, path)
        answer.headers["X-Frame-Options"] = "DENY"  # nor is anybody made to press its buttons unseen
        return answer


def _announce(callers: Callers, web_ui: Any, path: str) -> None:
    """Say where the page of a load that costs money is, who reaches it, and what a program needs."""
    if on_this_machine(web_ui.host):
        scheme = "https" if web_ui.tls_cert and web_ui.tls_key else "http"
        callers.say(
            f"this run costs money, so its page is on this machine alone: {scheme}://{web_ui.host}:{web_ui.port}"
            f"{path} (--web-host ADDRESS lets others in)"
        )
    elif not web_ui.web_login:
        callers.say(
            f"anyone who reaches port {web_ui.port} of this machine can start loads that cost money; "
            "add --web-login to ask for a login"
        )
    callers.say(f"a program that starts and stops loads there sends the header {HEADER}: {callers.token}")
