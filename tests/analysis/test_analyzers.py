"""Analyzers: how they are loaded and asked, what each finds, and what a user's own may do wrong."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.analyzers import PLACED, answers, shipped_analyzer
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Finding, read_diagnosis
from keyheat.runs.manifest import Keys, Manifest
from keyheat.runs.run import Run
from keyheat.shipped import shipped
from tests.analysis.conftest import NUMBERS
from tests.make import KEY_RANGE, START, a_manifest, client_seconds, consumed, provisioned, throttled
from tests.make import a_series as series
from tests.make import an_evidence as evidence
from tests.make import throttle_events as events

ROOT = Path(__file__).parents[2]
HOT = evidence(throttles=throttled(KEY_RANGE, range(10, 40)))
GOOD = "from keyheat import Finding\n\n\ndef analyze(run):\n    return [Finding(label='seen', because=())]\n"
ACCEPTED = "accepted: a list of keyheat.Finding, or an iterator over them"
NONE = " has no function analyze(run)"
BAD: dict[str, tuple[str, str]] = {
    # what is wrong, the file, what is said of it after its name
    "it does not import": ("import nosuch\n", ", line 1: ModuleNotFoundError: No module named 'nosuch'"),
    "it is no Python": ("\ndef analyze(:\n", ", line 2: SyntaxError: invalid syntax (one.py, line 2)"),
    "it has another function": (
        "x = 1\ndef analyse(run):\n    return []\n",
        f"{NONE}; did you mean analyse in line 2?",
    ),
    "it has functions of other names": ("def rate():\n    return 1\n", f"{NONE}; it has rate"),
    "it has no function": ("analyze = 3\n", f"{NONE}; it has no functions"),
    "it takes nothing": (
        "def analyze():\n    return []\n",
        ", line 1: analyze() has the wrong parameters; accepted: the run, or the run and the thresholds",
    ),
    "it raises": (
        "def analyze(run):\n    x = 1\n    return x / 0\n",
        ", line 3: ZeroDivisionError: division by zero",
    ),
    "it raises as it goes on": (
        "def analyze(run):\n    yield from ()\n    raise KeyError('x')\n",
        ", line 3: KeyError: 'x'",
    ),
    "it ends the program": ("import sys\ndef analyze(run):\n    sys.exit(4)\n", ", line 3: SystemExit: 4"),
    "it gives nothing": ("def analyze(run):\n    pass\n", f", line 1: analyze returned None; {ACCEPTED}"),
    "it gives words": (
        "def analyze(run):\n    return ['a']\n",
        f", line 1: analyze returned 'a'; {ACCEPTED}",
    ),
    "it never ends": (
        "from itertools import repeat\nfrom keyheat import Finding\ndef analyze(run):\n"
        "    return repeat(Finding(label='a', because=()))\n",
        ", line 3: analyze returned more than 1,000 findings",
    ),
    "its finding is none": (
        "from keyheat import Finding\ndef analyze(run):\n"
        "    return [Finding(label='', because='x', confidence=2)]\n",
        ", line 3: ValidationError: String should have at least 1 character, got '' @ $.label; "
        "should be a list, got 'x' @ $.because; "
        "Input should be less than or equal to 1, got 2 @ $.confidence",
    ),
}  # fmt: skip


def found_by(name: str, *, client: ClientFiles | None = None, **what: Any) -> list[Finding]:
    found = what.pop("found", None) or evidence(*what.pop("series", ()), **what)
    return list(shipped_analyzer(name).run(Run(found, client=client), NUMBERS))


def saved(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)
    return path


def test_every_analyzer_that_ships_asks_one_question() -> None:
    folder = shipped("analyzers")
    names = {path.stem for path in folder.glob("[!_]*.py")} | {
        path.parent.name for path in folder.glob("*/__init__.py")
    }
    assert names > set(PLACED)
    for name in names:
        if name not in PLACED or name == "partition_or_table":
            assert shipped_analyzer(name) is shipped_analyzer(name), "loaded once"
        path = shipped_analyzer(name).path
        text = (path / "__init__.py" if path.is_dir() else path).read_text()
        assert re.match(r'""".*\?', text), f"{name} begins with its question"
    page = (ROOT / "docs" / "analyzers.md").read_text()
    assert {name for name in names if f"../analyzers/{name}" in page} == names


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_with_its_line_and_the_others_are_heard(
    text: str, said: str, tmp_path: Path
) -> None:
    bad, good = saved(tmp_path, "one.py", text), saved(tmp_path, "two.py", GOOD)
    for paths in ((bad, good), (good, bad)):
        heard = answers(paths, Run(HOT), NUMBERS)
        assert heard.problems == (f"{bad}{said}",)
        assert [(one.analyzer, one.label) for one in heard.findings] == [("two", "seen")]


def test_a_folder_is_one_analyzer_or_holds_several(tmp_path: Path) -> None:
    saved(tmp_path, "whole/__init__.py", "from keyheat import Finding\nfrom .words import WORD\n\n\n"
          "def analyze(run, numbers):\n    share = numbers.noise.share\n"
          "    yield Finding(label=WORD, because=(f'{share}',))\n")  # fmt: skip
    saved(tmp_path, "whole/words.py", "WORD = 'parts'\n")
    saved(tmp_path, "two.py", GOOD)
    saved(tmp_path, "_helper.py", "raise RuntimeError\n")
    heard = answers([tmp_path], Run(HOT), NUMBERS)
    assert heard.problems == ()
    assert [(one.analyzer, one.label) for one in heard.findings] == [("two", "seen"), ("whole", "parts")]
    assert answers([tmp_path / "whole"], Run(HOT), NUMBERS).findings == heard.findings[1:]
    saved(tmp_path, "whole/words.py", "WORD = 'changed since'\n")
    assert answers([tmp_path / "whole"], Run(HOT), NUMBERS).findings[0].label == "changed since"


def test_a_path_that_holds_no_analyzer_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    text = saved(tmp_path, "notes.txt", "")
    heard = answers([tmp_path / "empty", text, tmp_path / "nosuch.py"], Run(HOT), NUMBERS)
    accepted = "an analyzer is a Python file, or a folder of them"
    assert heard.problems == (
        f"{tmp_path}/empty: no Python file in this folder; {accepted}",
        f"{text}: not a Python file; {accepted}",
        f"{tmp_path}/nosuch.py: no such file or folder; {accepted}",
    )


@pytest.mark.slow
def test_findings_stand_in_terminal_file_and_page_and_obey_nobody(
    verb: Callable[..., Any], sample: Callable[..., Path], tmp_path: Path
) -> None:
    text = GOOD.replace("'seen'", r"'se\x1b[31men <b>'").replace("()", "('<script>alert(1)</script>',)")
    good, bad = saved(tmp_path, "mine.py", text), saved(tmp_path, "bad.py", "print('noise')\n1 / 0\n")
    run = sample("hotkey")
    alone = verb("analyze", run)
    said = verb("analyze", run, "--with", good, "--with", bad)
    assert (alone.code, said.code) == (0, 2)
    assert f"{bad}, line 2: ZeroDivisionError: division by zero" in said.err
    assert "noise" in said.err
    block = "What else was found\n  - mine: se\ufffd[31men <b> (the whole run; confidence 100 %)\n"
    assert said.out.replace(f"\n{block}    <script>alert(1)</script>\n", "") == alone.out != said.out
    diagnosis = json.loads((run / "diagnosis.json").read_text())
    assert [one["analyzer"] for one in diagnosis["findings"]] == ["mine"]
    assert len(diagnosis["problems"]) == 1
    assert verb("report", run).code == 0
    page = (run / "report.html").read_text()
    assert "What else was found" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page
    assert "bad.py, line 2: ZeroDivisionError" in page


@pytest.mark.slow
@pytest.mark.usefixtures("no_page")
def test_the_other_verbs_that_make_a_diagnosis_ask_as_well(verb: Callable[..., Any], tmp_path: Path) -> None:
    good, bad = saved(tmp_path, "mine.py", GOOD), saved(tmp_path, "bad.py", "1 / 0\n")
    run = tmp_path / "run"
    said = verb(
        "simulate", "hotkey", "--set", "load.duration_s=20", "--out", run, "--with", good, "--with", bad
    )
    assert said.code == 2
    assert [one.label for one in read_diagnosis(run / "diagnosis.json").findings] == ["seen"]


def test_the_generator_is_asked_of_a_run_of_ours_alone() -> None:
    manifest = {"started_at": START, "table": {"name": "orders"}}
    bound, well = {"bound": True, "checks": ["CPU was full"]}, {"bound": False, "checks": ["it kept up"]}
    rows: list[tuple[Any, str, str]] = [
        (None, "not-ours", "No load of ours: the evidence alone was analyzed."),
        (manifest, "not-recorded", "The generator's health was not recorded."),
        ({**manifest, "generator": bound}, "generator-bound", "CPU was full."),
        ({**manifest, "generator": well}, "kept-up", "It kept up."),
    ]
    for content, label, because in rows:
        client = ClientFiles(manifest=Manifest.model_validate(content)) if content else None
        (found,) = found_by("was_it_the_generator", found=HOT, client=client)
        assert (found.label, found.because) == (label, (because,))


def test_an_index_that_refuses_writes_holds_its_table_back() -> None:
    (found,) = found_by(
        "index_pressure", indexes=2,
        series=(
            events(0, 500, index="by_0"), consumed(230, 90, index="by_0"), provisioned(100, "by_0"), events(0)
        ),
    )  # fmt: skip
    assert (found.label, found.resource, found.direction) == ("back_pressure", "by_0", "write")
    assert found.because == (
        "500 throttled writes to the table: index by_0 could not keep up.",
        "Its busiest throttled minute consumed 90 of 100 provisioned WCU/s (90 %).",
    )
    assert found_by("index_pressure", found=HOT) == []


@pytest.mark.parametrize(
    ("counted", "more", "said"),
    [
        ({"conditions.failed": 50.0}, (), "50 failed conditions, 5 % of all writes: "),
        ({"conditions.failed": 5.0}, (), None),  # too few to be worth a word
        ({}, (series("TransactionConflict", 20, 20),), "40 transaction conflicts, 4 % of all writes: "),
    ],
)
def test_writers_that_meet(counted: dict[str, float], more: tuple[Any, ...], said: str | None) -> None:
    manifest = a_manifest(counted=counted)
    found = found_by(
        "contention", client=ClientFiles(manifest=manifest), series=more,
        seconds=client_seconds((range(10), 100, 0)),
    )  # fmt: skip
    assert [one.because[0].startswith(said or "nothing") for one in found] == ([True] if said else [])


def test_contention_says_what_it_is_and_on_which_key() -> None:
    counted = {"transactions.requests": 500.0, "transactions.conflicts": 200.0, "writes.conflicts": 50.0}
    manifest = a_manifest(counted=counted)
    met = [{"key": "sha256:1", "shown": "total/shoes", "count": 240}, {"key": "sha256:2", "count": 10}]
    keys = Keys.model_validate({"contended": {"conflicts": met}})
    client = ClientFiles(manifest=manifest, keys=keys)
    (found,) = found_by("contention", client=client, seconds=client_seconds((range(10), 100, 0)))
    assert (found.label, found.direction) == ("contention", "write")
    first, of_transactions, where, not_capacity, helps = found.because
    assert first.startswith("250 transaction conflicts, 25 % of all writes: ")
    assert of_transactions == "Of 500 transactions, 40 % were cancelled for it."
    assert where == "The key with most conflicts is total/shoes: 96 % of those whose key was recorded."
    assert not_capacity.startswith("Nothing was throttled. This is contention, not capacity")
    assert "retry with jitter" in helps
    assert found.numbers["of all writes"] == (25.0, "%")


def test_the_heat_is_on_one_key_or_moves() -> None:
    counted = {"rule": "r", "counts": "throttled", "period_s": 60, "total": 100}
    rule = {**counted, "keys": [{"key": "k", "value": 80}]}
    (found,) = found_by("hot_keys", contributors=[rule])
    assert (found.label, found.resource) == ("one_key", "table")
    assert found.numbers == {"first key": (80, "%"), "throttled": (100, "requests")}
    window = {"seconds": 10, "direction": "write"}
    keys = Keys.model_validate(
        {
            "overall": {"write": [{"key": day, "units": 10.0} for day in ("mon", "tue")]},
            "windows": [
                {**window, "start": START.replace(second=10 * n), "top": [{"key": day, "units": 9.0}]}
                for n, day in enumerate(("mon", "mon", "tue", "tue"))
            ],
        }
    )
    (found,) = found_by("hot_keys", found=HOT, client=ClientFiles(keys=keys))
    assert (found.label, found.direction) == ("moving", "write")
    assert found.numbers == {"keys that led": (2, "")}
