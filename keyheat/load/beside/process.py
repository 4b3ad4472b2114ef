"""A process beside the load, from the side of the run that starts it.

Only files and one pipe are used and no thread, so that it also works where Locust has replaced sockets and
waiting by gevent's.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Self

from keyheat.load.beside.helper import Assignment, Outcome, end_line
from keyheat.shipped import ROOT

POLL_S = 0.05
FINISH_WITHIN_S = 600.0


@dataclass(slots=True)
class BesideProcess:
    """A running process beside the load. It ends with `finish`, with `kill`, or with who started it."""

    module: tuple[str, ...]
    _child: subprocess.Popen[bytes]
    _stdout: IO[bytes]
    _stderr: IO[bytes]

    @classmethod
    def start(cls, module: tuple[str, ...], assignment: Assignment) -> Self:
        """Start `python -m MODULE ARGUMENTS...` for a run."""
        stdout, stderr = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 (`kill` closes them)
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        child = subprocess.Popen(
            [sys.executable, "-m", *module],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C is ours: what was read is still to be counted
        )
        started = cls(module, child, stdout, stderr)
        started._tell(assignment.to_line())
        return started

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._child.pid

    def finish(
        self,
        counted: Mapping[str, float],
        *,
        given_up: Callable[[], bool] = lambda: False,
        within_s: float = FINISH_WITHIN_S,
    ) -> Outcome:
        """Say that the load is over and wait for what came of the work; where nothing does, say why."""
        ends_s = time.monotonic() + within_s
        self._tell(end_line(counted))
        try:
            while self._child.poll() is None:
                if given_up() or time.monotonic() > ends_s:
                    return self._failed("was stopped before it had finished")
                time.sleep(POLL_S)
            if self._child.returncode != 0:
                return self._failed(f"ended with exit code {self._child.returncode}")
            return self._outcome()
        finally:
            self.kill()

    def kill(self) -> None:
        """End it whatever it is doing. Safe to call again."""
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        for stream in (self._child.stdin, self._stdout, self._stderr):
            if stream is not None and not stream.closed:
                stream.close()

    def _tell(self, line: bytes) -> None:
        """Write a line to it; one that has ended already is found out by its exit code."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(line)
            self._child.stdin.flush()
        except BrokenPipeError:
            return

    def _outcome(self) -> Outcome:
        self._stdout.seek(0)
        try:
            return Outcome.from_line(self._stdout.read())
        except (ValueError, TypeError):
            return self._failed("did not say what came of its work")

    def _failed(self, how: str) -> Outcome:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        why = f": {lines[-1]}" if lines else ""
        return Outcome(problems=[f"the process {' '.join(self.module)} {how}{why}"])
