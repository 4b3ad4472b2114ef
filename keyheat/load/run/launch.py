"""Both ends of a run's process: how it is started and watched, and what it says of itself.

`keyheat run` and `keyheat demo` start Locust as a child; its progress comes back as lines of JSON. Nothing
here imports locust, which would replace the sockets of the process that watches.

SIGINT    Ctrl-C: to the run's own process, to who started it, or, from a terminal, to both
SIGUSR1   from who started the run: it has got a Ctrl-C. A terminal's may have reached the run as well
SIGTERM   a scheduler's: a first Ctrl-C, however often it comes
SIGHUP    the terminal is closed: as SIGTERM. Where `nohup` has it ignored, it stays so

Windows has neither SIGUSR1 nor SIGHUP: the nearest that it has stands in for each.
"""

import json
import os
import select
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import FrameType
from typing import Any, Final, Self, TextIO

import orjson

from keyheat.masking import masked, plain, plain_json
from keyheat.runs.progress import LaunchProgress
from keyheat.scenario.scenario import Scenario
from keyheat.shipped import require
from keyheat.words import ENDING, INTERRUPTED, WAITING

LOOK_S: Final = 0.5
AT_ONCE: Final = (f"keyheat: {WAITING}", f"keyheat: {ENDING}")
PIECE_BYTES: Final = 1 << 20
ENCODING: Final = "utf-8"  # of what a child writes, whatever the terminal that we write to takes


def command(scenario_path: Path, scenario: Scenario, out: Path, *options: str) -> list[str]:
    """The locust command that runs the scenario without a terminal; `options` are passed on."""
    load, file = scenario.load, scenario.locustfile(scenario_path.parent)
    return [
        sys.executable, "-m", "locust", "-f", str(file), "--headless", "--only-summary",
        "--loglevel", "WARNING",
        "--users", str(load.users), "--spawn-rate", f"{load.spawn_rate:g}",
        "--scenario", str(scenario_path), "--out", str(out), "--progress", *options,
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Launched:
    """A load test that has ended: its exit code, and what it and its stages said beside progress.

    The code is 130 where a signal came, to it or to us; `run_id` is None if no run has begun.
    """

    code: int
    output: str
    run_id: str | None


Watch = Callable[[LaunchProgress], None]


def launch_together(loads: Sequence[tuple[list[str], Watch]]) -> list[Launched]:
    """Run load tests beside each other to their ends, each with a `watch` of its own.

    Signals that we get are passed on to the children, which keep their files; we wait for them either way.
    """
    require("load")
    with _Passing() as passing, ThreadPoolExecutor(len(loads)) as pool:
        running = [pool.submit(_launched, line, watch, passing) for line, watch in loads]
        return [load.result() for load in running]


def _launched(command_line: list[str], watch: Watch, passing: "_Passing") -> Launched:
    run_id, newest, beside = None, LaunchProgress(phase="starting"), list[str]()
    environment = {**os.environ, "PYTHONIOENCODING": ENCODING, PARENT: str(os.getpid())}
    pipe = subprocess.PIPE
    with subprocess.Popen(command_line, stdout=pipe, stderr=pipe, env=environment) as child:
        passing.to(child)
        for on_stdout, line in _lines_of(child):
            if on_stdout:
                newest = _progress_in(line, newest.phase)
                run_id = run_id or newest.run_id
            elif line.startswith(AT_ONCE):
                newest = replace(newest, lines=[line])
            else:
                beside.append(f"{line}\n")
                continue
            try:
                watch(newest)
            except OSError:  # its terminal is closed; the child is waited for all the same
                release_output()
    output, code = "".join(beside), child.returncode
    if code < 0:
        output += f"keyheat: the load was ended by signal {-code}; what was written is kept"
    return Launched(INTERRUPTED if code < 0 or passing.came else code, output, run_id)


def _lines_of(child: "subprocess.Popen[bytes]") -> Iterator[tuple[bool, str]]:
    """What a child writes until it ends, a line at a time, with whether that is on stdout.

    A process that outlives it may hold its pipes open, and is not waited for. A line of stdout in the middle
    of which it was killed is left out.
    """
    assert child.stdout is not None
    assert child.stderr is not None
    rests: dict[Any, bytes] = {child.stdout: b"", child.stderr: b""}
    with selectors.DefaultSelector() as selector:
        for pipe in rests:
            selector.register(pipe, selectors.EVENT_READ)
        ready, ended = list[Any](), False
        while ready or not ended:
            ended = child.poll() is not None
            ready = selector.select(0 if ended else LOOK_S)
            for key, _events in ready:
                pipe, piece = key.fileobj, os.read(key.fd, PIECE_BYTES)
                if not piece:
                    selector.unregister(pipe)
                *lines, rests[pipe] = (rests[pipe] + piece).split(b"\n")
                for line in lines:
                    yield pipe is child.stdout, line.decode(ENCODING, "replace")
    if rest := rests[child.stderr]:
        yield False, rest.decode(ENCODING, "replace")


def _progress_in(line: str, phase: str) -> LaunchProgress:
    """The progress that a line of stdout tells, in the `phase` before it; another line was printed."""
    try:
        fields = json.loads(line)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):  # the load test itself has printed it
        return LaunchProgress(phase=phase, lines=[line])
    state = {name: fields[name] for name in LaunchProgress.__dataclass_fields__ if name in fields}
    return LaunchProgress(**{"phase": phase, **state})


class _Passing:
    def __init__(self) -> None:
        self.came: list[signal.Signals] = []
        self._children: list[subprocess.Popen[bytes]] = []
        self._before: dict[signal.Signals, Any] = {}
        self._lock = Lock()  # children come from threads, signals to the main one: each child gets each once

    def __enter__(self) -> Self:
        # A shell has what it starts with `&` ignore SIGINT, too; who sends it to us alone means it.
        for number in (signal.SIGINT, *filter(is_handled, (signal.SIGTERM, HUNG_UP))):
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def to(self, child: "subprocess.Popen[bytes]") -> None:
        with self._lock:
            self._children.append(child)
            for number in self.came:
                _pass_on(number, child)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if number == HUNG_UP:
            release_output()
        with self._lock:
            self.came.append(signal.Signals(number))
            for child in self._children:
                _pass_on(self.came[-1], child)


def _pass_on(number: signal.Signals, child: "subprocess.Popen[bytes]") -> None:
    # Ctrl-C in a terminal reaches the child by itself, which is in our process group.
    child.send_signal(PASSED_ON if number == signal.SIGINT else number)


PASSED_ON: Final[signal.Signals] = getattr(signal, "SIGUSR1", signal.SIGINT)
HUNG_UP: Final[signal.Signals] = getattr(signal, "SIGHUP", signal.SIGTERM)
STDOUT, STDERR = 1, 2
PARENT: Final = "KEYHEAT_PARENT_PID"
"""The environment variable with the process that started a run, and without which it ends."""


def is_handled(number: signal.Signals) -> bool:
    """Return whether a signal is handled here: it was not ignored when this process started."""
    return signal.getsignal(number) is not signal.SIG_IGN


def release_output() -> None:
    """Redirect output to /dev/null if its terminal or pipe is closed."""
    for stream in (STDOUT, STDERR):
        if _is_closed(stream):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream)
            os.close(nowhere)


def _is_closed(stream: int) -> bool:
    if not hasattr(select, "poll"):
        return False  # where no terminal says that it is closed
    monkey = sys.modules.get("gevent.monkey")  # whose poll would wait for its loop
    poll: Any = (monkey.get_original("select", "poll") if monkey else select.poll)()
    poll.register(stream, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _stream, events in poll.poll(0))


@dataclass(slots=True)
class RunProgress:
    """Says what happens: as JSON lines on stdout for a program, or in words on stderr for a person."""

    as_json: bool

    def phase(self, name: str, words: str, **more: Any) -> None:
        if self.as_json:
            self.line(phase=name, **more)
        else:
            tell(words)

    def line(self, **content: Any) -> None:
        """A line for a program alone, such as each second of load: a person sees Locust's own table."""
        if self.as_json:
            _put(plain_json(orjson.dumps(content), "ascii") + "\n", sys.stdout)

    def say(self, words: str) -> None:
        """Something that everybody should read: one line on stderr."""
        tell(f"keyheat: {masked(words)}")


def tell(words: str, end: str = "\n") -> None:
    """Words for a person, on stderr; they may hold names and errors that others wrote."""
    _put(plain(words) + end, sys.stderr)


def _put(line: str, stream: TextIO) -> None:
    """Write a line; a run continues and cleans up if its terminal or pipe is closed."""
    try:
        stream.write(line)
        stream.flush()
    except OSError:
        release_output()
