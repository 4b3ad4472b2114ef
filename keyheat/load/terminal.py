"""The terminal of a run: the signals that come from it, and what a person or a program sees on it.

SIGINT    Ctrl-C: to the run's own process, to who started it, or, from a terminal, to both
SIGUSR1   from who started the run: it has got a Ctrl-C. A terminal's may have reached the run as well
SIGTERM   a scheduler's: a first Ctrl-C, however often it comes
SIGHUP    the terminal is closed: as SIGTERM. Where `nohup` has it ignored, it stays so

Windows has neither SIGUSR1 nor SIGHUP: the nearest that it has stands in for each.
"""

import os
import select
import signal
import sys
from dataclasses import dataclass
from typing import Any, Final, TextIO

import orjson

from keyheat.masking import masked, plain, plain_json

PASSED_ON: Final[signal.Signals] = getattr(signal, "SIGUSR1", signal.SIGINT)
HUNG_UP: Final[signal.Signals] = getattr(signal, "SIGHUP", signal.SIGTERM)
STDOUT, STDERR = 1, 2
PARENT: Final = "KEYHEAT_PARENT_PID"
"""The environment variable with the process that started a run, and without which it ends."""


def is_handled(number: signal.Signals) -> bool:
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
