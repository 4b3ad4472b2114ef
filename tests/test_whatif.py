"""keyheat whatif, as docs/whatif.md has it; and the exit codes of those who ask for what cannot be."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "whatif.md").read_text(encoding="utf-8")
Verb = Callable[..., Any]
COMMANDS = {
    "keyheat whatif hotkey shards": 0,
    "keyheat whatif too-small write-capacity": 0,
    "keyheat whatif hotkey write-capacity": 1,
    "keyheat whatif hotkey shards --json": 0,
    "keyheat whatif hotkey shards --out reports/out/shards": 0,
}


def test_the_page_shows_these_commands() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert {line for block in blocks for line in block.splitlines()} == set(COMMANDS)


@pytest.mark.slow
def test_the_page_shows_what_is_said(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = verb("whatif", "hotkey", "shards")
    assert said.code == 0
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert said.says(shown)
    assert max(map(len, said.out.splitlines())) <= 80


@pytest.mark.slow
def test_a_capacity_is_found_with_its_price(verb: Verb) -> None:
    said = verb("whatif", "too-small", "write-capacity")
    assert said.code == 0
    (found,) = re.findall(r"^([\d,]+) WCU are enough", said.out)
    assert 760 <= int(found) <= 808  # 800 writes/s of one unit
    assert said.says("Nothing that was saved up counts")
    assert "$" in said.out


def test_a_hot_key_is_not_helped_by_capacity(verb: Verb) -> None:
    said = verb("whatif", "hotkey", "write-capacity")
    assert said.code == 1
    assert said.says("Not even 40,000 WCU are enough")
    assert said.says("ask how many shards are enough (keyheat whatif hotkey shards)")


def test_the_answer_as_json(verb: Verb) -> None:
    said = verb("whatif", "hotkey", "shards", "--json", "--throttle-share", "0.2")
    assert said.code == 0
    answer = json.loads(said.out)
    assert (answer["format"], answer["question"], answer["answer"]) == ("keyheat.whatif/1", "shards", 2)
    assert answer["formula"] == 2
    one, two, *_more = answer["candidates"]
    assert (one["value"], one["enough"]) == (1, False)
    assert one["limited_by"][0]["constraint"] == "partition"
    assert (two["value"], two["enough"], two["queries_per_read"]) == (2, True, 2)
    assert set(two["throttle_share_by_seed"]) == {"1", "2"}
    assert two["provisioned_dollars_per_month"] > 0


@pytest.mark.slow
def test_the_answer_as_a_page(verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = verb("whatif", "hotkey", "shards", "--out", "reports/out/shards", "--throttle-share", "0.2")
    assert said.code == 0
    assert said.says("The page: reports/out/shards/whatif.html")
    folder = tmp_path / "reports" / "out" / "shards"
    assert {path.name for path in folder.iterdir()} == {"whatif.html", "whatif.json"}
    text = (folder / "whatif.html").read_text().replace("\u00a0", " ")
    sentence = json.loads((folder / "whatif.json").read_text())["sentence"]
    assert f'<h1 id="verdict">{sentence}</h1>' in text
    assert "<code>keyheat whatif hotkey shards --throttle-share 0.2</code>" in text
    again = verb("whatif", "hotkey", "shards", "--out", "reports/out/shards")
    assert (again.code, again.out) == (2, "")
    assert again.says("is not an empty folder") or "is not an empty folder" in again.err


@pytest.mark.slow
def test_the_answer_of_an_index_names_it(verb: Verb) -> None:
    said = verb("whatif", "country-index", "shards", "--index", "by-country", "--most", "4")
    assert said.code == 0
    assert said.says("3 shards are enough")
    assert said.says("by the limit of one partition of index by-country (writes)")


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        (("nobody", "shards"), "neither a file nor one of"),
        (("hotkey", "shards", "--index", "by-day"), "has no global index 'by-day'; it has none"),
        (("table-per-period-on-demand", "write-capacity"), "is on demand: it has no capacity"),
        (("replay", "shards"), "replays a trace"),
        (("hotkey", "users"), "is not one of"),
        (("hotkey", "shards", "--throttle-share", "2"), "is not in the range"),
        (("hotkey", "shards", "--throttle-share", "nan"), "nan is no number"),
    ],
)
def test_what_cannot_be_asked_is_exit_code_2(verb: Verb, asked: tuple[str, ...], wrong: str) -> None:
    said = verb("whatif", *asked)
    assert said.code == 2
    assert "".join(wrong.split()) in "".join(said.err.split())
