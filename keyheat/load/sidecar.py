"""A sidecar: a process beside a load, such as the consumer of a stream, from its own side and from the run's.

    standard input    one line of JSON that says what the run is; at the end of the load one more, with what
                      the users counted. Where it ends before we do, whoever started us is gone: we go too.
    standard output   one line of JSON at the very end, a `SidecarOutcome`.

This module does not import locust, which would replace the sockets of the process. The run that starts it
uses only files, one pipe and no thread, so that it also works where Locust has replaced sockets and waiting
by gevent's.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from io import RawIOBase
from threading import Event, Thread
from typing import IO, Any, Protocol, Self

from keyheat.load.record.record import Record
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.shipped import ROOT

LEFT_ALONE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The run that a process is beside."""

    run_id: str
    url: str
    region: str
    scenario: Scenario

    def to_line(self) -> bytes:
        """One line of JSON."""
        fields = {"run_id": self.run_id, "url": self.url, "region": self.region}
        return _line({**fields, "scenario": self.scenario.model_dump(mode="json")})

    @classmethod
    def from_line(cls, line: bytes) -> "Assignment":
        """What `to_line` made."""
        told = json.loads(line)
        scenario = scenario_from_dict(told.pop("scenario"), "the run's scenario")
        return cls(**told, scenario=scenario)


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarOutcome:
    """What a process beside the load counted, what it has to say, and why the run is worth nothing, if so."""

    counted: dict[str, float] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def to_line(self) -> bytes:
        """One line of JSON."""
        return _line(asdict(self))

    @classmethod
    def from_line(cls, line: bytes) -> "SidecarOutcome":
        """What `to_line` made. Raises ValueError or TypeError for anything else."""
        return cls(**json.loads(line))


class Sidecar(Protocol):
    """What is done beside a load."""

    def work(self, stop: Event) -> None:
        """Work while the load goes on; return soon after `stop` is set."""

    def finish(self, counted: Mapping[str, float]) -> SidecarOutcome:
        """The load is over, and its users counted so much: finish what is left."""


def serve(make: Callable[[Assignment], Sidecar]) -> int:
    """Be the process beside a load; gives the exit code."""
    stdin = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 (a buffer could not be left in mid-read)
    sidecar = make(Assignment.from_line(stdin.readline()))
    over, told = Event(), list[bytes]()
    Thread(target=_listen, args=(stdin, over, told), daemon=True).start()
    sidecar.work(over)
    over.wait()
    outcome = sidecar.finish(json.loads(told[0])["counted"])
    sys.stdout.buffer.write(outcome.to_line())
    sys.stdout.buffer.flush()
    return 0


def end_line(counted: Mapping[str, float]) -> bytes:
    """The line that says that the load is over."""
    return _line({"counted": dict(counted)})


def _listen(stdin: RawIOBase, over: Event, told: list[bytes]) -> None:
    """Wait for the end of the load; end with whoever started us, whatever we are doing."""
    line = stdin.readline()
    if line.endswith(b"\n"):
        told.append(line)
        over.set()
        stdin.readline()
    os._exit(LEFT_ALONE)


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


POLL_S = 0.05
FINISH_WITHIN_S = 600.0


@dataclass(slots=True)
class SidecarProcess:
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
    ) -> SidecarOutcome:
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

    def _outcome(self) -> SidecarOutcome:
        self._stdout.seek(0)
        try:
            return SidecarOutcome.from_line(self._stdout.read())
        except (ValueError, TypeError):
            return self._failed("did not say what came of its work")

    def _failed(self, how: str) -> SidecarOutcome:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        why = f": {lines[-1]}" if lines else ""
        return SidecarOutcome(problems=[f"the process {' '.join(self.module)} {how}{why}"])


@dataclass(slots=True)
class Sidecars:
    """The processes beside the load of one run. None of them outlives `kill`."""

    processes: list[SidecarProcess] = field(default_factory=list)

    def start(self, user_classes: Iterable[Any], assignment: Assignment) -> None:
        """Start what the users want beside them."""
        wanted = (getattr(user, "beside", ()) for user in user_classes)
        for module in dict.fromkeys(module for module in wanted if module):
            self.processes.append(SidecarProcess.start(module, assignment))

    def finish(self, record: Record, *, given_up: Callable[[], bool], within_s: float) -> list[str]:
        """Let them finish, put what they counted in the record, and give what they have to say."""
        said = []
        counted = dict(record.counted)
        for process in self.processes:
            outcome = process.finish(counted, given_up=given_up, within_s=within_s)
            for name, number in outcome.counted.items():
                record.count(name, number)
            record.health.problems += outcome.problems
            said += outcome.said
        return said

    def kill(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.kill()
