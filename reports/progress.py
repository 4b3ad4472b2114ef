"""Progress in a terminal: a bar while a load runs, a countdown while something is waited for."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.status import Status
from rich.text import Text

from analyzers.numbers import whole
from tablemodel.limits import MINUTE_S

PHASES = {
    "starting": "starting",
    "preparing": "making the table",
    "loading": "loading",
    "collecting": "waiting for CloudWatch to publish the minute",
    "analyzing": "labelling throttles",
    "reporting": "writing the report",
    "done": "done",
}


class LoadProgress(Protocol):
    """What a running load says of itself."""

    @property
    def phase(self) -> str: ...
    @property
    def elapsed_s(self) -> float: ...
    @property
    def accepted_per_s(self) -> float: ...
    @property
    def throttled_per_s(self) -> float: ...
    @property
    def errors_per_s(self) -> float: ...


class SecondsLeft(ProgressColumn):
    """How long something that is waited for will take at most, counted down on the given clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock

    def render(self, task: Task) -> Text:
        """The seconds until the task's `until_s`; nothing where it waits for nothing."""
        until_s = task.fields["until_s"]
        return Text("" if until_s is None else f"{max(0.0, until_s - self._clock()):.0f} s")


class LoadBar:
    """A progress bar over one load, with what was accepted and throttled in the last second.

    Where there is no terminal, one line for each phase. `place` is the run's number within a series, and how
    many there are: the series has a bar of its own then.
    """

    def __init__(
        self,
        name: str,
        duration_s: float,
        console: Console,
        clock: Callable[[], float] = time.time,
        place: tuple[int, int] | None = None,
    ) -> None:
        self._name, self._console, self._clock = name, console, clock
        self._phase = "starting"
        self._bar = Progress(
            TextColumn("{task.fields[name]:<12}"), BarColumn(), TextColumn("{task.description}"),
            SecondsLeft(clock), console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        if place is not None:
            self._add_series(*place)
        self._task = self._bar.add_task(PHASES["starting"], total=duration_s, name=name, until_s=None)

    def _add_series(self, number: int, of: int) -> None:
        """A bar above this one, over the runs of a series; without a terminal a line for each run."""
        said = f"run {number} of {of}"
        self._bar.add_task(said, total=of, completed=number - 1, name="", until_s=None)
        if not self._console.is_terminal:
            self._console.print(f"{self._name}: {said}", markup=False)

    def show(self, now: LoadProgress) -> None:
        """Draw the state that the load reports."""
        if now.phase != self._phase:
            self._phase = now.phase
            self._enter(PHASES.get(now.phase, now.phase))
        if now.phase != "loading":
            return
        said = f"{now.elapsed_s:3.0f} s  {whole(now.accepted_per_s):>6}/s accepted"
        said += f"  {whole(now.throttled_per_s):>6}/s throttled"
        if now.errors_per_s:
            said += f"  {whole(now.errors_per_s)}/s failed"
        self._bar.update(self._task, completed=now.elapsed_s, description=said)

    def _enter(self, words: str) -> None:
        """A new phase; the one that waits for a minute to close counts down to its end."""
        left_s = MINUTE_S - self._clock() % MINUTE_S if self._phase == "collecting" else None
        until_s = None if left_s is None else self._clock() + left_s
        self._bar.update(self._task, description=words, until_s=until_s)
        if not self._console.is_terminal and self._phase != "done":
            at_most = "" if left_s is None else f", about {left_s:.0f} s"
            self._console.print(f"{self._name}: {words}{at_most}", markup=False)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class Countdown:
    """A line that counts down what is waited for; where there is no terminal, one line for each wait."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = Status("asking CloudWatch", console=console)
        self._said: str | None = None

    def show(self, what: str, left_s: float) -> None:
        """Say what is waited for and how many seconds are left at most."""
        if self._console.is_terminal:
            self._status.update(f"{what}: {left_s:.0f} s")
        elif what != self._said:
            self._console.print(f"{what}: at most {left_s:.0f} s", markup=False)
        self._said = what

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()
