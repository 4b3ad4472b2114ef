"""The live page as people meet it: in Locust's web UI, over one process or several, in a real browser."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.runs.formats import read_diagnosis
from keyheat.show.charts import DARK, LIGHT
from tests.conftest import ROOT, Verb
from tests.load.conftest import SHORT
from tests.load.forked import Load
from tests.make import a_scenario_file
from tests.outside import OR_TOO_SLOW, PATIENCE_S, eventually, free_port, get, run_of

Start = Callable[..., Load]
STATIC = ROOT / "keyheat/load/run/static"
LATE = """
import gevent, locust


@locust.events.init.add_listener
def wait(**_more):
    gevent.sleep(6)  # twice as long as Locust waits for a heartbeat


"""
TOO_SLOW = "invalid"  # what the sentence is about where this machine could not send the load


class Web:
    """Locust's web UI, with our page in it."""

    def __init__(self, start: Start, scenario: Path, folder: Path, endpoint: str, *more: str) -> None:
        port = str(free_port())
        self.url = f"http://127.0.0.1:{port}"
        self.process = start(
            "hotkey.py", "--web-host", "127.0.0.1", "--web-port", port, "--scenario", str(scenario),
            "--out", str(folder), "--no-report", "--host", endpoint, *more,
        )  # fmt: skip
        eventually(lambda: get(self.url))

    def now(self) -> dict[str, Any]:
        return dict(json.loads(get(f"{self.url}/keyheat/now")))

    def swarm(self, **more: str) -> None:
        form = {"user_count": "10", "spawn_rate": "10", **more}
        get(f"{self.url}/swarm", "&".join(f"{name}={value}" for name, value in form.items()).encode())

    def until(self, wanted: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            now = self.now()
            return now if wanted(now) else None

        return dict(eventually(look))


def throttles(now: dict[str, Any]) -> int:
    return int(now["throttles"]["total"]) if "throttles" in now else 0


def finished(folder: Path) -> dict[str, Any] | None:
    run = run_of(folder)
    return run if run["status"] == "finished" else None


def test_a_master_shows_what_its_workers_sent(
    start_locust: Start, scenario_file: Path, endpoint: EndpointProcess, tmp_path: Path, verb: Verb
) -> None:
    """Also where a worker hears the order to start before its Locust is set up, as on a busy machine."""
    folder, port, metrics = tmp_path / "run", str(free_port()), str(free_port())
    late = tmp_path / "late.py"
    late.write_text(LATE + (ROOT / "loadtests" / "hotkey.py").read_text(encoding="utf-8"))
    wired = ("--master", "--master-bind-host", "127.0.0.1", "--master-bind-port", port)
    exported = ("--prometheus-port", metrics)
    web = Web(start_locust, scenario_file, folder, endpoint.url, *wired, *exported)
    before = web.now()
    assert (before["state"], before["sentence"]["about"]) == ("none", "idle")
    workers = [
        start_locust(str(late), "--worker", "--master-host", "127.0.0.1", "--master-port", port, *exported)
        for _ in range(2)
    ]
    eventually(lambda: json.loads(get(f"{web.url}/worker-count"))["worker_count"] == 2)
    web.swarm()
    loading = web.until(
        lambda now: (
            throttles(now) > 200
            and now["keys"]["by_throttles"]
            and now["throttles"]["per_s"]
            and now["capacity"][0]["consumed_per_s"]
        )
    )
    assert loading["state"] == "loading"
    assert loading["sentence"]["about"] in ("partition", TOO_SLOW)
    assert re.search(r"Throttling: \d+/s, all .* key hot\.$", loading["sentence"]["text"])
    assert [one["users"] for one in loading["generator"]["processes"]] == [5, 5]
    assert loading["run"]["table"] == "short-table"
    (table,) = loading["capacity"]
    assert (table["direction"], table["limit"]) == ("write", 4_000)

    workers[0].kill()
    lost = web.until(lambda now: now["generator"]["missing"])
    assert "it had 5 of 10 users" in lost["generator"]["missing"][0]
    assert sorted(one["state"] for one in lost["generator"]["processes"]) == ["missing", "running"]

    get(f"{web.url}/stop", b"")
    over = web.until(lambda now: now["state"] == "ended")
    run = eventually(lambda: finished(folder))  # written after all other files
    over = web.until(lambda now: throttles(now) == run["totals"]["throttled"])
    assert re.search(r"(^|table\. |this much\. )Ended after", over["sentence"]["text"])
    hottest = json.loads((folder / "keys.json").read_text())["by_throttles"]["write"][0]
    assert over["keys"]["by_throttles"][0]["key"] == hottest["shown"]
    counted = re.findall(
        r"\nkeyheat_load_attempts_total{.*} (\S+)", get(f"http://127.0.0.1:{metrics}/metrics")
    )
    assert sum(map(float, counted)) == run["totals"]["attempts"], "of all workers, which export nothing"
    web.process.terminate()
    assert web.process.wait(PATIENCE_S) == 0
    assert workers[1].wait(PATIENCE_S) == 0
    assert "metrics for Prometheus" not in workers[1].communicate()[1]

    assert verb("analyze", "--report", folder).code in OR_TOO_SLOW
    assert any("was lost at" in line for line in read_diagnosis(folder / "diagnosis.json").coverage.missing)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert re.search(r'class="warning">Worker \S+ was lost at', page)


def test_the_pages_colours_are_those_of_the_reports() -> None:
    light, dark = (STATIC / "live.css").read_text().split("@media", maxsplit=1)
    for text, palette in ((light, LIGHT), (dark.split("\n")[0], DARK)):
        colours = dict(re.findall(r"--([a-z_]+):(#[0-9a-f]{6})", text))
        assert len(colours) >= 14
        assert {name: palette[name] for name in colours} == colours


@pytest.mark.browser
def test_in_a_browser(start_locust: Start, endpoint: EndpointProcess, tmp_path: Path, visit: Any) -> None:
    hostile = "<img src=x onerror=console.log(1)>"
    scenario = a_scenario_file(tmp_path, SHORT, question=f"{hostile}?")
    web = Web(start_locust, scenario, tmp_path / "run", endpoint.url)
    locusts = visit(web.url)
    locusts.wait_for_selector('input[name="userCount"]', timeout=PATIENCE_S * 1000)
    assert not locusts.is_visible('input[name="host"]')
    assert locusts.input_value('input[name="host"]') == endpoint.url
    page = visit(f"{web.url}/keyheat")
    eventually(lambda: page.text_content("#sentence").startswith("No run yet"))
    assert not page.is_visible("#running")

    web.swarm()
    eventually(lambda: re.search(r"Throttling: .* key hot", page.text_content("#sentence")))
    page.wait_for_selector("#by_throttles td.key", timeout=PATIENCE_S * 1000)
    assert page.text_content("#question") == f"{hostile}?"
    eventually(lambda: page.text_content("#chip") in ("Partition limit", "Generator limit"))
    assert page.locator("#reasons i.fill-partition").count() == 1
    assert "4,000 provisioned" in page.text_content("#capacity")
    before = page.text_content("#stats")
    eventually(lambda: page.text_content("#stats") != before)
    assert page.wrong == []
    assert all(address.startswith(f"{web.url}/keyheat") for address in page.fetched), page.fetched

    other = visit(f"{web.url}/keyheat", width=360)
    for width, dark in ((360, False), (1100, True)):
        other.set_viewport_size({"width": width, "height": 900})
        other.emulate_media(color_scheme="dark" if dark else "light")
        other.wait_for_selector("#capacity td")
        assert other.evaluate("document.documentElement.scrollWidth") <= width
        ground = other.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(18, 22, 27)" if dark else "rgb(250, 250, 248)")
        assert other.wrong == []

    locusts.click("text=Live throttles")
    locusts.wait_for_url(f"{web.url}/keyheat")

    web.process.terminate()
    web.process.wait(PATIENCE_S)
    page.wait_for_selector("#stale", state="visible")
