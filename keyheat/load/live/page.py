"""A run while it goes on, and as it ended: one look for Prometheus and for the live page in Locust's web UI.

It is looked at where the counts are: on a master, which has what the workers sent, or in a process alone.
Nothing is counted for it: a look reads what the record has.
"""

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import gevent
import orjson
from flask import Blueprint, Response, request, send_file, send_from_directory

from keyheat.addresses import SANDBOX
from keyheat.load.live.prometheus import load_metrics
from keyheat.load.live.readings import of_requests
from keyheat.load.live.view import LiveView, Sentence
from keyheat.load.record.rows import ATTEMPTS
from keyheat.masking import masked
from keyheat.metrics import Metric
from keyheat.runfiles import REPORT

if TYPE_CHECKING:
    from keyheat.load.run.run import LoadRun

FRESH_S = 0.9  # many who look cost no more than one
JUDGED_AFTER_S = 10.0  # a start is no time to say that the generator cannot keep up


class LiveRun:
    """The run that is going on, or the last one: one look at it for the page and for metrics."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._shown: tuple[LoadRun, LiveView] | None = None
        self._stopped_s: float | None = None
        self._folder: Path | None = None
        self._reader: gevent.Greenlet | None = None
        self._made_at_s = -FRESH_S
        self._metrics: tuple[Metric, ...] = ()
        self._refusal: Sentence | None = None
        nothing = Sentence("No run yet. Start one on Locust's page.", "idle")
        self._content: dict[str, Any] = {"state": "none", "sentence": nothing._asdict()}

    def begin(self, run: "LoadRun") -> None:
        view = LiveView(
            run.folder.manifest, run.started_s, run.duration_s, run.plan.scenario.load.target_unit
        )
        self._shown, self._stopped_s = (run, view), None
        self._folder, self._refusal = run.path, None
        run.at_end = self.end
        self._reader = gevent.spawn(_read_on, run, view)

    def refuse(self, why: str) -> None:
        """A run did not begin: say why, above what there was before it, until one does."""
        self._refusal = Sentence(masked(why), "idle")

    def stop(self) -> None:
        """Nothing is sent any more; what was is still coming in."""
        if self._shown is not None:
            self._stopped_s = self._stopped_s or self._shown[0].clock()

    def end(self) -> None:
        """The run is over, and its record about to go: keep how it looked."""
        if self._shown is not None:
            self.stop()
            run, view = self._shown
            self._content = self._look(run, view)
            self._metrics = load_metrics(run.record, view, self._content)
        if self._reader is not None:
            self._reader.kill(block=False)
        self._shown = self._reader = None

    def content(self) -> dict[str, Any]:
        if self._shown is not None and monotonic() - self._made_at_s >= FRESH_S:
            self._content, self._made_at_s = self._look(*self._shown), monotonic()
        if self._refusal is not None:
            return {**self._content, "sentence": self._refusal._asdict()}
        return self._content

    def metrics(self) -> tuple[Metric, ...]:
        """Return what is exported now; none before the first run."""
        content = self.content()
        if self._shown is not None:
            run, view = self._shown
            self._metrics = load_metrics(run.record, view, content)
        return self._metrics

    @property
    def report(self) -> Path | None:
        path = self._folder / REPORT if self._folder else None
        return path if path is not None and path.exists() else None

    def _look(self, run: "LoadRun", view: LiveView) -> dict[str, Any]:
        now_s = run.clock()
        if self._stopped_s is None:
            end = int(now_s) - run.sender.behind_s
        else:
            end = int(min(now_s, max(self._stopped_s, run.record.seconds.last() + 1)))
        attempts = of_requests(view.counts(run.record, end), ATTEMPTS)
        early = self._stopped_s is None and end - run.started_s < JUDGED_AFTER_S
        return view.content(
            run.record,
            None if early or not attempts else run.verdict(attempts=attempts),
            run.sender.processes(self._environment.runner, now_s),
            missing=run.sender.missing_now(),
            state="loading" if self._stopped_s is None else "ended",
            end=end,
        )


def _read_on(run: "LoadRun", view: LiveView) -> None:
    """Read the record continuously, so that the first look has little to read."""
    while True:
        view.look(run.record)
        gevent.sleep(1.0)


FILES = Path(__file__).parent / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
LINK = (
    '<a href="./keyheat" style="position:fixed;left:16px;bottom:16px;z-index:9999;padding:8px 14px;'
    "border-radius:99px;background:#1d5fb8;color:#fff;font:600 14px system-ui,sans-serif;"
    'text-decoration:none">Live throttles</a>'
)
NO_HOST = '<style>.MuiFormControl-root:has(input[name="host"]){display:none}</style>'
"""Where the load goes is said on the command line: the page shows it, and does not ask for it."""


def serve(live: LiveRun, web_ui: Any, refusal: Callable[[], str | None], *, asks_where: bool) -> None:
    """Put the page into Locust's web UI; call it before that starts to listen.

    `refusal`: why no run may begin now, shown by Locust's page on a start.
    `asks_where`: whether that page has to ask where the load goes.
    """
    base = web_ui.environment.parsed_options.web_base_path or ""
    blueprint = Blueprint("keyheat", __name__, url_prefix=f"{base}/keyheat")

    def now() -> Response:
        content = {**live.content(), "report": live.report is not None}
        return Response(
            orjson.dumps(content), mimetype="application/json", headers={"Cache-Control": "no-store"}
        )

    def report() -> Response:
        if not live.report:
            return Response("no report yet", 404)
        answer = send_file(live.report)
        answer.headers["Content-Security-Policy"] = SANDBOX
        return answer

    routes: list[tuple[str, str, Callable[..., Response]]] = [
        ("page", "", lambda: _static("live.html")),
        ("asset", "/<any('live.css', 'live.js'):name>", _static),
        ("now", "/now", now),
        ("report", "/report", report),
    ]
    for name, path, view in routes:
        blueprint.add_url_rule(path, name, web_ui.auth_required_if_enabled(view))

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


def _static(name: str) -> Response:
    response = send_from_directory(FILES, name)
    response.headers["Content-Security-Policy"] = POLICY
    return response
