"""Progress in a terminal: bars over loads, simulations and searches; without a terminal, a line."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Protocol, Self, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.status import Status
from rich.text import Text

from keyheat.numbers import span, whole

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
NAMED = TextColumn("{task.fields[name]:<12}", markup=False)


class Bar:
    """Shows the columns from the beginning of a `with` block to its end; `line` where it cannot."""

    def __init__(self, console: Console, *columns: ProgressColumn, line: str | None = None) -> None:
        self._console, self._line = console, line
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)

    def __enter__(self) -> Self:
        if self._line is not None and not self._console.is_terminal:
            self._console.print(self._line)
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class Working(Bar):
    """A bar that moves for as long as one thing is done whose end nobody can foretell."""

    def __init__(self, what: str, console: Console) -> None:
        super().__init__(
            console, SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
        )
        self._bar.add_task(what, total=None)


SAID = (BarColumn(), TextColumn("{task.description}", markup=False))


Thing = TypeVar("Thing")
SAID_EVERY_S = 30.0  # where there is no terminal


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
    @property
    def left_s(self) -> float | None: ...
    @property
    def said(self) -> Sequence[str]: ...


class SecondsLeft(ProgressColumn):
    """How long something that is waited for will take at most, counted down on the given clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock

    def render(self, task: Task) -> Text:
        """The seconds until the task's `until_s`; nothing where it waits for nothing."""
        until_s = task.fields["until_s"]
        return Text("" if until_s is None else f"{max(0.0, until_s - self._clock()):.0f} s")


class LoadBar(Bar):
    """A progress bar over one load, with what was accepted and throttled in the last second.

    Where there is no terminal, one line for each phase. `place` is the run's number within a series, and how
    many there are: the series has a bar of its own then. A load beside others is a row of `beside`.
    """

    def __init__(
        self,
        name: str,
        duration_s: float,
        console: Console,
        clock: Callable[[], float] = time.time,
        place: tuple[int, int] | None = None,
        beside: "LoadBar | None" = None,
    ) -> None:
        super().__init__(console, NAMED, *SAID, SecondsLeft(clock))
        self._name, self._clock = name, clock
        if beside is not None:
            self._bar = beside._bar
        self._phase = "starting"
        if place is not None:
            self._add_series(*place)
        self._task = self._bar.add_task(PHASES["starting"], total=duration_s, name=name, until_s=None)

    def _add_series(self, number: int, of: int) -> None:
        """A bar above this one, over the runs of a series; without a terminal a line for each run."""
        said = f"run {number} of {of}"
        self._bar.add_task(said, total=of, completed=number - 1, name="", until_s=None)
        if not self._console.is_terminal:
            self._console.print(f"{self._name}: {said}")

    def show(self, now: LoadProgress) -> None:
        """Draw the state that the load reports."""
        if now.phase != self._phase:
            self._phase = now.phase
            self._enter(PHASES.get(now.phase, now.phase), now.left_s)
        for line in now.said:
            self._console.print(line)
        if now.phase != "loading":
            return
        said = f"{now.elapsed_s:3.0f} s  {whole(now.accepted_per_s):>6}/s accepted"
        said += f"  {whole(now.throttled_per_s):>6}/s throttled"
        if now.errors_per_s:
            said += f"  {whole(now.errors_per_s)}/s failed"
        self._bar.update(self._task, completed=now.elapsed_s, description=said)

    def _enter(self, words: str, left_s: float | None) -> None:
        """A new phase; one that waits for a minute to begin or to close counts down to it."""
        until_s = None if left_s is None else self._clock() + left_s
        self._bar.update(self._task, description=words, until_s=until_s)
        if not self._console.is_terminal and self._phase != "done":
            at_most = "" if left_s is None else f", about {left_s:.0f} s"
            self._console.print(f"{self._name}: {words}{at_most}")


class CleaningBar(Bar):
    """A bar over the items of a table that is cleaned; where there is no terminal, one line."""

    def __init__(self, table: str, items: int, console: Console) -> None:
        super().__init__(console, *SAID, line=f"cleaning table {table}")
        self._task = self._bar.add_task(f"cleaning table {table}", total=items)

    def show(self, done: int, deleted: int) -> None:
        """So many items were looked at, and so many are gone."""
        self._bar.update(self._task, completed=done, description=f"{whole(deleted)} items deleted")


class Countdown:
    """A line that counts down what is waited for; where there is no terminal, a line now and then."""

    def __init__(self, console: Console, first: str = "asking CloudWatch") -> None:
        self._console = console
        self._status = Status(Text(first), console=console)
        self._said: tuple[str, float] | None = None

    def show(self, what: str, left_s: float) -> None:
        """Say what is waited for and how many seconds are left at most."""
        if self._console.is_terminal:
            self._status.update(Text(f"{what}: {left_s:.0f} s"))
        elif self._said is None or what != self._said[0] or left_s <= self._said[1] - SAID_EVERY_S:
            self._console.print(f"{what}: at most {left_s:.0f} s")
            self._said = (what, left_s)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()


def counted(things: Iterable[Thing], total: int, what: str, console: Console) -> Iterator[Thing]:
    """The things one by one, with a bar over them; where there is no terminal, one line at the beginning."""
    if not console.is_terminal:
        console.print(f"{total:,} {what}")
    columns = (TextColumn(what, markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar:
        yield from bar.track(things, total=total)


class Simulating(Bar):
    """A bar over the seconds that are simulated; where there is no terminal, one line."""

    def __init__(self, name: str, duration_s: float, console: Console) -> None:
        super().__init__(console, NAMED, *SAID, line=f"{name}: simulating {span(duration_s)}")
        self._duration_s = duration_s
        self._task = self._bar.add_task("simulating", total=1.0, name=name)

    def show(self, done: float) -> None:
        """So much of the run is simulated, from 0 to 1."""
        said = f"{span(done * self._duration_s)} of {span(self._duration_s)}"
        self._bar.update(self._task, completed=done, description=said)

    def analyzing(self) -> None:
        """Everything is simulated; labels and report are made."""
        self._bar.update(self._task, completed=1.0, description=PHASES["analyzing"])


class Trying(Bar):
    """A bar over each number that is tried; where there is no terminal, one line in all."""

    def __init__(self, what: str, console: Console) -> None:
        super().__init__(console, *reversed(SAID), line=f"{what}: simulating")
        self._what = what
        self._tried = 0
        self._task = self._bar.add_task(what, total=1.0)

    def trying(self, value: float) -> None:
        """Another number is tried."""
        self._tried += 1
        said = f"{self._what}, trying {whole(value)} (number {self._tried})"
        self._bar.update(self._task, completed=0.0, description=said)

    def simulated(self, part: float) -> None:
        """So much of its simulation is done, from 0 to 1."""
        self._bar.update(self._task, completed=part)
