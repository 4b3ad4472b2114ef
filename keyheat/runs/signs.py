"""The signs of life of a run that is going on: how far it is, in a file of its directory."""

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from platform import node
from time import monotonic, time

import psutil

from keyheat.runs.folder import SHOWN_S, Underway, forget_underway, write_underway

PHASES = {
    "starting": "starting",
    "preparing": "preparing the table",
    "aligning": "waiting for the next minute to begin",
    "loading": "loading",
    "simulating": "simulating",
    "collecting": "asking CloudWatch what it counted",
    "analyzing": "labelling throttles, writing the report",
    "reporting": "writing the report",
    "cleaning": "deleting the items of the run",
    "deleting": "deleting what the run made",
    "done": "done",
}
"""What a run does in each of its phases, in words."""


@dataclass(slots=True)
class Signs:
    """Of one run. A folder that cannot be written is said once, and the run goes on."""

    folder: Path
    duration_s: float | None
    say: Callable[[str], None]
    phase: str = "preparing"
    least_s: float = 0.0  # between two seconds that are said: a simulation has thousands in one of ours
    clock: Callable[[], float] = monotonic
    _silent: bool = False
    _said_s: float = -inf
    _elapsed_s: float = 0.0
    _totals: list[int] = field(default_factory=lambda: [0, 0, 0])
    _seconds: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=SHOWN_S))
    _born_s: float = field(default_factory=lambda: psutil.Process().create_time())

    def enter(self, phase: str) -> None:
        """A new phase of the run has begun."""
        self.phase = phase
        self._write()

    def second(self, elapsed_s: float, accepted: int, throttled: int, errors: int) -> None:
        """One second of load is over: what became of its requests."""
        self._elapsed_s = elapsed_s
        self._seconds.append((accepted, throttled, errors))
        for place, number in enumerate((accepted, throttled, errors)):
            self._totals[place] += number
        if self.clock() - self._said_s >= self.least_s:
            self._write()

    def end(self) -> None:
        """There is nothing more to say: the run has ended."""
        try:
            forget_underway(self.folder)
        except OSError as error:
            self._cannot(error)

    def _write(self) -> None:
        if self._silent:
            return
        self._said_s = self.clock()
        accepted, throttled, errors = self._totals
        try:
            write_underway(
                self.folder,
                Underway(
                    at_s=time(), phase=self.phase, elapsed_s=self._elapsed_s, duration_s=self.duration_s,
                    accepted=accepted, throttled=throttled, errors=errors, seconds=tuple(self._seconds),
                    host=node(), pid=os.getpid(), born_s=self._born_s,
                ),
            )  # fmt: skip
        except OSError as error:
            self._cannot(error)

    def _cannot(self, error: OSError) -> None:
        self._silent = True
        self.say(f"cannot say in {self.folder} how far the run is: {error.strerror or error}")
