"""The kill switch: the first Ctrl-C ends the load and keeps what there is, the next one leaves at once.

first    `KeyboardInterrupt` in the main greenlet: Locust ends, the run's files are written, the rest follows
second   this process and all of its children are gone within a second, whatever they were doing

SIGTERM is a first Ctrl-C, however often it comes: a scheduler sends it, and waits before it kills. SIGHUP is
one as well, and so is the death of the process that started the run. A Ctrl-C that comes twice, from the
terminal and from who started the run, is one all the same.
The second one is not left to gevent, whose signals wait for the running greenlet: it is handled between two
instructions of whatever runs. So nothing is done here that waits, or that has to be whole; files are written
under another name first, and only then have theirs.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final

import gevent
import msgpack  # type: ignore[import-untyped]
import psutil
import zmq
from gevent import monkey

from keyheat.load.run.launch import HUNG_UP, PASSED_ON, STDERR, is_handled, release_output
from keyheat.words import ENDING, INTERRUPTED

CTRL_C: Final = (signal.SIGINT, PASSED_ON)
PARENT_CHECK_S: Final = 1.0
TOLD_WITHIN_S: Final = 0.2  # what is sent to workers is on its way by then, and killed children are gone


@dataclass(slots=True)
class KillSwitch:
    """Ctrl-C for one master, or one process on its own."""

    main: Any  # Locust's greenlet, which ends everything when it is interrupted
    leaving: Any = None  # the session of the run, which may not wait; None: nothing has begun
    leave: Callable[[int], Any] = os._exit
    children: Callable[[], list[psutil.Process]] = lambda: psutil.Process().children(recursive=True)
    _armed: bool = False
    _came: Counter[int] = field(default_factory=Counter)  # Ctrl-C, by the way that it came

    def install(self) -> None:
        """Listen to Ctrl-C, and to the terminal's end, from now on."""
        for number in CTRL_C:
            gevent.signal_handler(number, self._pressed, number)
        if is_handled(HUNG_UP):
            gevent.signal_handler(HUNG_UP, self._hung_up)

    def watch_parent(self, pid: int) -> None:
        """End the run, as SIGHUP does, once the process `pid` that started it is dead."""

        def watch() -> None:
            while os.getppid() == pid:
                gevent.sleep(PARENT_CHECK_S)
            _say("the process that started this run is gone: ending")
            self._hung_up()

        gevent.spawn(watch)

    def arm(self) -> None:
        """The run is being ended: the next Ctrl-C leaves at once, and SIGTERM says nothing new."""
        if not self._armed:
            self._armed = True
            # A scheduler repeats itself; SIG_IGN would be inherited by children.
            signal.signal(signal.SIGTERM, lambda _number, _frame: None)
            if is_handled(HUNG_UP):
                signal.signal(HUNG_UP, lambda _number, _frame: release_output())
            for number in CTRL_C:
                signal.signal(number, self._second)

    def _pressed(self, number: int) -> None:
        if self._armed:
            self._second(number, None)  # two at once: both were waiting for gevent
        elif self._is_new(number):
            self._first()

    def _hung_up(self) -> None:
        release_output()
        if not self._armed:
            self._first()

    def _is_new(self, number: int) -> bool:
        """Return whether this is another Ctrl-C, not one that has come the other way already."""
        seen = max(self._came.values(), default=0)
        self._came[number] += 1
        return self._came[number] > seen

    def _first(self) -> None:
        self.arm()
        if self.leaving is not None:
            _say(f"{ENDING} what was recorded is kept. Ctrl-C again leaves at once")
        gevent.kill(self.main, KeyboardInterrupt)

    def _second(self, number: int, _frame: FrameType | None) -> None:
        if not self._is_new(number):
            return
        try:  # say what is left behind, stop all workers, end all children, take half-written files away
            behind = self.leaving.left_behind() if self.leaving else []
            for line in ("left at once; what was written is kept", *behind):
                _say(line)
            if self.leaving:
                self.leaving.tell_workers()
            for child in self.children():
                try:
                    child.kill()
                except psutil.NoSuchProcess:
                    continue
            monkey.get_original("time", "sleep")(TOLD_WITHIN_S)
            folder = self.leaving.folder() if self.leaving else None
            if folder is not None:
                for unfinished in folder.glob(".*.tmp"):
                    unfinished.unlink(missing_ok=True)
        finally:
            self.leave(INTERRUPTED)


def _say(line: str) -> None:
    with suppress(OSError):
        os.write(STDERR, f"keyheat: {line}\n".encode())


def tell_to_quit(runner: Any) -> None:
    """Send all workers of a master the message with which Locust ends them, without waiting for anything."""
    for client in runner.clients.all:
        content = msgpack.packb(("quit", None, client.id))  # as `locust.rpc.protocol.Message` is on the wire
        try:
            runner.server.socket.send_multipart([client.id.encode(), content], zmq.NOBLOCK)
        except zmq.ZMQError:
            continue  # it is gone, or will find out by itself that its master is
