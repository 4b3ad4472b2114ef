"""The commands of docs/runs.md do what the page says."""

import json
import re
from pathlib import Path

from keyheat.cli.pages import PORT
from keyheat.pages.runs.found import DEPTH
from keyheat.pages.runs.trends import LEAST_EFFECT, MOST
from tests.made_runs import summary, written

PAGE = (Path(__file__).parents[1] / "docs" / "runs.md").read_text(encoding="utf-8")
COMMANDS = [
    "keyheat runs",
    "keyheat runs reports/out --out reports/out/all.html",
    "keyheat runs --json",
    "keyheat serve",
]


def test_its_commands(verb, tmp_path, monkeypatch):
    blocks = re.findall(r"^```sh\n(.*?)\n^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert blocks == COMMANDS  # the last one is run in test_serve.py, on any free port
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KEYHEAT_HISTORY", raising=False)
    written(tmp_path / "reports" / "out" / "one", summary())
    page, elsewhere, told, _serve = (command.split()[1:] for command in COMMANDS)
    assert verb(*page).says("1 run: reports/out/runs.html")
    assert verb(*elsewhere).says("1 run: reports/out/all.html")
    assert {path.name for path in (tmp_path / "reports" / "out").glob("*.html")} == {"runs.html", "all.html"}
    (run,) = json.loads(verb(*told).out)["runs"]
    assert [name for name in run if f"`{name}`" not in PAGE] == []


def test_its_numbers():
    assert f"127.0.0.1:{PORT}/" in PAGE
    assert (DEPTH, MOST, LEAST_EFFECT) == (6, 200, 0.03)
    for said in ("six deep", "newest 200", "3 % or more"):
        assert said in PAGE
