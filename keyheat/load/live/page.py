"""The live page in Locust's web UI: `/keyheat`, its numbers as JSON, and a link on Locust's own page.

It is there wherever Locust's web UI is: on a master, which has what the workers sent, or in a process alone.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from flask import Blueprint, Response, request, send_file, send_from_directory

from keyheat.addresses import SANDBOX
from keyheat.load.live.run import LiveRun

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
