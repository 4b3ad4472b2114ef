"""The live page in Locust's web UI, and which requests Locust's page obeys.

A run is looked at each second where the counts are: on a master, which has what the workers sent, or in a
process alone. Nothing is counted for it: a look reads what the record has.

A page of any site that is open in the same browser can send requests here, too, and start a load that costs
money. What it cannot do is hide where it comes from (`Origin`, `Sec-Fetch-Site`), call this server by a name
that is its own, or have the cookie sent along that Locust's page gets. https://fetch.spec.whatwg.org/#origin-header
"""

from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import gevent
import orjson
from flask import Blueprint, Response, request, send_file, send_from_directory
from prometheus_client import Metric

from keyheat.addresses import SANDBOX, Hosts, on_this_machine
from keyheat.load.record.rows import ATTEMPTS, of_requests
from keyheat.load.run.load import Load
from keyheat.load.run.prometheus import load_metrics
from keyheat.load.run.view import LiveView, Sentence
from keyheat.load.run.workers import Gatherer, short_name
from keyheat.masking import masked
from keyheat.runfiles import REPORT

if TYPE_CHECKING:
    from keyheat.load.run.run import LoadRun

LOOK_S: Final = 1.0
JUDGED_AFTER_S: Final = 10.0  # a start is no time to say that the generator cannot keep up


class Live:
    """The run that is going on, or the last one: one look at it each second, for the page and for metrics."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._shown: tuple[LoadRun, LiveView] | None = None
        self._stopped_s: float | None = None
        self._folder: Path | None = None
        self._looking: gevent.Greenlet | None = None
        self._refusal: Sentence | None = None
        nothing = Sentence("No run yet. Start one on Locust's page.", "idle")
        self._content: dict[str, Any] = {"state": "none", "sentence": nothing._asdict()}

    def begin(self, run: "LoadRun") -> None:
        unit = run.plan.scenario.load.target_unit
        view = LiveView(run.record, run.folder.manifest, run.started_s, run.duration_s, unit)
        self._shown, self._stopped_s, self._refusal, self._folder = (run, view), None, None, run.path
        self._look()
        self._looking = gevent.spawn(self._follow)

    def refuse(self, why: str) -> None:
        """A run did not begin: say why, above what there was before it, until one begins or ends."""
        self._refusal = Sentence(masked(why), "idle")

    def stop(self) -> None:
        """Nothing is sent any more; what was is still coming in."""
        if self._shown is not None:
            self._stopped_s = self._stopped_s or self._shown[0].clock()

    def end(self) -> None:
        """The run is over: look at it once more."""
        if self._looking is not None:
            self._looking.kill(block=False)
        self.stop()
        self._look()
        self._looking = self._refusal = None

    def content(self) -> dict[str, Any]:
        more = {} if self._refusal is None else {"sentence": self._refusal._asdict()}
        return {**self._content, **more, "report": self.report is not None}

    def metrics(self) -> tuple[Metric, ...]:
        return load_metrics(self._shown[1], self._content) if self._shown else ()

    @property
    def report(self) -> Path | None:
        path = self._folder / REPORT if self._folder else None
        return path if path is not None and path.exists() else None

    def _follow(self) -> None:
        while True:
            gevent.sleep(LOOK_S)
            self._look()

    def _look(self) -> None:
        if self._shown is None:
            return
        run, view = self._shown
        now_s = run.clock()
        if self._stopped_s is None:
            end = int(now_s) - run.sender.behind_s
        else:
            end = int(min(now_s, max(self._stopped_s, run.record.seconds.last() + 1)))
        attempts = int(of_requests(view.totals())[ATTEMPTS])
        early = self._stopped_s is None and end - run.started_s < JUDGED_AFTER_S
        self._content = view.content(
            None if early or not attempts else run.verdict(attempts=attempts),
            _processes(self._environment.runner, run.sender),
            missing=run.sender.missing_now(),
            state="loading" if self._stopped_s is None else "ended",
            end=end,
        )


def _processes(runner: Any, sender: Load | Gatherer) -> list[dict[str, Any]]:
    """This process, or the workers of a master, with what their heartbeats say."""
    nodes = {"this process": runner} if isinstance(sender, Load) else runner.clients
    return [
        {
            "name": short_name(name), "state": node.state, "users": node.user_count,
            "cpu_percent": sender.cpu_percent if isinstance(sender, Load) else node.cpu_usage,
        }
        for name, node in nodes.items()
    ]  # fmt: skip


FILES: Final = Path(__file__).parent / "static"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
LINK: Final = (
    '<a href="./keyheat" style="position:fixed;left:16px;bottom:16px;z-index:9999;padding:8px 14px;'
    "border-radius:99px;background:#1d5fb8;color:#fff;font:600 14px system-ui,sans-serif;"
    'text-decoration:none">Live throttles</a>'
)
NO_HOST: Final = '<style>.MuiFormControl-root:has(input[name="host"]){display:none}</style>'
"""Where the load goes is said on the command line: the page shows it, and does not ask for it."""


def serve(live: Live, web_ui: Any, refusal: Callable[[], str | None], *, asks_where: bool) -> None:
    """Put the page into Locust's web UI; call it before that starts to listen.

    `refusal`: why no run may begin now, shown by Locust's page on a start.
    `asks_where`: whether that page has to ask where the load goes.
    """
    base = web_ui.environment.parsed_options.web_base_path or ""
    blueprint = Blueprint("keyheat", __name__, url_prefix=f"{base}/keyheat")

    def now() -> Response:
        content = orjson.dumps(live.content())
        return Response(content, mimetype="application/json", headers={"Cache-Control": "no-store"})

    def report() -> Response:
        if not live.report:
            return Response("no report yet", 404)
        answer = send_file(live.report)
        answer.headers["Content-Security-Policy"] = SANDBOX
        return answer

    def static(name: str = "live.html") -> Response:
        response = send_from_directory(FILES, name)
        response.headers["Content-Security-Policy"] = POLICY
        return response

    paths: dict[str, Callable[..., Response]] = {
        "": static, "/<any('live.css', 'live.js'):name>": static, "/now": now, "/report": report,
    }  # fmt: skip
    for number, (path, view) in enumerate(paths.items()):
        blueprint.add_url_rule(path, f"view-{number}", web_ui.auth_required_if_enabled(view))

    @blueprint.before_app_request
    def say_why_not() -> Response | None:
        why = refusal() if request.endpoint == "locust.swarm" else None
        if why is None:
            return None
        live.refuse(why)  # and as Locust's page is told that a load does not start:
        return Response(orjson.dumps({"success": False, "message": why}), mimetype="application/json")

    @blueprint.after_app_request
    def add_to_locusts_page(response: Response) -> Response:
        if request.path == f"{base}/" and response.mimetype == "text/html":
            ours = f"{'' if asks_where else NO_HOST}{LINK}"
            response.set_data(response.get_data(as_text=True).replace("</body>", f"{ours}</body>"))
        return response

    web_ui.app.register_blueprint(blueprint)


HEADER: Final = "X-Keyheat-Token"
READS: Final = ("GET", "HEAD", "OPTIONS")
CHANGES: Final = tuple(f"locust.{view}" for view in ("swarm", "stop", "reset_stats", "update_user"))
"""Locust's views that change something; some of them answered a GET once."""
FOREIGN: Final = "keyheat: this page is for its own name and its own requests alone (--allow-host NAME)\n"
NO_TOKEN: Final = f"keyheat: this run costs money: reload its page, or send its token ({HEADER})\n"


def keep_out(web_ui: Any, token: str | None, say: Callable[[str], None]) -> None:
    """Have Locust's page refuse requests of other sites and, with a token, changes without it.

    Call it before the page listens. `token` is None where nothing costs money.
    """
    options = web_ui.environment.parsed_options
    path, cookie = f"{options.web_base_path or ''}/", f"keyheat-{web_ui.port}"  # all ports share cookies
    display_name = urlsplit(options.web_host_display_name or "").hostname
    names = {options.web_host, display_name, gethostname(), *options.allow_host} - {"", "*", None}
    hosts = Hosts(frozenset(names))
    if token is not None:
        _announce(web_ui, path, token, say)

    @web_ui.app.before_request  # type: ignore[untyped-decorator]
    def refuse() -> Response | None:
        changes = request.method not in READS or request.endpoint in CHANGES
        if not hosts.answers(request.headers.get, links=not changes):
            return Response(FOREIGN, 403, mimetype="text/plain")
        sent = request.headers.get(HEADER) or request.cookies.get(cookie) or ""
        if changes and token is not None and not compare_digest(sent.encode(), token.encode()):
            return Response(NO_TOKEN, 403, mimetype="text/plain")
        return None

    @web_ui.app.after_request  # type: ignore[untyped-decorator]
    def welcome(answer: Response) -> Response:
        """Give a page its token, which no script reads and no other site's page sends."""
        is_page = answer.mimetype == "text/html" and answer.status_code == 200
        if token is not None and is_page and request.cookies.get(cookie) != token:
            answer.set_cookie(
                cookie, token, path=path, httponly=True, samesite="Strict", secure=request.is_secure
            )
        answer.headers["X-Frame-Options"] = "DENY"  # nor is anybody made to press its buttons unseen
        return answer


def _announce(web_ui: Any, path: str, token: str, say: Callable[[str], None]) -> None:
    """Say where the page of a load that costs money is, who reaches it, and what a program needs."""
    if on_this_machine(web_ui.host):
        scheme = "https" if web_ui.tls_cert and web_ui.tls_key else "http"
        say(
            f"this run costs money, so its page is on this machine alone: {scheme}://{web_ui.host}:{web_ui.port}"
            f"{path} (--web-host ADDRESS lets others in)"
        )
    elif not web_ui.web_login:
        say(
            f"anyone who reaches port {web_ui.port} of this machine can start loads that cost money; "
            "add --web-login to ask for a login"
        )
    say(f"a program that starts and stops loads there sends the header {HEADER}: {token}")
