"""What pages state of the code is so: links, words, tables and numbers."""

import csv
import re
import runpy
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import pytest

import keyheat
from benchmarks import _pool, regression
from keyheat import terms
from keyheat.analysis.advice.actions import ACTIONS
from keyheat.analysis.found import DEPTH
from keyheat.cli.main import MENU, cli
from keyheat.load.run.prometheus import PREFIX, SAYS, family_of
from keyheat.load.transport.answer import (
    BAD_HTTP,
    CREDENTIALS,
    CUT_OFF,
    DAMAGED,
    IN_FLIGHT,
    KINDS,
    NO_UNITS,
    NOT_AN_ANSWER,
    Answer,
)
from keyheat.load.transport.retries import PolicyRetries, RetriedCall
from keyheat.model.partitions import MOST_CELLS
from keyheat.model.retries import policy_of
from keyheat.regression.outcome import EXIT_CODES, Gate
from keyheat.regression.suite_spec import CaseSpec, RunSpec, SuiteSpec
from keyheat.runs.formats import Finding
from keyheat.runs.parquet import FRAMES
from keyheat.runs.partitions import MOST_ROWS
from keyheat.runs.run import Run
from keyheat.show.charts import MOST_POINTS
from keyheat.words import THROTTLE_CODES
from tests.docs.page import PAGES, ROOT
from tools import pages

TEXTS = {name: path.read_text(encoding="utf-8") for name, path in PAGES.items()}
FIELDS: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "scenario.py"))


def table(page: str, pattern: str) -> list[tuple[str, ...]]:
    """The rows of a page that look so; a group of the pattern is a cell."""
    rows = re.findall(pattern, TEXTS[page], re.MULTILINE)
    assert rows, f"{page} has no row {pattern}"
    return [row if isinstance(row, tuple) else (row,) for row in rows]


# Links


def anchors(page: str) -> set[str]:
    """What a link into a page may name: its headings as GitHub spells them, and what it names by itself."""
    text = TEXTS[page]
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    spelled = {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}
    return spelled | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    wrong = []
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", TEXTS[page]):
        target = (PAGES[page].parent / path).resolve() if path else PAGES[page]
        name = target.name if target in PAGES.values() else None
        if not target.exists() or (anchor and name and anchor not in anchors(name)):
            wrong.append(f"{path}#{anchor}")
    assert wrong == []


@pytest.mark.nightly
@pytest.mark.opens
def test_the_site_has_every_page_and_no_broken_link(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", tmp_path]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "docs" / "simulate.html").exists()


# Words


def test_the_glossary_defines_every_term_in_the_order_of_the_alphabet() -> None:
    rows = [word for (word,) in table("glossary.md", r"^\| (?!word|---)(.+?) \| .+? \|.*\|$")]
    defined = {word for row in rows for word in row.split(", ")}
    named = {value for name, value in vars(terms).items() if name.isupper() and isinstance(value, str)}
    assert named
    assert named - defined == set()
    assert rows == sorted(rows, key=str.lower)


# Commands in the text


def options_of(verb: click.Command) -> set[str]:
    of_parts = verb.commands.values() if isinstance(verb, click.Group) else ()
    options = {word for parameter in verb.params for word in parameter.opts}
    return {"--help"}.union(options, *map(options_of, of_parts))


@pytest.mark.parametrize("page", PAGES)
def test_commands_named_in_the_text_are_ones_that_there_are(page: str) -> None:
    verbs = {name for names in MENU.values() for name in names}
    for command in re.findall(r"`keyheat ([^`]+)`", TEXTS[page]):
        name, *words = command.split()
        if name.startswith("-"):
            continue
        assert name in verbs, command
        options = {word.partition("=")[0] for word in words if re.match(r"--\w", word)}
        assert options <= options_of(cli.get_command(click.Context(cli), name)), command


def test_every_target_of_make_that_is_named_is_one() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for text in TEXTS.values() for name in re.findall(r"`make ([\w-]+)", text)}
    assert named <= targets


# Pages that are made


def test_the_page_of_fields_is_what_its_command_makes() -> None:
    text = TEXTS["scenario.md"]
    assert text == FIELDS["page"](), "make schema"
    fields = {path.rpartition(".")[2] for path in FIELDS["VERBS"]}
    assert [name for name in fields if not re.search(rf"^\| `{name}` \|.+\|.*\|.+\|$", text, re.M)] == []


@pytest.mark.parametrize("name", pages.BLOCKS)
def test_a_block_of_a_page_is_made_of_its_data(name: str) -> None:
    _page, make = pages.BLOCKS[name]
    assert pages.block_of(name) == make(), "python -m tools.pages"


def test_columns_of_frames_are_listed_as_they_are_declared() -> None:
    assert (pages.DATA / "frames.csv").read_text(encoding="utf-8") == pages.frames(), "python -m tools.pages"
    assert [name for name in FRAMES if f"`run.{name}`" not in TEXTS["files.md"]] == []


def test_metrics_are_listed_with_their_kinds_and_meanings() -> None:
    with (pages.DATA / "metrics.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["metric"], row["type"], row["what it is"]) for row in csv.DictReader(file)]
    assert rows == [(f"{PREFIX}{name}", family_of(name).type, SAYS[name]) for name in SAYS]


# Tables by hand


def answer_of(kind: str) -> Answer:
    """What a transport makes of a failure: it names its own kinds, and a service has a status and a code."""
    if status := re.fullmatch(r"HTTP(\d+)", kind):
        return Answer(int(status[1]), b"", 0.0)
    if kind.endswith(("Exception", "Error", "Unavailable")):
        status_of = 500 if kind in ("InternalServerError", "ServiceUnavailable") else 400
        return Answer(status_of, b'{"__type":"a#%b"}' % kind.encode(), 0.0)
    return Answer(0, b"", 0.0, failure=kind)


def test_kinds_of_failures_are_all_there_and_retried_or_not_as_the_page_says() -> None:
    rows = [cells[0].split(" | ") for cells in table("run.md", r"^\| (.*`.*) \|$")]
    documented = {
        kind: row[3]
        for row in rows
        if len(row) == 4
        for kind in re.findall(r"`(\w+)`", row[0] if row[0].startswith("`") else row[1])
    }
    own = {kind for _type, kind in KINDS}
    own |= {BAD_HTTP, CREDENTIALS, CUT_OFF, DAMAGED, NOT_AN_ANSWER, NO_UNITS, IN_FLIGHT}
    assert own - documented.keys() == set()
    retries = PolicyRetries(policy_of("boto3-2026"), clock=lambda: 0.0)
    for kind in documented.keys() - {IN_FLIGHT}:
        again = retries.delay_s(RetriedCall("PutItem"), answer_of(kind)) is not None
        assert again is (documented[kind] == "yes"), kind


def test_exit_codes_of_regress_are_those_of_the_code() -> None:
    rows = table("regress.md", r"^\| (\d+) \|[^|]*\| ([^|]*) \|$")
    documented = {
        (verdict, int(code)) for code, verdicts in rows for verdict in re.findall(r"`(\w+)`", verdicts)
    }
    assert documented == set(EXIT_CODES.items())


# Names and numbers


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("analyzers.md", {*Finding.model_fields} - {"analyzer"}),
        ("analyzers.md", {f"run.{name}" for name in Run.__dataclass_fields__}),
        ("run.md", THROTTLE_CODES),
        ("simulate.md", ACTIONS),
        ("pytest.md", {name for name in keyheat.__all__ if name.startswith("assert_")}),
        (
            "regress.md",
            {name for spec in (SuiteSpec, CaseSpec, Gate, RunSpec) for name in spec.model_fields},
        ),
    ],
)
def test_a_page_names_all_there_are(page: str, names: Iterable[str]) -> None:
    assert {name for name in names if f"`{name}" not in TEXTS[page]} == set()


def test_numbers_are_those_of_the_code() -> None:
    assert (MOST_POINTS, DEPTH) == (1_800, 6)
    runs, _ = _pool.pool(ROOT / regression.RECORDED)
    same, less = len(runs["same", "hotkey"]), len(runs["less", "hotkey"])
    for page, phrase in (
        ("report.md", "longer than half an hour"),
        ("report.md", "six deep"),
        ("files.md", f"at most {MOST_CELLS:,} rows of a resource, the file has at most {MOST_ROWS:,}"),
        ("regress.md", f"{same + less} valid runs of 6 s of `hotkey`"),
        ("regress.md", f"{same} alike and {less} whose hot key"),
    ):
        assert phrase in " ".join(TEXTS[page].split()), phrase
