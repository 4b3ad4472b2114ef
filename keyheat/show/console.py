"""Where verbs print and ask: answers on stdout, everything else on stderr, paths as a person would type them.

Much of what is printed was written by others: names, reasons, errors. So no text is markup, and none reaches
a terminal with signs that it obeys; what is bold or has a colour is a `Text` of ours.

Nothing is coloured, and no bar moves, where there is no terminal or NO_COLOR is set (rich sees to it).
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

import click
import orjson
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.text import Text

from keyheat.masking import plain, plain_json, short_path
from keyheat.numbers import span, whole
from keyheat.runs.progress import LaunchProgress
from keyheat.show.answer import plain_value


class PlainConsole(Console):
    """A console whose only escape sequences are its own: those of styles and of bars that move."""

    def __init__(self, **how: Any) -> None:
        super().__init__(highlight=False, soft_wrap=True, markup=False, emoji=False, **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of what is printed, each with plain text; `control` is the console's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))


out = PlainConsole()
err = PlainConsole(stderr=True)
"""Problems, and actions that were not requested."""
bars = PlainConsole(stderr=True)
"""Progress."""


_mode = {"quiet": False, "as_json": False}
"""The output mode of the running verb."""


def set_mode(**mode: bool) -> None:
    """Change the mode: `quiet` prints problems only; with `as_json`, stdout has nothing but JSON."""
    _mode.update(mode)
    out.quiet, bars.quiet = any(_mode.values()), _mode["quiet"]


def in_words() -> bool:
    """Whether answers are for a person."""
    return not _mode["as_json"]


def print_json(content: object) -> None:
    """Print a value as JSON for another program; it may hold dataclasses, models and paths."""
    body = orjson.dumps(content, option=orjson.OPT_INDENT_2, default=plain_value)
    print(plain_json(body, sys.stdout.encoding or "utf-8"), flush=True)


def print_lines(lines: Iterable[str], *, to_stderr: bool) -> None:
    """Print lines for another program, which reads them as they are."""
    print(plain("\n".join(lines)), file=sys.stderr if to_stderr else sys.stdout, flush=True)


def confirmed(question: str) -> bool:
    """Whether the person at the terminal says yes."""
    return click.confirm(plain(question), err=True)


def strong(before: str, path: Path) -> Text:
    """Text followed by a path in bold."""
    return Text.assemble(before, (short_path(path), "bold"))


PHASES = {
    "starting": "starting",
    "preparing": "preparing the table",
    "aligning": "waiting for the next minute to begin",
    "loading": "loading",
    "simulating": "simulating",
    "collecting": "asking CloudWatch what it counted",
    "analyzing": "labelling throttles, writing the report",
    "cleaning": "deleting the items of the run",
    "deleting": "deleting what the run made",
    "done": "done",
}
"""What a run does in each of its phases, in words."""
NAMED = TextColumn("{task.fields[name]:<12}", markup=False)
WORDS = TextColumn("{task.description}", markup=False)
SPINNER = (SpinnerColumn(), WORDS)
SAID_EVERY_S = 30.0  # where there is no terminal
Thing = TypeVar("Thing")


class Bar:
    """Shows a task from the beginning of a `with` block to its end; without a terminal, its `line`.

    A bar `beside` another one is a row of that.
    """

    def __init__(
        self, console: Console, what: str, *columns: ProgressColumn, total: float | None = 1.0,
        line: str | None = None, beside: "Bar | None" = None, **fields: Any,
    ) -> None:  # fmt: skip
        self._console, self._line = console, line
        columns = columns or (BarColumn(), WORDS)
        alone = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._bar: Progress = alone if beside is None else beside._bar
        self._task = self._bar.add_task(what, total=total, **fields)

    def __enter__(self) -> Self:
        if self._line is not None and not self._console.is_terminal:
            self._console.print(self._line)
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()

    def show(self, completed: float | None, words: str) -> None:
        """Draw how much is done of the total, None: as much as before."""
        self._bar.update(self._task, completed=completed, description=words)


def working(what: str, console: Console) -> Bar:
    """Show a moving bar during a step of unknown length."""
    return Bar(console, what, *SPINNER, TimeElapsedColumn(), total=None)


def counted(things: Iterable[Thing], total: int, what: str, console: Console) -> Iterator[Thing]:
    """Iterate with a progress bar; without a terminal, print one line first."""
    columns = (WORDS, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(console, what, *columns, total=total, line=f"{total:,} {what}") as bar:
        for number, thing in enumerate(things, start=1):
            yield thing
            bar.show(number, what)


class Simulating(Bar):
    """A bar over the seconds that are simulated."""

    def __init__(self, name: str, duration_s: float, console: Console) -> None:
        line = f"{name}: simulating {span(duration_s)}"
        super().__init__(console, "simulating", NAMED, BarColumn(), WORDS, line=line, name=name)
        self._duration_s = duration_s

    def simulated(self, part: float) -> None:
        """Draw how much of the run is simulated, from 0 to 1."""
        self.show(part, f"{span(part * self._duration_s)} of {span(self._duration_s)}")


class Trying(Bar):
    """A bar over each number that a search tries."""

    def __init__(self, what: str, console: Console) -> None:
        super().__init__(console, what, WORDS, BarColumn(), line=f"{what}: simulating")
        self._what, self._words, self._tried = what, what, 0

    def trying(self, value: float) -> None:
        """Begin with another number."""
        self._tried += 1
        self._words = f"{self._what}, trying {whole(value)} (number {self._tried})"
        self.simulated(0.0)

    def simulated(self, part: float) -> None:
        """Draw how much of its simulation is done, from 0 to 1."""
        self.show(part, self._words)


class Countdown(Bar):
    """A countdown line; without a terminal, a line now and then."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, "asking CloudWatch", *SPINNER, total=None)
        self._last: tuple[str, float] | None = None

    def count(self, what: str, left_s: float) -> None:
        """Draw what is waited for, and how many seconds are left at most."""
        if self._console.is_terminal:
            self.show(0, f"{what}: {left_s:.0f} s")
        elif self._last is None or what != self._last[0] or left_s <= self._last[1] - SAID_EVERY_S:
            self._console.print(f"{what}: at most {left_s:.0f} s")
            self._last = (what, left_s)


class LoadBar(Bar):
    """A progress bar over one load, with what was accepted and throttled in the last second.

    Where there is no terminal, one line for each phase. `place` is the run's number within a series, and how
    many there are. A load beside others is a row of `beside`.
    """

    def __init__(
        self, name: str, duration_s: float, console: Console,
        place: tuple[int, int] | None = None, beside: "LoadBar | None" = None,
    ) -> None:  # fmt: skip
        number = f"run {place[0]} of {place[1]}" if place is not None else ""
        super().__init__(
            console, PHASES["starting"], NAMED, TextColumn("{task.fields[number]}"), BarColumn(), WORDS,
            total=duration_s, line=f"{name}: {number}" if number else None,
            beside=beside, name=name, number=number,
        )  # fmt: skip
        self._name, self._phase = name, "starting"

    def load(self, now: LaunchProgress) -> None:
        """Draw the state that the load reports, and what it waits for."""
        words = PHASES.get(now.phase, now.phase)
        words += "" if now.left_s is None else f", about {now.left_s:.0f} s"
        if now.phase not in (self._phase, "done") and not self._console.is_terminal:
            self._console.print(f"{self._name}: {words}")
        self._phase = now.phase
        for line in now.lines:
            self._console.print(line)
        if now.phase == "loading":
            words = f"{now.elapsed_s:3.0f} s  {whole(now.accepted_per_s):>6}/s accepted"
            words += f"  {whole(now.throttled_per_s):>6}/s throttled"
            words += f"  {whole(now.errors_per_s)}/s failed" if now.errors_per_s else ""
        self.show(now.elapsed_s if now.phase == "loading" else None, words)
