"""What tests of whole processes share: a free port, a page, a verdict, things that happen some time."""

import fcntl
import json
import os
import random
import signal
import socket
import subprocess
import termios
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pyarrow.compute as pc

from keyheat import runfiles
from keyheat.runs import parquet
from keyheat.runs.formats import read_diagnosis

PATIENCE_S = 600  # guards against hanging only: a busy machine takes its time
OR_TOO_SLOW = (0, 3)  # 3: this machine could not send all that was asked for, and the run says so
PORTS = range(20_000, 30_000)
"""Below those that a system gives to whoever asks for any, so that nobody has it until it is used."""


def free_port() -> int:
    """A port that nobody listens on, and that no other test is likely to draw."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def elsewhere(url: str) -> str:
    """The address of an endpoint here, not on this machine as far as anybody knows."""
    return url.replace("127.0.0.1", "0.0.0.0")


def get(url: str, body: bytes | None = None) -> str:
    """The text of a page; with a body, what posting it is answered with."""
    with urllib.request.urlopen(url, body, timeout=PATIENCE_S) as answer:
        return str(answer.read().decode())


def run_of(folder: Path) -> dict[str, Any]:
    """What `run.json` says."""
    return runfiles.read_json(folder / "run.json", runfiles.RUN)


SEEN_BY_THE_CLIENT = {"seconds.parquet", "throttles.parquet", "latency.hdr", "keys.json"}


def check_whole(folder: Path) -> dict[str, Any]:
    """The files of a run are there, of the right format, and agree with each other; gives its totals."""
    files = {path.name for path in folder.iterdir()}
    assert files >= SEEN_BY_THE_CLIENT
    assert not [name for name in files if name.endswith(".tmp")]
    totals: dict[str, Any] = run_of(folder)["totals"]
    seconds = parquet.read_table(folder / "seconds.parquet", runfiles.SECONDS)
    requests = seconds.filter(pc.is_null(seconds["index"]))
    for count in ("attempts", "accepted", "throttled", "errors"):
        assert pc.sum(requests[count]).as_py() == totals[count], count
    assert totals["attempts"] == totals["accepted"] + totals["throttled"] + totals["errors"]
    throttles = parquet.read_table(folder / "throttles.parquet", runfiles.THROTTLES)
    assert throttles.num_rows == totals["throttled"] == sum(totals["by_reason"].values())
    assert (folder / "latency.hdr").read_text().startswith(f"#[{runfiles.LATENCY}]\n")
    keys = runfiles.read_json(folder / "keys.json", runfiles.KEYS)
    assert sum(key["share"] for key in keys["overall"]["write"]) <= 1.000001
    return totals


def decided(url: str, table: str = "short-table") -> dict[str, int]:
    """How many requests an endpoint has admitted and refused, by its own log of decisions."""
    rows = json.loads(get(f"{url}/_keyheat/decisions?table={table}"))
    return {
        "accepted": sum(row["accepted"] for row in rows),
        "throttled": sum(sum(row["refused"].values()) for row in rows),
    }


def check_verdict(run: Path, constraint: str) -> bool:
    """A run's verdict is this one, or not valid where this machine could not send its load; tells which."""
    bound = bool(run_of(run)["generator"]["bound"])
    verdict = read_diagnosis(run / "diagnosis.json").verdict
    assert verdict.valid or bound, verdict.because
    assert not verdict.valid or verdict.constraint == constraint, verdict.because
    return verdict.valid


def eventually(attempt: Callable[[], Any], *failures: type[Exception]) -> Any:
    """What the attempt gives once it gives something: there is nothing to wait for but that it does.

    An `OSError` or one of `failures` says "not yet".
    """
    not_yet: tuple[type[Exception], ...] = (OSError, *failures)
    gives_up_s = time.monotonic() + PATIENCE_S
    why = None
    while time.monotonic() < gives_up_s:
        try:
            if found := attempt():
                return found
        except not_yet as error:
            why = error
            if isinstance(error, HTTPError):
                error.close()  # or its connection is said to be left open, in whichever test runs by then
        time.sleep(0.05)
    raise AssertionError("it never came to it") from why


def started(command: Sequence[object], folder: Path, env: Mapping[str, str]) -> "subprocess.Popen[str]":
    """A process that stands in a folder, with pipes, in a process group of its own."""
    return subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


@contextmanager
def in_a_terminal(
    command: Sequence[object], folder: Path, env: Mapping[str, str]
) -> Iterator[tuple["subprocess.Popen[bytes]", Callable[[], None]]]:
    """A process in a terminal of its own, whose words nobody reads, and what closes the terminal."""
    window, terminal = os.openpty()
    child = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder, env=env, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(terminal)
    closed = ExitStack()
    closed.callback(os.close, window)
    with closed:
        yield child, closed.close
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def a_readers_environment() -> dict[str, str]:
    """This process's environment, without what would make AWS or Locust behave otherwise."""
    return {name: os.environ[name] for name in os.environ if not name.startswith(("AWS_", "LOCUST_"))}


def end_all(children: list["subprocess.Popen[str]"]) -> None:
    """Kill what still runs, each with its process group, and read its pipes to their end."""
    for child in children:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
