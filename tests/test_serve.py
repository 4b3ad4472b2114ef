"""The server of runs: what it answers to whom, what it shows while runs go on, and how it ends."""

import json
import os
import re
import shlex
import shutil
import signal
import sys
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from platform import node
from types import SimpleNamespace
from zipfile import ZipFile

import psutil
import pytest

from keyheat.addresses import Hosts, on_this_machine
from keyheat.cli.pages import _again, serve
from keyheat.pages.run.report import write_report
from keyheat.pages.runs.app import HEADERS, Site, address_of, app_of, listening
from keyheat.pages.runs.found import RunSearch
from keyheat.pages.runs.index import Recall
from keyheat.pages.runs.look import Look, Pages
from keyheat.runs.folder import Underway, forget_underway, read_underway, write_underway
from keyheat.scenario.scenario import load_scenario
from keyheat.simulator.folder import SIMULATING, under_way
from tests.made_runs import started, summary, written
from tests.outside import a_readers_environment, end_all, get
from tests.outside import started as process
from tests.rehearsal import SCENARIOS

ROOT = Path(__file__).parents[1]


class Clock:
    """A time that passes when somebody says so."""

    def __init__(self) -> None:
        self.now_s = datetime(2026, 11, 20, 13, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def site(tmp_path, clock):
    """Of the runs in tmp_path/runs, for this machine alone."""
    folder = tmp_path / "runs"
    folder.mkdir()
    recall = Recall(tmp_path / "history.sqlite", lambda: datetime.fromtimestamp(clock(), UTC))
    return Site(
        look=Look(folders=(folder,), search=RunSearch(), recall=recall, clock=clock),
        pages=Pages(clock=clock),
        hosts=Hosts(frozenset({"127.0.0.1"})),
        command="keyheat serve",
        show_keys=True,
    )


@pytest.fixture
def client(site):
    return app_of(site).test_client()


def look(client, clock, name="runs.json"):
    """What the server says once it has to look again."""
    clock.now_s += 60
    return client.get(f"/{name}").get_json()


def key_of(client, clock, scenario="hotkey"):
    content = look(client, clock)
    names = [content["words"][number] for number in content["columns"]["scenario"]]
    return content["columns"]["key"][names.index(scenario)]


def test_the_page_has_the_runs_and_asks_for_more(client, tmp_path):
    written(tmp_path / "runs" / "one", summary())
    answer = client.get("/")
    text = answer.get_data(as_text=True)
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert "connect-src 'self'" in text
    assert '"version":"' in text
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


@pytest.mark.parametrize("path", ["/", "/runs.json", "/now.json"])
def test_what_has_not_changed_is_not_sent_again(client, clock, tmp_path, path):
    written(tmp_path / "runs" / "one", summary())
    first = client.get(path)
    again = {"If-None-Match": first.headers["ETag"]}
    assert client.get(path, headers=again).status_code == 304
    written(tmp_path / "runs" / "two", summary(hours=1))
    assert client.get(path, headers=again).status_code == 304  # many who look cost no more than one
    clock.now_s += 60
    assert client.get(path, headers=again).status_code == 200


def test_a_new_run_appears(client, clock, tmp_path):
    assert look(client, clock)["columns"]["key"] == []
    before = look(client, clock, "now.json")["version"]
    written(tmp_path / "runs" / "one", summary())
    assert look(client, clock, "now.json")["version"] != before
    assert len(look(client, clock)["columns"]["key"]) == 1


def test_a_run_that_is_going_on_moves_and_then_is_there(client, clock, tmp_path):
    own = psutil.Process()
    folder = started(tmp_path / "runs" / "one", "hotkey")
    now = Underway(
        at_s=clock(), phase="loading", elapsed_s=5.0, duration_s=60.0, accepted=70, throttled=30,
        seconds=((14, 6, 0),) * 5, host=node(), pid=own.pid, born_s=own.create_time(),
    )  # fmt: skip
    write_underway(folder, now)
    (moving,) = look(client, clock, "now.json")["underway"]
    assert (moving["scenario"], moving["doing"], moving["accepted"]) == ("hotkey", "loading", 70)
    assert moving["elapsed_s"] == 65.0  # the minute since it spoke is load, too
    version = look(client, clock, "now.json")["version"]
    write_underway(folder, now.model_copy(update={"accepted": 84, "elapsed_s": 6.0}))
    then = look(client, clock, "now.json")
    assert (then["underway"][0]["accepted"], then["version"]) == (84, version)
    assert look(client, clock)["columns"]["key"] == []
    forget_underway(folder)
    written(folder, summary())
    over = look(client, clock, "now.json")
    assert (over["underway"], over["version"] != version) == ([], True)
    assert client.get(f"/run/{key_of(client, clock)}/report").status_code == 200


def test_a_simulation_that_is_going_on_moves_and_a_killed_one_never_ended(client, clock, tmp_path):
    folder = tmp_path / "runs" / "one"
    folder.mkdir(parents=True)
    scenario = load_scenario(SCENARIOS / "hotkey.toml")
    with under_way(scenario, 1, folder, "hotkey.toml", print) as watch:
        watch.seen(SimpleNamespace(attempts={"write": 30}, throttled={"write": 12}, conflicts=0))
        watch.signs.enter(SIMULATING)
        (moving,) = look(client, clock, "now.json")["underway"]
        assert (moving["scenario"], moving["target"], moving["doing"]) == (
            "hotkey",
            "simulated",
            "simulating",
        )
        assert (moving["elapsed_s"], moving["duration_s"]) == (1.0, scenario.load.duration_s)
        assert (moving["accepted"], moving["throttled"]) == (18, 12)
        killed = shutil.copytree(folder, tmp_path / "runs" / "killed")
        signs = read_underway(killed)
        write_underway(
            killed, signs.model_copy(update={"born_s": 1.0})
        )  # its number is another process's now
        assert len(look(client, clock, "now.json")["underway"]) == 1
        shown = look(client, clock)
        assert [shown["words"][number] for number in shown["columns"]["verdict"]] == ["Never ended"]
        watch.analyzing()
    assert look(client, clock, "now.json")["underway"] == []


# ---- whom it answers


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1:8400", 200), ("localhost:8400", 200), ("[::1]:8400", 200), ("LOCALHOST", 200),
        ("evil.example", 403), ("evil.example:8400", 403), ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example", 403), ("", 403), ("[::1", 403),
    ],
)  # fmt: skip
def test_it_answers_to_its_own_names_alone(client, host, code):
    assert client.get("/now.json", headers={"Host": host}).status_code == code


def test_a_machines_name_may_have_capital_letters():
    """A browser asks for it in small ones."""
    hosts = Hosts(frozenset({"Annas-MacBook.local"}))
    assert hosts.answers({"Host": "annas-macbook.local:8400"}.get)
    assert not hosts.answers({"Host": "macbook.local:8400"}.get)


@pytest.mark.parametrize(
    ("where", "how", "code"),
    [("cross-site", "no-cors", 403), ("same-site", "cors", 403), ("cross-site", "navigate", 200),
     ("same-origin", "cors", 200), ("none", "navigate", 200)],
)  # fmt: skip
def test_pages_of_others_get_nothing(client, where, how, code):
    headers = {"Sec-Fetch-Site": where, "Sec-Fetch-Mode": how}
    assert client.get("/runs.json", headers=headers).status_code == code


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_it_only_reads(client, clock, tmp_path, method):
    written(tmp_path / "runs" / "one", summary())
    key = key_of(client, clock)
    before = sorted((tmp_path / "runs").rglob("*"))
    for path in ("/", "/runs.json", f"/run/{key}/report", f"/run/{key}/files/run.json"):
        assert getattr(client, method)(path).status_code == 405
    assert sorted((tmp_path / "runs").rglob("*")) == before


OUTSIDE = (
    "..",
    "../secret",
    "%2e%2e%2fsecret",
    "..%2fsecret",
    "%2fetc%2fpasswd",
    "....//secret",
    "\x00",
    "report.html/..",
)


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_path_leads_out(client, clock, tmp_path, name):
    (tmp_path / "runs" / "secret").write_text("secret")
    written(tmp_path / "runs" / "one", summary())
    key = key_of(client, clock)
    for path in (
        f"/run/{key}/files/{name}",
        f"/run/{name}/report",
        f"/run/{name}/files/run.json",
        f"/{name}",
    ):
        answer = client.get(path)
        assert answer.status_code in (403, 404, 308), path
        assert b"secret</" not in answer.data
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_files_that_are_not_a_runs_own_are_not_given(client, clock, tmp_path):
    folder = written(tmp_path / "runs" / "one", summary())
    (folder / "notes.txt").write_text("secret")
    (tmp_path / "elsewhere").write_text("secret")
    (folder / "keys.json").symlink_to(tmp_path / "elsewhere")
    key = key_of(client, clock)
    listed = client.get(f"/run/{key}/files").get_data(as_text=True)
    assert re.findall(r'href="files/([^"]+)"', listed) == ["diagnosis.json", "run.json", "summary.json"]
    assert client.get(f"/run/{key}/files/notes.txt").status_code == 404
    assert client.get(f"/run/{key}/files/keys.json").status_code == 404
    with client.get(f"/run/{key}/files/run.json") as got:
        assert json.loads(got.data)["format"] == "keyheat.run/1"
        assert got.headers["Content-Disposition"] == "attachment; filename=one-run.json"


def test_key_values_stay_on_this_machine(site, clock, tmp_path):
    folder = written(tmp_path / "runs" / "one", summary())
    (folder / "keys.json").write_text('{"overall": {"write": [{"shown":  "customer-7"}]}}')
    away = app_of(
        Site(look=site.look, pages=site.pages, hosts=site.hosts, command="", show_keys=False)
    ).test_client()
    key = key_of(away, clock)
    for path in ("report", "files", "files/summary.json"):
        answer = away.get(f"/run/{key}/{path}")
        assert (answer.status_code, b"--show-keys" in answer.data) == (403, True)
    assert b"customer-7" not in away.get("/").data + away.get("/runs.json").data
    assert app_of(site).test_client().get(f"/run/{key}/report").status_code == 200


# ---- reports


def test_a_report_that_is_there_is_given(client, clock, tmp_path):
    folder = written(tmp_path / "runs" / "one", summary())
    answer = client.get(f"/run/{key_of(client, clock)}/report")
    assert answer.data == (folder / "report.html").read_bytes()
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.slow
def test_a_report_that_is_not_there_is_made_and_kept_in_memory(client, clock, sample, tmp_path):
    run = sample("hotkey").rename(tmp_path / "runs" / "hotkey")
    before = {path.name for path in run.iterdir()} | {"summary.json"}
    key = key_of(client, clock)
    made = client.get(f"/run/{key}/report").data
    assert b'<section class="hero partition"' in made
    assert {path.name for path in run.iterdir()} == before
    assert client.get(f"/run/{key}/report").data == made
    clock.now_s += 86_400
    assert client.get(f"/run/{key}/report").data == made  # it is the one that was made, not another
    os.utime(run / "diagnosis.json", (clock(), clock()))
    assert client.get(f"/run/{key_of(client, clock)}/report").data != made


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_its_charts_show_can_be_had(client, clock, sample, tmp_path, kind):
    run = sample("hotkey").rename(tmp_path / "runs" / "hotkey")
    key = key_of(client, clock)
    before = {path.name for path in run.iterdir()}
    assert f'href="export/{kind}"' in client.get(f"/run/{key}/files").get_data(as_text=True)
    answer = client.get(f"/run/{key}/export/{kind}")
    with ZipFile(BytesIO(answer.data)) as zipped:
        names = zipped.namelist()
        assert len(names) > 3
        assert all(name.endswith(f".{kind}") and zipped.read(name) for name in names)
    assert {path.name for path in run.iterdir()} == before
    assert client.get(f"/run/{key}/export/exe").status_code == 404


@pytest.mark.slow
def test_a_report_that_is_older_than_the_diagnosis_is_not_shown(clock, sample):
    run = sample("hotkey")
    path = write_report(run, datetime.now(UTC))
    pages = Pages(clock=clock)
    assert pages.report(run) == path.read_bytes()
    os.utime(path, (0, 0))
    assert pages.report(run) != path.read_bytes()


def test_a_run_that_cannot_be_shown_says_why(client, clock, tmp_path):
    written(tmp_path / "runs" / "one", summary(), report=False)
    answer = client.get(f"/run/{key_of(client, clock)}/report")
    assert (answer.status_code, b"diagnosis.json" in answer.data) == (404, True)
    assert str(tmp_path).encode() not in client.get("/run/0123/report").data


# ---- the socket, and the verb


@pytest.mark.opens
def test_a_port_that_is_taken_says_what_to_do(verb, tmp_path):
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        said = verb("serve", tmp_path, "--port", port)
    assert (said.code, said.out) == (2, "")
    assert f"port {port} of 127.0.0.1 is taken" in said.err
    assert "--port 0" in said.err


@pytest.mark.parametrize("more", [[], ["--history", "h.sqlite"], ["--host", "0.0.0.0", "--show-keys"]])
@pytest.mark.parametrize("folders", [[], ["my runs"]])
def test_what_starts_it_again_starts_the_same(tmp_path, monkeypatch, folders, more):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "h.sqlite").touch()
    context = serve.make_context("serve", [*folders, "--port", "0", *more])
    assert shlex.split(_again(context, 8401)) == ["keyheat", "serve", *folders, "--port", "8401", *more]


@pytest.mark.opens
def test_it_listens_where_it_is_told(verb, tmp_path):
    with listening("127.0.0.1", 0) as here:
        assert address_of(here) == f"http://127.0.0.1:{here.getsockname()[1]}/"
    with pytest.raises(ValueError, match="say --host"):
        listening("192.0.2.1", 0)
    assert [on_this_machine(host) for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8")] == [True] * 4
    assert [on_this_machine(host) for host in ("0.0.0.0", "::", "192.168.1.4", "example.com")] == [False] * 4
    assert "no such folder" in verb("serve", tmp_path / "nowhere").err


@pytest.mark.opens
def test_the_process_says_where_it_is_and_ends_with_ctrl_c(tmp_path):
    written(tmp_path / "reports" / "out" / "one", summary())
    command = (sys.executable, "-m", "keyheat", "serve", "--port", "0")
    child = process(command, tmp_path, a_readers_environment() | {"PYTHONPATH": str(ROOT)})
    try:
        assert child.stdout is not None
        line = child.stdout.readline()
        address = line.split()[0]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/  \(Ctrl-C ends it\)\n", line)
        assert json.loads(get(f"{address}now.json"))["underway"] == []
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
        assert (child.returncode, out, err) == (0, "", "")
    finally:
        end_all([child])
