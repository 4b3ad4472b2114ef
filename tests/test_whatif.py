"""keyheat whatif, as docs/whatif.md has it; its exit codes; and searches by runs that are really loaded."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from keyheat.cli import whatif as verb_of_whatif
from keyheat.model.retries import POLICIES, QUOTA_TOKENS
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.variants import lasting
from keyheat.simulator.jobs import Job
from keyheat.simulator.requests import SERVICE_S
from keyheat.simulator.retrying import MOST_REQUESTS
from tests.conftest import ROOT, Verb
from tests.loaded_runs import written_run
from tests.make import with_nights

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]

PAGE = (ROOT / "docs" / "whatif.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
SHOWN = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS: dict[str, tuple[int, str]] = {
    "keyheat whatif hotkey shards": (0, SHOWN[0]),
    "keyheat whatif too-small capacity": (0, "803 WCU are enough; with"),
    "keyheat whatif hotkey capacity": (1, "ask keyheat whatif hotkey shards"),
    "keyheat whatif hotkey load": (0, SHOWN[1]),
    "keyheat whatif country-index load --from 25 --to 1250": (
        0, "a partition limit of index by-country (writes)",
    ),
    "keyheat whatif sharded shards --target local --out reports/out/shards": (0, "are enough"),
    "keyheat whatif hotkey retries": (0, SHOWN[2]),
    "keyheat whatif hotkey retries --set load.requests_per_s=160 --sdk boto3-2026 --sdk boto3-2025": (
        0, "With boto3-2026 11 % of 8,000 requests are given up",
    ),
    "keyheat simulate hotkey --set 'client.sdk=\"boto3-2026\"' --set client.clients=10": (0, "throttle"),
    "keyheat whatif hotkey shards --out reports/out/mine": (0, "Page: reports/out/mine/whatif.html"),
    "keyheat whatif too-small load --json": (0, '"format": "keyheat.answer/1"'),
}  # fmt: skip
"""Each command of the page, its exit code, and what it says."""
AT_NIGHT = {command for command in COMMANDS if "country-index" in command or "--target local" in command}
"""Those that simulate for a quarter of a minute each."""


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Loads that are answered by the model, and a generator that cannot send 750 requests a second."""
    made: list[Job] = []

    def make_run(job: Job, _how: object, *, of_series: tuple[int, int]) -> int:
        made.append(job)
        assert of_series[0] == len(made) <= of_series[1]
        short = replace(job, scenario=lasting(job.scenario, 10))
        return written_run(short, bound=(job.scenario.load.requests_per_s or 0) >= 750)

    monkeypatch.setattr(verb_of_whatif, "make_run", make_run)
    return made


def test_the_page_shows_these_commands() -> None:
    assert {line for block in BLOCKS for line in block.splitlines()} == COMMANDS.keys()


@pytest.mark.parametrize("command", with_nights(COMMANDS, AT_NIGHT))
def test_the_page_shows_what_is_said(verb: Verb, loads: list[Job], command: str) -> None:
    code, words = COMMANDS[command]
    said = verb(*shlex.split(command)[1:])
    assert said.code == code, said.err
    assert said.says(words), said.out


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    assert [f"`{policy.name}`" for policy in POLICIES if f"`{policy.name}`" not in PAGE] == []
    assert f"{QUOTA_TOKENS:.0f} tokens a client" in PAGE
    assert f"takes {SERVICE_S * 1000:.0f} ms" in PAGE
    assert MOST_REQUESTS == 500_000


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        (("nobody", "shards"), "neither a file nor one of"),
        (("hotkey", "users"), "is not one of"),
        (("hotkey", "shards", "--index", "by-day"), "has no global index 'by-day'; it has none"),
        (("hotkey", "shards", "--to", "2.5"), "are whole numbers, not 2.5"),
        (("hotkey", "shards", "--to", "nan"), "nan is not a number"),
        (("hotkey", "shards", "--sdk", "go-v2"), "--sdk is for retries, not for shards"),
        (("hotkey", "load", "--from", "500", "--to", "400"), "--from 500 is not below --to 400"),
        (("hotkey", "load", "--target", "local", "--table", "mine"), "leave out --table"),
        (("hotkey", "load", "--out", "full"), "is not an empty folder"),
        (("hotkey", "shards", "--target", "local"), "spreads no key"),
        (("table-per-period-on-demand", "capacity"), "is on demand: it has no capacity"),
        (("dynamic-sharding", "shards"), "adds shards by itself"),
        (("replay", "load"), "replays a trace"),
        (("hotkey", "retries", "--target", "local"), "--target is for shards and capacity and load"),
        (
            ("hotkey", "retries", "--set", "load.requests_per_s=20_000", "--duration", "30"),
            "at most 500,000 are tried one by one",
        ),
    ],
)
def test_wrong_questions_are_exit_code_2(verb: Verb, home: Path, asked: tuple[str, ...], wrong: str) -> None:
    (home / "full").mkdir()
    (home / "full" / "run.json").write_text("{}")
    said = verb("whatif", *asked)
    assert said.code == 2
    assert "".join(wrong.split()) in "".join(said.err.split())
    assert not (home / "reports").exists()


def test_the_answer_for_programs_and_as_a_page(verb: Verb, home: Path) -> None:
    """What is in it: tests/pages."""
    said = verb("whatif", "hotkey", "shards", "--json", "--out", "mine")
    assert said.code == 0
    content = json.loads(said.out)
    assert (content["format"], content["link"]) == ("keyheat.answer/1", "mine/whatif.html")
    assert (content["data"]["answer"], content["data"]["exit_code"]) == (4, 0)
    assert {path.name for path in (home / "mine").iterdir()} == {"whatif.html", "whatif.json"}
    assert json.loads((home / "mine" / "whatif.json").read_text())["data"] == content["data"]
    page = (home / "mine" / "whatif.html").read_text().replace("\u00a0", " ")
    assert f'<h1 id="verdict">{content["sentence"]}</h1>' in page


@pytest.mark.nightly
def test_loaded_runs_have_tables_and_files_of_their_own(verb: Verb, loads: list[Job], home: Path) -> None:
    said = verb(
        "whatif", "hotkey", "load", "--target", "local", "--from", "112", "--to", "500", "--duration", "10",
        "--out", "k",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert said.says("by a partition limit of the table")
    assert "at most 10 runs on local" in said.err
    names = [job.scenario.table.name for job in loads]
    assert len(set(names)) == len(names)
    assert names[0] == "keyheat-hotkey-load-112"
    assert load_scenario(home / "k" / "load-112.json").load.duration_s == 10
    assert {job.scenario.seed for job in loads} == {1, 2}
    content = json.loads((home / "k" / "whatif.json").read_text())
    assert sorted(step["folder"] for step in content["data"]["steps"]) == sorted(str(j.folder) for j in loads)
    (steps,) = (table for table in content["tables"] if table["links"])
    links = {*steps["links"]}
    assert len(links) == len(steps["rows"])
    assert links <= {f"{job.folder.name}/report.html" for job in loads}
    page = (home / "k" / "whatif.html").read_text()
    assert all(f'href="{link}"' in page for link in links)


def test_a_failed_run_ends_the_search(verb: Verb, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(verb_of_whatif, "make_run", lambda *_args, **_more: 130)
    said = verb("whatif", "hotkey", "load", "--target", "local", "--out", "k")
    assert (said.code, said.out) == (130, "")
    assert "its runs are kept in k" in said.err
    assert (home / "k" / "load-250.json").exists()
