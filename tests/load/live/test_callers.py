"""Locust's page of a load that costs money: who may start and stop it, and for how much in all."""

import json
import re
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import pytest
from flask import Blueprint, Flask

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.load.options import add_options
from keyheat.load.run.page import HEADER, keep_out
from tests.load.forked import Load
from tests.load.live.test_page import Web, finished
from tests.outside import PATIENCE_S, eventually, run_of

HERE = "127.0.0.1:8089"


# ---- the rule


@pytest.fixture
def said() -> list[str]:
    return []


def page_of(token: str | None, said: list[str], *, web_host: str = "") -> Any:
    """A page with Locust's views, and the server that it is on."""
    app, views = Flask(__name__), Blueprint("locust", __name__)
    views.add_url_rule("/", "index", lambda: "<p>a page</p>")
    views.add_url_rule("/stats/requests", "requests", lambda: {"stats": []})
    changing = {"/swarm": "swarm", "/stop": "stop", "/stats/reset": "reset_stats", "/user": "update_user"}
    for path, view in changing.items():
        views.add_url_rule(path, view, lambda: "done", methods=["GET", "POST"])
    app.register_blueprint(views)
    options = SimpleNamespace(
        web_host=web_host, web_base_path="", web_host_display_name=None, allow_host=["loads.team.example"]
    )  # fmt: skip
    web_ui = SimpleNamespace(
        app=app, host=web_host, port=8089, tls_cert="", tls_key="", web_login=False,
        environment=SimpleNamespace(parsed_options=options),
    )  # fmt: skip
    keep_out(web_ui, token, said.append)
    return web_ui


@pytest.mark.parametrize("token", ["secret", None])
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": HERE}, 200),
        ({"Host": "localhost:8089", "Origin": "http://localhost:8089", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": HERE, "Origin": "https://loads.team.example"}, 200),  # a proxy calls it by its address
        ({"Host": "loads.team.example", "Origin": "https://LOADS.team.example"}, 200),
        ({"Host": HERE, "Origin": "http://127.0.0.1:9000"}, 403),
        ({"Host": HERE, "Origin": "null"}, 403),
        ({"Host": HERE, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Host": "evil.example:8089"}, 403),  # a name that was bound to this machine meanwhile
    ],
)
@pytest.mark.parametrize("path", ["/swarm", "/stop", "/stats/reset", "/user"])
def test_only_its_own_page_changes_anything(
    token: str | None, headers: dict[str, str], code: int, path: str, said: list[str]
) -> None:
    client = page_of(token, said).app.test_client()
    more = {HEADER: token} if token else {}
    assert client.post(path, headers=headers | more).status_code == code


@pytest.mark.parametrize("path", ["/swarm", "/stop", "/stats/reset"])
@pytest.mark.parametrize("method", ["get", "post"])  # some answered a GET once
def test_what_costs_money_needs_the_token(path: str, method: str, said: list[str]) -> None:
    client = page_of("secret", said).app.test_client(use_cookies=False)
    ask = getattr(client, method)
    assert ask(path, headers={"Host": HERE}).status_code == 403
    assert ask(path, headers={"Host": HERE, HEADER: "sécret"}).status_code == 403
    assert ask(path, headers={"Host": HERE, HEADER: "secret"}).status_code == 200
    assert client.get("/stats/requests", headers={"Host": HERE}).status_code == 200


def test_the_page_gets_the_token_where_no_script_and_no_other_site_has_it(said: list[str]) -> None:
    client = page_of("secret", said).app.test_client()
    (cookie,) = client.get("/", base_url=f"http://{HERE}").headers.getlist("Set-Cookie")
    assert cookie == "keyheat-8089=secret; HttpOnly; Path=/; SameSite=Strict"
    assert client.post("/swarm", base_url=f"http://{HERE}").status_code == 200
    assert client.get("/", base_url=f"http://{HERE}").headers.getlist("Set-Cookie") == []
    assert client.get("/", base_url="http://evil.example").headers.getlist("Set-Cookie") == []
    assert client.get("/", base_url=f"http://{HERE}").headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    ("token", "given", "host", "words"),
    [
        ("secret", [], "127.0.0.1", "on this machine alone: http://127.0.0.1:8089/"),
        ("secret", ["--web-host", "0.0.0.0"], "0.0.0.0", "can start loads that cost money; add --web-login"),
        (None, [], "127.0.0.1", None),
    ],
)
def test_it_listens_on_this_machine_alone_unless_somebody_says_where(
    token: str | None, given: list[str], host: str, words: str | None, said: list[str]
) -> None:
    parser = ArgumentParser()
    parser.add_argument("--web-host", default="")  # Locust's own
    add_options(parser)
    assert parser.parse_args(given).web_host == host
    page_of(token, said, web_host=host)
    assert (words in said[0]) if words else said == []


# ---- in a real Locust


def test_a_foreign_start_is_refused_and_all_others_share_one_budget(
    start_locust: Callable[..., Load], endpoint: EndpointProcess, scenario_file: Path, tmp_path: Path
) -> None:
    """The local endpoint is somebody else's, and costs money; each start pays for an hour of its table."""
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}
    start = partial(start_locust, module="tests.as_remote", env=keys)
    caps = ("--max-units", "8000", "--max-dollars", "100", "--yes", "--no-align")
    web = Web(start, scenario_file, tmp_path / "run", endpoint.url, *caps)
    foreign = Request(f"{web.url}/swarm", b"user_count=5&spawn_rate=5", {"Origin": "http://evil.example"})
    ours = build_opener(HTTPCookieProcessor())
    ours.open(web.url)
    with pytest.raises(HTTPError, match="403"):
        ours.open(foreign)  # in the same browser, with the page's cookie
    assert web.now()["state"] == "none"
    assert swarmed(ours, web)["success"]
    web.until(lambda now: sum(row["consumed"] for row in now.get("capacity", ())) > 2_000)
    ours.open(f"{web.url}/stop", b"")
    first = eventually(lambda: finished(tmp_path / "run"), runfiles.FileProblem)
    web.until(lambda now: now["state"] == "ended")
    eventually(lambda: swarmed(ours, web)["success"])  # once the first one's table is gone
    second = eventually(lambda: stopped(tmp_path / "run-2"), runfiles.FileProblem)
    assert first["run_id"] != second["run_id"]
    used = [run["totals"]["consumed_units"]["write"] for run in (first, second)]
    assert second["stopped_by"]["rule"] == "max_units"
    assert second["stopped_by"]["limit"] == 8_000 - used[0]
    assert sum(used) < 8_800  # a tenth, as the page of guards says of one process
    refused = eventually(lambda: said_spent(swarmed(ours, web)))
    assert re.search(r"is spent, [\d,]+ of 8,000 units.*--max-units", refused)
    assert "is spent" in web.now()["sentence"]["text"]
    web.process.terminate()
    web.process.communicate(timeout=PATIENCE_S)
    assert not (tmp_path / "run-3").exists()


def swarmed(opener: OpenerDirector, web: Web) -> dict[str, Any]:
    with opener.open(f"{web.url}/swarm", b"user_count=5&spawn_rate=5") as answer:
        return dict(json.load(answer))


def said_spent(answer: dict[str, Any]) -> str | None:
    """Why a start is refused, once the run before is over."""
    why = str(answer["message"])
    return why if "is spent" in why else None


def stopped(folder: Path) -> dict[str, Any] | None:
    run = run_of(folder)
    return run if run["status"] == "stopped" else None
