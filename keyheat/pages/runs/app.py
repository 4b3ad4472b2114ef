"""The server's pages: the index of runs, which keeps itself up to date, and each run's report and files.

It only reads. A run is named by its key, never by a path, and a file only by a name from a list.
"""

import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson
from flask import Flask, Response, abort, request, send_file
from markupsafe import escape
from werkzeug.exceptions import HTTPException
from werkzeug.serving import WSGIRequestHandler, make_server

from keyheat.addresses import SANDBOX, Hosts
from keyheat.pages.run.report import FileKind
from keyheat.pages.runs.index import render_runs
from keyheat.pages.runs.look import Look, Pages, files_of, has_key_values
from keyheat.runfiles import FileProblem

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
OF_A_RUN: Final = {
    "Content-Security-Policy": f"{SANDBOX}; default-src 'none'; script-src 'unsafe-inline' blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "unsafe-none",  # a browser does not open a page with a sandbox and another
}
"""Of a page that is in a run's directory, which may be somebody else's: it is no page of the server's own."""
KINDS: Final[dict[FileKind, str]] = {"csv": "CSV", "parquet": "Parquet"}
WITHHELD: Final = (
    "This run was told to show key values, and this server is reached from other machines: "
    "keyheat serve --show-keys gives them, too."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What is served, to whom. `command` starts the server again; `show_keys` gives key values, too."""

    look: Look
    pages: Pages
    hosts: Hosts
    command: str
    show_keys: bool


def app_of(site: Site) -> Flask:
    """The server's pages as a WSGI application."""
    app = Flask("keyheat", static_folder=None)
    app.before_request(lambda: None if site.hosts.answers(request.headers.get) else _refused())
    app.after_request(_with_headers)
    app.register_error_handler(HTTPException, _said)
    app.add_url_rule("/", "index", lambda: _index(site))
    app.add_url_rule("/runs.json", "runs", lambda: _runs(site))
    app.add_url_rule("/now.json", "now", lambda: _now(site))
    app.add_url_rule("/run/<key>/report", "report", lambda key: _report(site, key))
    app.add_url_rule(
        "/run/<key>/export/<any(csv, parquet):kind>", "export", lambda key, kind: _export(site, key, kind)
    )
    app.add_url_rule("/run/<key>/files", "files", lambda key: _files(site, key))
    app.add_url_rule("/run/<key>/files/<name>", "file", lambda key, name: _file(site, key, name))
    return app


def _index(site: Site) -> Response:
    seen, now = site.look.seen(), datetime.fromtimestamp(site.look.clock(), UTC)
    return _tagged(
        render_runs(seen.content, seen.runs.searched, now, serve=site.command).encode(), "text/html"
    )


def _runs(site: Site) -> Response:
    return _json(site.look.seen().content)


def _now(site: Site) -> Response:
    return _json({"version": site.look.seen().version, "underway": site.look.under_way()})


def _report(site: Site, key: str) -> Response:
    folder = _folder(site, key)
    try:
        answer = _tagged(site.pages.report(folder), "text/html")
        answer.headers.update(OF_A_RUN)
        return answer
    except FileProblem as problem:
        abort(404, str(problem))


def _export(site: Site, key: str, kind: FileKind) -> Response:
    folder = _folder(site, key)
    try:
        body = site.pages.exported(folder, kind)
    except FileProblem as problem:
        abort(404, str(problem))
    name = {"Content-Disposition": f'attachment; filename="charts-{key}-{kind}.zip"'}
    return Response(body, mimetype="application/zip", headers=name)


def _files(site: Site, key: str) -> Response:
    folder = _folder(site, key)
    lines = "".join(
        f'<li><a href="files/{escape(name)}">{escape(name)}</a> {size:,} bytes</li>'
        for name, size in files_of(folder).items()
    )
    charts = "".join(f'<li><a href="export/{kind}">{name}</a>, zipped</li>' for kind, name in KINDS.items())
    said = f"<h2>What each chart shows</h2><ul>{charts}</ul><h2>The run's own files</h2><ul>{lines}</ul>"
    return Response(_page(f"Files of {folder.name}", said))


def _file(site: Site, key: str, name: str) -> Response:
    folder = _folder(site, key)
    if name not in files_of(folder):
        abort(404, f"the run has no file {name}")
    return send_file((folder / name).absolute(), as_attachment=True, download_name=f"{folder.name}-{name}")


def _folder(site: Site, key: str) -> Path:
    """The directory of a run that may be shown."""
    row = site.look.seen().by_key.get(key)
    if row is None or row.folder is None:
        abort(404, "there is no such run any more")
    try:
        withheld = not site.show_keys and has_key_values(row.folder)
    except FileProblem as problem:
        abort(404, str(problem))
    if withheld:
        abort(403, WITHHELD)
    return row.folder


def _json(content: dict[str, Any]) -> Response:
    return _tagged(orjson.dumps(content), "application/json")


def _tagged(body: bytes, kind: str) -> Response:
    """An answer that is not sent again to somebody who has it."""
    answer = Response(body, mimetype=kind)
    answer.set_etag(sha256(body).hexdigest()[:32])
    return answer.make_conditional(request)  # type: ignore[return-value]


def _refused() -> Response:
    return Response("keyheat answers to its own name and its own pages alone\n", 403, mimetype="text/plain")


def _said(error: HTTPException) -> Response:
    return Response(_page(str(error.name), f"<p>{escape(error.description or '')}</p>"), error.code)


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<style>:root{color-scheme:light dark}body{font:16px/1.6 system-ui,sans-serif;margin:40px auto;"
        f"max-width:760px;padding:0 24px}}</style><main><h1>{escape(title)}</h1>{body}"
        '<p><a href="/">All runs</a></p></main></html>'
    )


def _with_headers(answer: Response) -> Response:
    for name, value in HEADERS.items():
        answer.headers.setdefault(name, value)
    return answer


class Quiet(WSGIRequestHandler):
    """Says nothing about each request, and lets nobody hold a connection open for nothing."""

    timeout = 30

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Not a line for every second of every open page."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens, on any free port where `port` is 0. Raises `ValueError` where it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ValueError(
                f"port {port} of {host} is taken, perhaps by another keyheat serve: "
                f"open http://{host}:{port}/, or say another one (--port 0 takes any that is free)"
            ) from error
        if error.errno == errno.EACCES:
            raise ValueError(f"port {port} is not for everybody: say one from 1024 on") from error
        raise ValueError(
            f"cannot listen on {host}: {error.strerror or error}; say --host 127.0.0.1"
        ) from error


def address_of(listener: socket.socket) -> str:
    """Where a browser on this machine finds it."""
    host, port = listener.getsockname()[:2]
    host = "127.0.0.1" if host == "0.0.0.0" else "::1" if host == "::" else host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(listener: socket.socket, app: Callable[..., Any]) -> None:
    """Answer until Ctrl-C."""
    host, port = listener.getsockname()[:2]
    server = make_server(host, port, app, threaded=True, request_handler=Quiet, fd=listener.fileno())
    try:
        server.serve_forever()
    finally:
        server.server_close()
