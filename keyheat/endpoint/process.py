"""The endpoint as a child process: started, waited for, and not left behind.

Only `subprocess` and `select` are used, and no thread, so that it also works where Locust has replaced
sockets and waiting by gevent's.
"""

import os
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from keyheat.shipped import ROOT

READY_WITHIN_S = 30.0
STOP_WITHIN_S = 6.0


class EndpointError(RuntimeError):
    """The endpoint did not start; the message says why, with what it wrote on stderr."""


@dataclass(slots=True)
class EndpointProcess:
    """A running endpoint. It ends with `stop`, with the `with` block, or with the process that started it."""

    url: str
    _child: subprocess.Popen[bytes]
    _stderr: IO[bytes]
    _owner: int

    @classmethod
    def start(
        cls,
        *,
        scale: float = 1.0,
        seed: int = 1,
        port: int = 0,
        host: str = "127.0.0.1",
        more: tuple[str, ...] = (),
        root: Path = ROOT,
    ) -> Self:
        """Start an endpoint and wait until it answers; `more` is further command-line flags.

        `root`: the folder whose `keyheat` it is, that of ours unless said otherwise.
        Raises `EndpointError` where it ends or is not ready in time.
        """
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 (`stop` closes it)
        numbers = ["--host", host, "--port", str(port), "--scale", repr(scale), "--seed", str(seed)]
        paths = (str(root), os.environ.get("PYTHONPATH"))
        try:
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", "keyheat.endpoint", *numbers, "--exit-with-stdin", *more],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                # One `keyheat` is first on its import path, wherever we were started from.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
                start_new_session=True,  # Ctrl-C is ours: the metrics of the run are still to be collected
            )
        except OSError:
            stderr.close()
            raise
        started = cls("", child, stderr, os.getpid())
        try:
            started.url = started._ready_url()
        except BaseException:
            started.stop(show_stderr=False)
            raise
        return started

    @property
    def pid(self) -> int:
        return self._child.pid

    def stop(self, *, show_stderr: bool = True) -> int | None:
        """End the endpoint, kindly and then by force; gives its exit code. Safe to call again.

        In a fork of the process that started it, it does nothing. What the endpoint complained about on its
        stderr is passed on to ours.
        """
        if os.getpid() != self._owner:
            return None
        if not self._stderr.closed:
            self._child.terminate()
            try:
                self._child.wait(STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
            for pipe in (self._child.stdin, self._child.stdout):
                if pipe is not None:
                    pipe.close()
            if show_stderr:
                sys.stderr.write(self.complaints())
            self._stderr.close()
        return self._child.returncode

    def complaints(self) -> str:
        """What the endpoint has written on its stderr so far."""
        size = os.fstat(self._stderr.fileno()).st_size
        if sys.platform != "win32":  # whose child writes where we read to: it is put back
            return os.pread(self._stderr.fileno(), size, 0).decode(errors="replace")
        self._stderr.seek(0)
        return self._stderr.read(size).decode(errors="replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _ready_url(self) -> str:
        line = self._first_line(time.monotonic() + READY_WITHIN_S)
        if line is not None and line.startswith("ready "):
            return line.removeprefix("ready ").strip()
        ended = f"was not ready within {READY_WITHIN_S:g} s"
        if line is not None:
            ended = f"ended with exit code {self._child.wait(STOP_WITHIN_S)}"
        text = self.complaints().strip()
        raise EndpointError(f"the endpoint {ended}{text and ': '}{text}")

    def _first_line(self, ends_s: float) -> str | None:
        """The first line on the child's stdout; empty where it ended without one; None: not in time."""
        assert self._child.stdout is not None
        if sys.platform == "win32":  # waits for sockets alone, not for pipes
            return self._child.stdout.readline().decode()
        descriptor = self._child.stdout.fileno()
        line = b""
        while not line.endswith(b"\n"):
            left_s = ends_s - time.monotonic()
            if left_s <= 0 or not select.select([descriptor], [], [], left_s)[0]:
                return None
            byte = os.read(descriptor, 1)
            if not byte:
                return ""
            line += byte
        return line.decode()
