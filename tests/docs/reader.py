"""Somebody who follows a page: runs its commands and its code, in their order, in a folder of their own."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.docs.page import Block
from tests.docs.table import Needs, is_run
from tests.outside import PATIENCE_S, a_readers_environment, end_all, eventually, free_port, get, started

PROGRAMS = Path(sys.executable).parent
PORT = "http://127.0.0.1:8000"
DONE = 0
TOO_SLOW = 3  # where a load was limited by this machine, the run says so, and so does who judges it
SHORT = {
    "keyheat run": ["--duration", "2", "--no-collect"],
    "locust": ["--users", "5", "--run-time", "2s"],
}
"""What a load is told last, so that it is over soon and waits for no minute of CloudWatch."""


@dataclass(slots=True, kw_only=True)
class Reader:
    """`run_verb` runs a verb in this process, and `patch` is undone after the page."""

    folder: Path
    run_verb: Callable[..., Any]
    patch: pytest.MonkeyPatch
    needs: Needs
    url: str | None = None
    moved: dict[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    printed: str = ""
    _loaded: bool = False
    _children: "list[subprocess.Popen[str]]" = field(default_factory=list)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Processes that a page starts end with it, and end well."""
        try:
            yield
            for child in self._children:
                child.send_signal(signal.SIGINT)  # Ctrl-C in its terminal
                _out, err = child.communicate(timeout=PATIENCE_S)
                assert child.returncode in (DONE, TOO_SLOW), err
        finally:
            end_all(self._children)

    def follow(self, block: Block) -> None:
        """Run each command of a block that can be run here."""
        self.printed = ""
        for command in block.commands:
            if is_run(block.page, command):
                self.run(command)

    def execute(self, block: Block) -> None:
        """Run Python in the names that blocks before it have made."""
        code = compile(self._translate(block.text), block.where, "exec")
        exec(code, self.names)

    def run(self, command: str) -> None:
        """Run a command to the exit code that the table says, which is 0 where it says nothing."""
        line, _, file = self._translate(command).partition(" > ")
        words = shlex.split(line.removeprefix(".venv/bin/"), comments=True)
        words += SHORT.get(words[0] if "--headless" in words else " ".join(words[:2]), [])
        self._loaded = self._loaded or "locust" in words or words[:2] == ["keyheat", "run"]
        codes = {self.needs.code.get(command, DONE)} | ({TOO_SLOW} if self._loaded else set())
        match words:
            case ["export", *assigned]:
                for name, value in (word.split("=", 1) for word in assigned):
                    self.patch.setenv(name, value)
                out = ""
            case ["keyheat", "local", *_]:
                out = self._start_endpoint(words)
            case ["keyheat", *_]:
                out = self._run_verb(words[1:], codes)
            case ["locust", *_] if "--headless" not in words:
                out = self._start_web_page(words)
            case _:
                out = self._run_program(words, codes)
        if file:
            (self.folder / file).write_text(out, encoding="utf-8")
        self.printed += out

    def _translate(self, text: str) -> str:
        """What a page says, with this reader's address and times in the place of the page's."""
        moved = self.moved | ({PORT: self.url} if self.url else {})
        for old, new in moved.items():
            text = text.replace(old, new)
        return text

    def _run_verb(self, words: list[str], codes: set[int]) -> str:
        answer = self.run_verb(*words)
        assert answer.code in codes, f"{shlex.join(words)}: {answer.code}, {answer.err}{answer.out[-500:]}"
        return str(answer.out + answer.err)

    def _run_program(self, words: list[str], codes: set[int]) -> str:
        """A program of this environment, or of the machine."""
        done = subprocess.run(
            words, cwd=self.folder, env=self._environment(), capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
        )  # fmt: skip
        assert done.returncode in codes, f"{shlex.join(words)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    def _start(self, words: list[str]) -> "subprocess.Popen[str]":
        child = started([PROGRAMS / words[0], *words[1:]], self.folder, self._environment())
        self._children.append(child)
        return child

    def _start_endpoint(self, words: list[str]) -> str:
        """The local table, on a free port; the addresses that follow on the page are its own."""
        child = self._start([word.replace("8000", "0") for word in words])
        line = child.stdout.readline()
        assert line.startswith("ready "), child.communicate()[1]
        self.url = line.removeprefix("ready ").strip()
        return line

    def _start_web_page(self, words: list[str]) -> str:
        """Locust with its page, on a free port."""
        port = free_port()
        self._start([*words, "--web-host", "127.0.0.1", "--web-port", str(port)])
        page: str = eventually(lambda: get(f"http://127.0.0.1:{port}"))
        assert "Locust" in page
        return page

    def _environment(self) -> dict[str, str]:
        path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
        aws = (
            {name: value for name, value in os.environ.items() if name.startswith("AWS_")} if self.url else {}
        )
        return a_readers_environment() | aws | {"PATH": path, "COLUMNS": "80", "NO_COLOR": "1"}
