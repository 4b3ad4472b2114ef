"""A bar in a terminal, there as long as something goes on; where there is none, one line in its place."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

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
