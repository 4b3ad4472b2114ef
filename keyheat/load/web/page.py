"""The live page in Locust's web UI: `/keyheat`, its numbers as JSON, a tab and a link on Locust's own page.

It is there wherever Locust's web UI is: on a master, which has what the workers sent, or in a process alone.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import gevent
import orjson
from flask import Blueprint, Response, request, send_file, send_from_directory

from keyheat.addresses import SANDBOX
from keyheat.load.record.generator import GeneratorVerdict
from keyheat.load.record.record import PIECES_ARRIVE_S, short_name
from keyheat.load.web.readings import Sentence
from keyheat.load.web.view import LiveView, Process, Subject
from keyheat.masking import masked
from keyheat.runfiles import REPORT

if TYPE_CHECKING:  # the run makes no page; it is shown on one
    from keyheat.load.run.run import LoadRun

FILES = Path(__file__).parent / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
FRESH_S = 0.9  # many who look cost no more than one
JUDGED_AFTER_S = 10.0  # a start is no time to say that the generator cannot keep up
LINK = (
    '<a href="./keyheat" style="position:fixed;left:16px;bottom:16px;z-index:9999;padding:8px 14px;'
    "border-radius:99px;background:#1d5fb8;color:#fff;font:600 14px system-ui,sans-serif;"
    'text-decoration:none">Live throttles</a>'
)
NO_HOST = '<style>.MuiFormControl-root:has(input[name="host"]){display:none}</style>'
"""Where the load goes is said on the command line: the page shows it, and does not ask for it."""
TAB = {"key": "throttles", "title": "Throttles"}
COLUMNS = [
    {"key": "limit", "title": "Limit"},
    {"key": "resource", "title": "Table or index"},
    {"key": "reason", "title": "DynamoDB's reason"},
    {"key": "total", "title": "Throttles"},
    {"key": "per_s", "title": "Now, per second"},
]


class LivePage:
    """What the page shows: the run that is going on, or the last one."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self.goes_to: str | None = None  # where the load is sent; None: Locust's page has to ask
        self._run: LoadRun | None = None
        self._view: LiveView | None = None
        self._stopped_s: float | None = None
        self._folder: Path | None = None
        self._reader: gevent.Greenlet | None = None
        self._made_at_s = -FRESH_S
        self._refusal: Sentence | None = None
        nothing = Sentence("No run yet. Start one on Locust's page.", "idle")
        self._content: dict[str, Any] = {"state": "none", "sentence": asdict(nothing)}

    def begin(self, run: "LoadRun") -> None:
        """A run begins: show it."""
        self._run, self._view, self._stopped_s = run, LiveView(subject_of(run)), None
        self._folder, self._refusal = run.ground.path, None
        run.at_end = self.end
        self._reader = gevent.spawn(self._read_on)

    def refuse(self, why: str) -> None:
        """A run did not begin: say why, above what there was before it, until one does."""
        self._refusal = Sentence(masked(why), "idle")

    def stop(self) -> None:
        """Nothing is sent any more; what was is still coming in."""
        if self._run is not None:
            self._stopped_s = self._stopped_s or self._run.ground.clock()

    def end(self) -> None:
        """The run is over, and its record about to go: keep how it looked."""
        if self._run is not None:
            self.stop()
            self._content = self._look()
        if self._reader is not None:
            self._reader.kill(block=False)
        self._run = self._reader = None

    def content(self) -> dict[str, Any]:
        """What to show now."""
        if self._run is not None and monotonic() - self._made_at_s >= FRESH_S:
            self._content, self._made_at_s = self._look(), monotonic()
        if self._refusal is not None:
            return {**self._content, "sentence": asdict(self._refusal)}
        return self._content

    @property
    def report(self) -> Path | None:
        """The report of the last run, once there is one."""
        path = self._folder / REPORT if self._folder else None
        return path if path is not None and path.exists() else None

    def _read_on(self) -> None:
        """Keep up with what is recorded though nobody looks, so that a first look has little to read."""
        while self._run is not None and self._view is not None:
            self._view.look(self._run.record)
            gevent.sleep(1.0)

    def _look(self) -> dict[str, Any]:
        run, view = self._run, self._view
        assert run is not None
        assert view is not None
        now_s = run.ground.clock()
        if self._stopped_s is None:
            end = int(now_s) - (PIECES_ARRIVE_S if run.gatherer else 0)
        else:
            end = int(min(now_s, max(self._stopped_s, run.record.seconds.last() + 1)))
        return view.content(
            run.record,
            self._verdict(run, view, end),
            self._processes(run, now_s),
            missing=run.gatherer.missing_now() if run.gatherer else [],
            state="loading" if self._stopped_s is None else "ended",
            end=end,
        )

    def _verdict(self, run: "LoadRun", view: LiveView, end: int) -> GeneratorVerdict | None:
        attempts = view.attempts(run.record, end)
        if end - run.ground.started_s < JUDGED_AFTER_S or not attempts:
            return None
        return run.verdict(attempts=attempts)

    def _processes(self, run: "LoadRun", now_s: float) -> list[Process]:
        runner = self._environment.runner
        if run.gatherer is None:
            return [
                Process(
                    name="this process",
                    state=runner.state,
                    users=runner.user_count,
                    cpu_percent=runner.current_cpu_usage,
                    memory_bytes=runner.current_memory_usage,
                )
            ]
        nodes = {name: runner.clients.get(name) for name in run.gatherer.workers}
        return [
            Process(
                name=short_name(name),
                state=node.state if node else "missing",
                users=arrived.users,
                cpu_percent=node.cpu_usage if node else 0.0,
                memory_bytes=node.memory_usage if node else 0.0,
                silent_s=arrived.silent_s(now_s),
            )
            for name, arrived in run.gatherer.workers.items()
            for node in [nodes[name]]
        ]


def subject_of(run: "LoadRun") -> Subject:
    """What the page says of a run that does not change."""
    scenario, manifest = run.plan.scenario, run.ground.folder.manifest
    return Subject(
        run_id=run.run_id,
        scenario=scenario.name,
        question=scenario.question,
        table=manifest["table"],
        beside=tuple(companion.name for companion in scenario.companions),
        target=manifest["target"],
        scale=manifest["scale"],
        started_s=run.ground.started_s,
        duration_s=run.duration_s,
        users=run.users,
        throttles=run.plan.endpoint.of("throttles").answer if run.plan.endpoint else "yes",
    )


def serve(page: LivePage, web_ui: Any, refusal: Callable[[], str | None]) -> None:
    """Put the page into Locust's web UI; call it before that starts to listen.

    `refusal`: why no run may begin now, which Locust's own page says where somebody starts one.
    """
    base = web_ui.environment.parsed_options.web_base_path or ""
    blueprint = Blueprint("keyheat", __name__, url_prefix=f"{base}/keyheat")

    def now() -> Response:
        content = {**page.content(), "report": page.report is not None}
        return Response(
            orjson.dumps(content), mimetype="application/json", headers={"Cache-Control": "no-store"}
        )

    def report() -> Response:
        if not page.report:
            return Response("no report yet", 404)
        answer = send_file(page.report)
        answer.headers["Content-Security-Policy"] = SANDBOX
        return answer

    routes: list[tuple[str, str, Callable[..., Response]]] = [
        ("page", "", lambda: _static("live.html")),
        ("asset", "/<any('live.css', 'live.js', 'charts.js'):name>", _static),
        ("now", "/now", now),
        ("report", "/report", report),
    ]
    for name, path, view in routes:
        blueprint.add_url_rule(path, name, web_ui.auth_required_if_enabled(view))

    @blueprint.before_app_request
    def say_why_not() -> Response | None:
        why = refusal() if request.endpoint == "locust.swarm" else None
        return None if why is None else _refused(page, why)

    @blueprint.after_app_request
    def add_to_locusts_page(response: Response) -> Response:
        return _added(page, response, base)

    web_ui.template_args |= {
        "extended_tabs": [TAB],
        "extended_tables": [{"key": TAB["key"], "structure": COLUMNS}],
    }
    web_ui.app.register_blueprint(blueprint)


def _refused(page: LivePage, why: str) -> Response:
    """As Locust's page is told that a load does not start."""
    page.refuse(why)
    return Response(orjson.dumps({"success": False, "message": why}), mimetype="application/json")


def _static(name: str) -> Response:
    response = send_from_directory(FILES, name)
    response.headers["Content-Security-Policy"] = POLICY
    return response


def _added(page: LivePage, response: Response, base: str) -> Response:
    """Locust's answer with what is ours: the rows of the tab, or the link on its page."""
    if request.path == f"{base}/stats/requests" and response.is_json:
        stats = [{"key": TAB["key"], "data": _rows(page.content())}]
        response.set_data(orjson.dumps({**response.get_json(), "extended_stats": stats}))
    elif request.path == f"{base}/" and response.mimetype == "text/html":
        ours = f"{NO_HOST if page.goes_to else ''}{LINK}"
        response.set_data(response.get_data(as_text=True).replace("</body>", f"{ours}</body>"))
    return response


def _rows(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "limit": row["constraint"].replace("_", " "),
            "resource": f"{row['index'] or 'table'} {row['direction']}s",
            "reason": row["reason"] or "(none given)",
            "total": row["total"],
            "per_s": round(row["per_s"], 1),
        }
        for row in content.get("throttles", {}).get("rows", [])
    ]
