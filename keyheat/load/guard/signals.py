"""Signals that end a run, and output to a closed terminal.

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
from typing import Any, Final

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
        if _nobody_at(stream):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream)
            os.close(nowhere)


def _nobody_at(stream: int) -> bool:
    if not hasattr(select, "poll"):
        return False  # where no terminal says that it is closed
    monkey = sys.modules.get("gevent.monkey")  # whose poll would wait for its loop
    poll: Any = (monkey.get_original("select", "poll") if monkey else select.poll)()
    poll.register(stream, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _stream, events in poll.poll(0))
