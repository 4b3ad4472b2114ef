"""Progress of a simulation in a terminal: a bar over its virtual time."""

from rich.console import Console

from keyheat.numbers import span
from keyheat.terminal.bar import NAMED, SAID, Bar


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
        self._bar.update(self._task, completed=1.0, description="labelling throttles, writing the report")
