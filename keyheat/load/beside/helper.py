"""A process beside a load, from its own side: it is told what the run is, works, and says what came of it.

    standard input    one line of JSON that says what the run is; at the end of the load one more, with what
                      the users counted. Where it ends before we do, whoever started us is gone: we go too.
    standard output   one line of JSON at the very end, an `Outcome`.

This module does not import locust, which would replace the sockets of the process.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from io import RawIOBase
from threading import Event, Thread
from typing import Any, Protocol

from keyheat.scenario.scenario import Scenario, scenario_from_dict

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
class Outcome:
    """What a process beside the load counted, what it has to say, and why the run is worth nothing, if so."""

    counted: dict[str, float] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def to_line(self) -> bytes:
        """One line of JSON."""
        return _line(asdict(self))

    @classmethod
    def from_line(cls, line: bytes) -> "Outcome":
        """What `to_line` made. Raises ValueError or TypeError for anything else."""
        return cls(**json.loads(line))


class Helper(Protocol):
    """What is done beside a load."""

    def work(self, stop: Event) -> None:
        """Work while the load goes on; return soon after `stop` is set."""

    def finish(self, counted: Mapping[str, float]) -> Outcome:
        """The load is over, and its users counted so much: finish what is left."""


def serve(make: Callable[[Assignment], Helper]) -> int:
    """Be the process beside a load; gives the exit code."""
    stdin = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 (a buffer could not be left in mid-read)
    helper = make(Assignment.from_line(stdin.readline()))
    over, told = Event(), list[bytes]()
    Thread(target=_listen, args=(stdin, over, told), daemon=True).start()
    helper.work(over)
    over.wait()
    outcome = helper.finish(json.loads(told[0])["counted"])
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
