"""Progress of a search in a terminal: which number is being tried, and how far its simulation is."""

from rich.console import Console

from keyheat.numbers import whole
from keyheat.terminal.bar import SAID, Bar


class Trying(Bar):
    """A bar over each number that is tried; where there is no terminal, one line in all."""

    def __init__(self, what: str, console: Console) -> None:
        super().__init__(console, *reversed(SAID), line=f"{what}: simulating")
        self._what = what
        self._tried = 0
        self._task = self._bar.add_task(what, total=1.0)

    def trying(self, value: int) -> None:
        """Another number is tried."""
        self._tried += 1
        said = f"{self._what}, trying {whole(value)} (number {self._tried})"
        self._bar.update(self._task, completed=0.0, description=said)

    def simulated(self, part: float) -> None:
        """So much of its simulation is done, from 0 to 1."""
        self._bar.update(self._task, completed=part)
