"""`keyheat regress`, killed again and again: a process that has loaded everything forks, waits and kills.

    python -m tests.killed_regress SUITE HISTORY FOLDER KILLS

It prints a JSON list, for each kill: its delay in seconds, `whole_s` that a regress takes as far as is known,
whether the process was still there, and what SQLite then finds wrong with the history. Known is what the last
one took that came to its end, and that a later one took longer than until it was killed.

What a first child loads, the parent loads for all others, so that a kill takes no longer than the regress
until then. Nothing here starts a thread or uses gevent, which do not survive a fork.
"""

import importlib
import json
import os
import random
import select
import signal
import sqlite3
import sys
import time
from pathlib import Path

from keyheat.cli import main as command_line

LATEST = 1.25  # delays reach to so many times of what a regress takes
MEASURED = 3
PATIENCE_S = 300.0


def forked(arguments: list[str]) -> tuple[int, int]:
    """A child that runs the verb; gives its number, and a pipe with the modules it has loaded in the end."""
    ended, at_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ended)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        code = command_line.main(arguments)
        loaded = [name for name, module in sys.modules.items() if getattr(module, "__spec__", None)]
        os.write(at_end, " ".join(loaded).encode()[:60_000])  # what a pipe holds
        os._exit(code)
    os.close(at_end)
    return pid, ended


def killed_after(delay_s: float, arguments: list[str]) -> float | None:
    """How long the verb took that had ended before it was killed; None where it was killed."""
    began_s = time.monotonic()
    pid, ended = forked(arguments)
    there = not select.select([ended], [], [], delay_s)[0]
    took_s = time.monotonic() - began_s
    if there:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(ended)
    return None if there else took_s


def taken_s(arguments: list[str]) -> float:
    """How long the verb takes that nobody kills; what it loads is loaded here, too."""
    began_s = time.monotonic()
    pid, ended = forked(arguments)
    _pid, status = os.waitpid(pid, 0)
    took_s = time.monotonic() - began_s
    with os.fdopen(ended) as pipe:
        for name in pipe.read().split()[:-1]:  # the last one may be cut short
            if not name.startswith("keyheat_analyzer_"):  # which are loaded by their path
                importlib.import_module(name)
    assert status == 0, f"{arguments} ended with {os.waitstatus_to_exitcode(status)}"
    assert not {"gevent", "locust"} & sys.modules.keys()
    return took_s


def wrong_with(history: Path) -> str:
    """What SQLite finds wrong with the file; `ok` where it is nothing."""
    connection = sqlite3.connect(history)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


def main(suite: str, history: str, folder: str, kills: str) -> None:
    """One kill in each part of the time, the parts in a random order; and one when all is over."""
    rng, count = random.Random(7), int(kills)
    os.chdir(folder)
    arguments = ["regress", suite, "--history", history, "--quiet"]
    whole_s = [taken_s(arguments) for _ in range(MEASURED)][-1]  # the first ones load what they need
    parts = [(part + rng.random()) / count * LATEST for part in range(count)]
    rng.shuffle(parts)
    told = []
    for part in (0.0, *parts[2:]):
        took_s = killed_after(part * whole_s, arguments)
        wrong = wrong_with(Path(history))
        told.append({"delay_s": part * whole_s, "whole_s": whole_s, "there": took_s is None, "wrong": wrong})
        whole_s = took_s or max(whole_s, part * whole_s)  # the machine may have got faster or slower
    took_s = killed_after(PATIENCE_S, arguments)  # one is over for sure, however slow the machine has become
    told.append(
        {"delay_s": took_s, "whole_s": took_s, "there": took_s is None, "wrong": wrong_with(Path(history))}
    )
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
