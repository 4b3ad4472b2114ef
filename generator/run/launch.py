"""Locust as a child process: what `keyheat run` and `keyheat demo` start, and the progress that comes back.

This module does not import locust, which would replace the sockets of the process that watches.
"""

import ast
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tablemodel.scenario import Scenario

FOLDER = Path(__file__).resolve().parents[2] / "loadtests"
USERS = "generator.users."
INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a running load test says once a second, or when it enters another phase."""

    phase: str = "loading"
    elapsed_s: float = 0.0
    accepted_per_s: float = 0.0
    throttled_per_s: float = 0.0
    errors_per_s: float = 0.0
    left_s: float | None = None  # of a wait, where it is known how long it takes
    said: Sequence[str] = ()  # lines that a person should read now


def locustfile(scenario: Scenario) -> Path:
    """The load test that the scenario names. Raises `FileNotFoundError` with those that there are."""
    path = FOLDER / f"{scenario.loadtest}.py"
    if not path.exists():
        there = sorted(file.stem for file in FOLDER.glob("[!_]*.py"))
        raise FileNotFoundError(
            f"loadtest = {scenario.loadtest!r}: there is no {path.name}; there are {there}"
        )
    return path


def takes_shards(scenario: Scenario) -> bool:
    """Whether the number of shards changes what the load test sends. Raises `FileNotFoundError`.

    It does where the load test asks for it, or where the scenario states it and the users that the load test
    is made of ask for it. Sources are read, not run: importing them would import locust.
    """
    tree = _parsed(locustfile(scenario))
    if _asks_for_shards(tree):
        return True
    stated = "shards" in scenario.keys.model_fields_set
    return stated and any(_asks_for_shards(_parsed(path)) for path in _users_of(tree))


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _asks_for_shards(tree: ast.Module) -> bool:
    """Whether a user reads `self.shards`."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "shards"
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        for node in ast.walk(tree)
    )


def _users_of(tree: ast.Module) -> Iterator[Path]:
    """The modules that a load test takes its users from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(USERS):
            yield FOLDER.parent / f"{node.module.replace('.', '/')}.py"


def command(scenario_path: Path, scenario: Scenario, out: Path, *options: str) -> list[str]:
    """The locust command that runs the scenario without a terminal; `options` are passed on."""
    load = scenario.load
    return [
        sys.executable, "-m", "locust", "-f", str(locustfile(scenario)), "--headless", "--only-summary",
        "--loglevel", "WARNING",
        "--users", str(load.users), "--spawn-rate", f"{load.spawn_rate:g}",
        "--scenario", str(scenario_path), "--out", str(out), "--progress", *options,
    ]  # fmt: skip


def launch(command_line: list[str], watch: Callable[[Progress], None]) -> tuple[int, str]:
    """Run a load test to its end; `watch` gets its progress.

    Returns its exit code (130 where a signal ended it) and what it and its stages said beside progress. An
    interrupt reaches the child as well (it is in our process group), which keeps its files; SIGTERM, which
    does not, is passed on to it. We wait for it either way.
    """
    with (
        tempfile.TemporaryFile("w+") as beside,
        subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=beside, text=True) as child,
        _passing_on(signal.SIGTERM, child),
    ):
        assert child.stdout is not None
        while True:
            try:
                for progress in _read(child.stdout):
                    watch(progress)
                code = child.wait()
                break
            except KeyboardInterrupt:
                continue
        beside.seek(0)
        said = beside.read()
    if code < 0:
        return INTERRUPTED, f"{said}keyheat: the load was ended by signal {-code}; what was written is kept"
    return code, said


@contextmanager
def _passing_on(number: signal.Signals, child: "subprocess.Popen[str]") -> Iterator[None]:
    """Send a signal that we get to the child, for as long as it runs."""
    before = signal.signal(number, lambda *_: child.send_signal(number))
    try:
        yield
    finally:
        signal.signal(number, before)


def _read(lines: IO[str]) -> Iterator[Progress]:
    phase = "loading"
    for line in lines:
        if not line.endswith("\n"):
            return  # it was killed in the middle of a word
        fields = json.loads(line)
        phase = fields.get("phase", phase)
        known = {name: fields[name] for name in Progress.__dataclass_fields__ if name in fields}
        yield Progress(**{**known, "phase": phase})
