"""The command line as a whole: every verb is there, tells machines, is silent where asked, and is quick."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import click
import pytest

from keyheat.cli.main import MENU, cli, main
from keyheat.shipped import MODULES
from keyheat.show import console
from tests.conftest import ROOT, Verb

NAMES = [name for verbs in MENU.values() for name in verbs]
NO_ANSWER = {"local"}  # it serves
HEAVY = ("pyarrow", "plotly", "boto3", "botocore", "numpy", "scipy", "flask", "pydantic", "locust")


def verb_named(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    return found


def leaves(command: click.Command) -> Iterator[click.Command]:
    """The command itself, or those that it is a group of."""
    if isinstance(command, click.Group):
        for one in command.commands.values():
            yield from leaves(one)
    else:
        yield command


def options_of(command: click.Command) -> set[str]:
    return {word for parameter in command.params for word in parameter.opts}


@pytest.fixture(autouse=True)
def loud() -> Iterator[None]:
    yield
    console.set_mode(quiet=False, as_json=False)


@pytest.mark.parametrize("name", NAMES)
def test_every_verb_of_the_menu_says_what_it_does_answers_a_program_and_can_be_silent(name: str) -> None:
    """Its help is short: 60 characters for an option, without its default."""
    assert verb_named(name).name == name
    assert verb_named(name).help
    for verb in leaves(verb_named(name)):
        assert name in NO_ANSWER or {"--quiet", "--json"} <= options_of(verb), verb.name
        options = [one for one in verb.params if isinstance(one, click.Option)]
        assert [one.help for one in options if len((one.help or "").partition("  [default")[0]) > 60] == []
        assert name != "regress" or len(options) + len(["--help"]) <= 15


def test_the_menu_fits_a_screen_and_says_each_thing_in_a_line() -> None:
    lines = cli.get_help(click.Context(cli, info_name="keyheat", terminal_width=80)).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80


HELPS = f"""
import sys
from keyheat.cli.main import main
code = main(["--help"])
print([name for name in {HEAVY!r} if name in sys.modules], code)
"""
OF_EXTRAS = [module for modules in MODULES.values() for module in modules]
WITHOUT_EXTRAS = f"""
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from keyheat.cli.main import main
sys.modules.update(dict.fromkeys({OF_EXTRAS!r}))  # as where they are not installed
said = []
for words in json.loads(sys.argv[1]):
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as err:
        said.append((main(words.split()), " ".join(err.getvalue().split())))
print(json.dumps(said))
"""
NEED_NO_MORE = (
    *(f"{name} --help" for name in NAMES), "plan hotkey", "whatif hotkey shards", "queries --table t",
    "loadtests", "schema", "analyze --evidence tests/fuzz/corpus/minutes.json",
)  # fmt: skip
NEED_AN_EXTRA = {
    "run hotkey": "load", "demo": "load", "simulate hotkey": "report", "regress suite.toml": "regress",
    "analyze tests": "report", "collect --run tests": "report",
}  # fmt: skip


@pytest.mark.opens
def test_help_loads_no_stage() -> None:
    said = subprocess.run([sys.executable, "-c", HELPS], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[] 0"
    assert all(name in said.stdout for name in NAMES)


@pytest.mark.opens
def test_the_base_does_what_needs_no_more_and_a_verb_says_which_extra_it_needs() -> None:
    """The files of a run are Parquet, whose library is larger than all of the base; evidence needs none."""
    words = [sys.executable, "-c", WITHOUT_EXTRAS, json.dumps([*NEED_NO_MORE, *NEED_AN_EXTRA])]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    said = dict(zip([*NEED_NO_MORE, *NEED_AN_EXTRA], json.loads(done.stdout), strict=True))
    assert {words: said[words] for words in NEED_NO_MORE if said[words][0]} == {}
    for command, extra in NEED_AN_EXTRA.items():
        code, err = said[command]
        assert code == 2, command
        missing = rf"keyheat: this needs \w+, which is not installed: pip install 'keyheat\[{extra}\]'"
        assert re.fullmatch(missing, err), (command, err)


@pytest.mark.slow
def test_a_quiet_verb_says_nothing_but_what_is_wrong_and_json_is_all_that_is_on_stdout(
    verb: Verb, sample: Callable[..., Path], tmp_path: Path
) -> None:
    run, page = sample("hotkey"), tmp_path / "page.html"
    said = verb("report", run, "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")
    assert "run.json is missing" in verb("analyze", tmp_path, "--quiet").err
    assert json.loads(verb("report", run, "--json").out)["link"] == str(run / "report.html")
    told = json.loads(verb("compare", run, run, "--out", page, "--json", "-q").out)
    assert (told["link"], told["data"]["valid"]) == (str(page), True)


@pytest.mark.slow
@pytest.mark.parametrize("names", [["hotkey"], ["hotkey", "too-small"]])
def test_a_program_is_told_of_one_run_as_of_several(verb: Verb, tmp_path: Path, names: list[str]) -> None:
    said = verb("simulate", *names, "--duration", "10", "--json", "--out", tmp_path / "runs")
    told = json.loads(said.out)
    assert (told["format"], told["exit_code"]) == ("keyheat.runs/1", said.code)
    assert [run["scenario"] for run in told["runs"]] == names
    assert (told["page"] is None) == (len(names) == 1)
    assert all(run["diagnosis"]["verdict"]["constraint"] for run in told["runs"])
    assert "Report drawn." in verb("report", told["runs"][0]["folder"]).out  # in words again


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("keyheat wha", ["plain,whatif"]),
        ("keyheat plan hotk", ["plain,hotkey"]),
        ("keyheat plan --js", ["plain,--json"]),
        ("keyheat plan ./mine", ["file,./mine"]),
    ],
)
def test_a_shell_is_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, offered: list[str]
) -> None:
    for name, value in (
        ("COMP_WORDS", words), ("COMP_CWORD", str(len(words.split()) - 1)),
        ("_KEYHEAT_COMPLETE", "bash_complete"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out.splitlines() == offered


def test_a_time_may_have_a_zone_and_is_in_utc() -> None:
    from keyheat.cli.options import a_time

    typed = ("2026-11-28T13:17:00+01:00", "2026-11-28T12:17Z", "2026-11-28 12:17")
    assert {a_time.convert(text, None, None) for text in typed} == {datetime(2026, 11, 28, 12, 17)}  # noqa: DTZ001
