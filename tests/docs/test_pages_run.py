"""Every page of docs does what it says: a page is a case, with its commands and its code in their order."""

import ast
import importlib.util
import inspect
import json
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from keyheat.cli.main import cli
from keyheat.endpoint.faultrules import checked_rules
from keyheat.regression.suite import SUITES, suite_from_dict
from keyheat.scenario.scenario import scenario_from_dict
from tests.docs.checks import check
from tests.docs.page import PAGES, ROOT, SHELLS, Block, blocks_of, commands_of, find_missing
from tests.docs.reader import Reader
from tests.docs.table import (
    AT,
    EXCERPTS,
    NEEDS,
    NOT_HERE,
    PROGRAMS,
    RUN_BY,
    SCENARIO,
    Needs,
    is_executed,
    is_run,
    pages_that_run,
)
from tests.make import a_shipped

FOLLOWED = [
    pytest.param(page, marks=pytest.mark.nightly) if NEEDS.get(page, Needs()).nightly else page
    for page in pages_that_run()
]
NOT_RUN = [
    (page, command)
    for page in PAGES
    for command in commands_of(page)
    if page not in RUN_BY and not is_run(page, command)
]
RATES = {"requests_per_s", "write_units_per_s", "read_units_per_s"}  # a scenario has one of them
CODE = [block for page in PAGES for block in blocks_of(page) if block.language not in ("", "text", *SHELLS)]


@pytest.mark.opens
@pytest.mark.slow
@pytest.mark.parametrize("page", FOLLOWED)
def test_a_page_does_what_it_says(page: str, request: pytest.FixtureRequest) -> None:
    reader: Reader = request.getfixturevalue(NEEDS.get(page, Needs()).world)
    with reader.reading():
        for block in blocks_of(page):
            if block.language == "text":
                missing = find_missing(block.text, reader.printed)
                assert missing is None, f"{block.where} shows {missing}\nprinted: {reader.printed}"
            elif block.language in SHELLS:
                reader.follow(block)
            elif is_executed(block):
                reader.execute(block)
                run_tests(block, reader, request)
    check(page, reader)


def run_tests(block: Block, reader: Reader, request: pytest.FixtureRequest) -> None:
    """The tests that a block defines, each on an empty table where it asks for one."""
    for name in re.findall(r"^def (test_\w+)", block.text, re.MULTILINE):
        fixtures = inspect.signature(reader.names[name]).parameters
        given = {fixture: request.getfixturevalue(fixture) for fixture in fixtures}
        reader.names[name](**given)
        for local in given.values():
            local.clear()


@pytest.mark.parametrize(("page", "command"), NOT_RUN)
def test_a_command_that_is_not_run_is_one_that_there_is(page: str, command: str) -> None:
    words = shlex.split(command.rpartition("&& ")[2], comments=True)
    program, *rest = words
    match [Path(program).name, *rest]:
        case ["keyheat", *_]:
            read(rest)
        case ["locust", "-f", file, *_]:
            assert (ROOT / file).exists()
        case ["python", "-m", module, *_]:
            assert importlib.util.find_spec(module)
        case ["make", target]:
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for file in re.findall(r"(?<![\w/])(?:deploy|configs)/[\w./-]*\w", command):
        assert (ROOT / file).exists(), file


def read(words: list[str]) -> None:
    """As our own command line reads them, but for files that commands before it would have written."""
    group = click.Context(cli, info_name="keyheat")
    name, verb, arguments = cli.resolve_command(group, words)
    try:
        verb.make_context(name, arguments, parent=group)
    except click.BadParameter as wrong:
        if not wrong.message.endswith("does not exist."):
            raise


@pytest.mark.parametrize("block", CODE, ids=lambda block: block.where)
def test_code_is_what_its_reader_accepts(block: Block) -> None:
    match block.language:
        case "python":
            ast.parse(block.text, block.where)
            check_excerpt(block)
        case "toml":
            check_toml(block)
        case "json":
            for text in split_json(block.text):
                assert json.loads(text)
        case "yaml":
            assert list(yaml.safe_load_all(block.text))


def check_excerpt(block: Block) -> None:
    """Check that what is shown of a file of ours stands in it."""
    if block.page in EXCERPTS:
        source = (ROOT / EXCERPTS[block.page]).read_text(encoding="utf-8")
        assert [line for line in block.text.splitlines() if line.strip() and line not in source] == []


def check_toml(block: Block) -> None:
    """A suite, rules of faults, or parts of a scenario, which a scenario of ours takes."""
    raw = tomllib.loads(block.text)
    if "rules" in raw:
        checked_rules(block.where, raw)
    elif raw.keys() & {"cases", "run"}:
        whole = tomllib.loads((SUITES / "smoke.toml").read_text(encoding="utf-8"))
        assert suite_from_dict(whole | raw, SUITES / "page.toml").cases
    else:
        tasks = "operations" if "tasks" in raw else None
        name = raw.get("loadtest") or tasks or SCENARIO.get(block.page, "hotkey")
        whole = a_shipped(name).model_dump(mode="json", exclude_defaults=True)
        fields = raw.get("load", {}).keys() | raw.keys()
        replaced = {"operations"} if "tasks" in fields else RATES if RATES & fields else set()
        kept = {field: value for field, value in whole["load"].items() if field not in replaced}
        whole["load"] = kept | {"duration_s": 3_600}
        for section in ("table", "load"):
            raw[section] = whole[section] | raw.get(section, {})
        assert scenario_from_dict(whole | raw, block.where)


def split_json(text: str) -> list[str]:
    """One value, one a line, or the fields of an object."""
    if text.startswith('"'):
        return [f"{{{text}}}"]
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return text.splitlines()
    return [text]


def test_the_lists_name_nothing_that_is_gone() -> None:
    commands = {command for page in PAGES for command in commands_of(page)}
    programs = {command.split()[0] for command in commands}
    assert programs >= PROGRAMS
    assert {*NEEDS, *NOT_HERE, *RUN_BY, *EXCERPTS} <= set(PAGES)
    assert set(AT) <= commands
    assert {place for place in AT.values() if place.endswith(".py") and not (ROOT / place).exists()} == set()
    for needs, page in ((needs, page) for page, needs in NEEDS.items()):
        assert [command for command in needs.code if command not in commands_of(page)] == [], page
    for page, tests in RUN_BY.items():
        for test in tests:
            assert page in (ROOT / test).read_text(encoding="utf-8"), test


def test_commands_stand_in_blocks_that_are_marked() -> None:
    """A block without a mark is prose: what a reader types would not be run."""
    typed = re.compile(r"^(?:\$ )?(?:keyheat|locust|pytest|make|python|aws|docker|git|curl) ", re.MULTILINE)
    plain = [block for page in PAGES for block in blocks_of(page) if block.language in ("", "text")]
    assert [block.where for block in plain if typed.search(block.text)] == []


def test_what_was_not_printed_is_missing() -> None:
    """Moments and line breaks may differ, and `...` leaves something out; numbers may not."""
    printed = "before: 1,190\nWCU/s accepted at 11:30\nand more\nShard the key\n"
    assert find_missing("1,190 WCU/s\n  accepted at 08:06\n...\nShard the\nkey", printed) is None
    assert find_missing("1,191 WCU/s accepted", printed) == "1,191 WCU/s accepted"
