"""What is printed: whatever somebody else wrote, a terminal obeys nothing but our own colours and bars."""

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from keyheat.cli.main import main
from keyheat.load.run.launch import RunProgress, tell
from keyheat.masking import plain, plain_json, speak_plainly
from keyheat.show.console import Bar, Countdown, LoadBar, PlainConsole, confirmed, print_json, working

ROOT = Path(__file__).parents[2]
EVIL = "\x1b]8;;http://evil\x07[/x][link=http://evil]a[/link]\x1b[2J\x9b2J\u202egnp\ud800\r:boom:"
OURS = re.compile(r"\x1b\[(?:\?25[lh]|[0-9;]*[mKA-G])|\r")
"""Styles, moves of the cursor over a bar, and whether the cursor is seen."""
any_text = st.text(
    st.one_of(st.sampled_from("\x1b\x9b\x07\r\b[]/;:\u202e\u2066\u2028\ud800\x00a \n\t"), st.characters())
)


def on_a_terminal(show: Callable[[PlainConsole], None]) -> str:
    """What reaches a terminal; UTF-8 takes no surrogate."""
    raw = io.BytesIO()
    console = PlainConsole(
        file=io.TextIOWrapper(raw, "utf-8", newline=""), force_terminal=True, width=100, legacy_windows=False
    )
    show(console)
    console.file.flush()
    return raw.getvalue().decode()


def foreign(written: str) -> set[str]:
    """Signs that a terminal obeys and that are not ours; a space of any width is none."""
    return {
        sign
        for sign in OURS.sub("", written)
        if not sign.isprintable() and sign not in "\n\t" and category(sign) != "Zs"
    }


def a_table(text: str) -> Table:
    table = Table(title=text)
    table.add_column(text)
    table.add_row(text)
    return table


@pytest.mark.slow
@given(any_text)
def test_no_text_is_obeyed_and_none_raises(text: str) -> None:
    def show(console: PlainConsole) -> None:
        for one in (text, Text(text, style="bold red"), a_table(text)):
            console.print(one)
        console.print(text, style="bold")

    written = on_a_terminal(show)
    assert {sign for sign in foreign(written) if not sign.isspace()} == set()
    assert {sign for sign in foreign(plain(text)) if not sign.isspace()} == set()
    assert plain(plain(text)) == plain(text)
    assert len(plain(text)) == len(text)


def test_our_own_styles_are_still_there_unless_nobody_wants_them_and_signs_of_markup_are_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    written = on_a_terminal(lambda console: console.print(Text.assemble("a ", ("b", "bold"))))
    assert written == "a \x1b[1mb\x1b[0m\n"
    red = Text("a", style="red")
    assert on_a_terminal(lambda console: console.print(red)) == "\x1b[31ma\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert on_a_terminal(lambda console: console.print(red)) == "a\n"
    written = on_a_terminal(lambda console: console.print("[bold]a[/] [/x] :boom:"))
    assert written == "[bold]a[/] [/x] :boom:\n"


@pytest.mark.slow
@example("\u1680")
@given(st.text())
def test_json_is_the_same_with_escapes(text: str) -> None:
    body = json.dumps([text], ensure_ascii=False)
    assert json.loads(plain_json(body.encode())) == [text]
    assert foreign(plain_json(body.encode())) <= {"\n"}


def test_bars_show_what_others_wrote_as_text() -> None:
    def show(console: PlainConsole) -> None:
        bar = LoadBar(EVIL, 10.0, console)
        with bar:
            bar._bar.refresh()
        with working(EVIL, console) as moving:
            moving._bar.refresh()
        with Countdown(console) as countdown:
            countdown.count(EVIL, 3.0)
        with Bar(console, EVIL):
            pass

    written = on_a_terminal(show)
    assert "[link=http://evil]" in written
    assert foreign(written) <= {"\n"}


def ask() -> None:
    confirmed(f"Make a table at {EVIL[:-10]}?")


def quote_what_was_typed() -> None:
    assert main(["analyze", EVIL[:-10], "[/x]"]) == 2


@pytest.mark.parametrize(
    "say",
    [
        lambda: tell(EVIL), lambda: RunProgress(as_json=False).say(EVIL),
        lambda: print_json({"a": EVIL[:-10]}), ask, quote_what_was_typed,
    ],
    ids=["what a load says", "its progress", "JSON", "a question", "a mistake"],
)  # fmt: skip
def test_what_others_wrote_is_plain_wherever_it_is_said(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, say: Callable[[], None]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    say()
    sys.stdout.flush()
    shown = "".join(capfd.readouterr())
    assert "http://evil" in shown
    assert {sign for sign in shown if not sign.isprintable()} <= {"\n"}


PRINTS = re.compile(r"\bprint\(|click\.(?:echo|secho|confirm|prompt)\(|(?<!Plain)Console\(")
MAY = {"keyheat/show/console.py", "keyheat/load/options.py"}


def test_nothing_is_printed_past_the_console() -> None:
    inside = ("cli", "show", "load", "sharding", "testing")
    folders = ("loadtests", *(f"keyheat/{room}" for room in inside))
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    bare = {
        path.relative_to(ROOT).as_posix()
        for path in paths
        for line in path.read_text().splitlines()
        if PRINTS.search(re.sub(r"\b(?:out|err|bars|console|_console)\.print\(", "", line))
    }
    assert bare == MAY


def test_a_terminal_that_lacks_a_sign_shows_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "cp437"))
    speak_plainly()
    print("20 → 40 é █")
    sys.stdout.flush()
    assert raw.getvalue().decode("cp437") == "20 ? 40 é █\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_json_is_the_same_in_every_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding))
    content = {"change": "20 → 40", "name": "Größe 😀"}
    print_json(content)
    assert json.loads(raw.getvalue().decode(encoding)) == content
