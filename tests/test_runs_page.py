"""The commands of docs/runs.md do what the page says."""

import json
import re
from pathlib import Path

from keyheat.pages.runs.found import DEPTH
from tests.made_runs import summary, written

PAGE = (Path(__file__).parents[1] / "docs" / "runs.md").read_text(encoding="utf-8")
COMMANDS = ["keyheat runs", "keyheat runs reports/out --out reports/out/all.html", "keyheat runs --json"]


def test_its_commands(verb, tmp_path, monkeypatch):
    blocks = re.findall(r"^```sh\n(.*?)\n^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert blocks == COMMANDS
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KEYHEAT_HISTORY", raising=False)
    written(tmp_path / "reports" / "out" / "one", summary())
    page, elsewhere, told = (command.split()[1:] for command in COMMANDS)
    assert verb(*page).says("1 run: reports/out/runs.html")
    assert verb(*elsewhere).says("1 run: reports/out/all.html")
    assert {path.name for path in (tmp_path / "reports" / "out").glob("*.html")} == {"runs.html", "all.html"}
    (run,) = json.loads(verb(*told).out)["runs"]
    assert [name for name in run if f"`{name}`" not in PAGE] == []


def test_its_number():
    assert DEPTH == 6
    assert "six deep" in PAGE
