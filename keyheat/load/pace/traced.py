"""A trace as an arrival schedule: each row is due at its time, and is sent by the user whose turn that is."""

from collections.abc import Callable, Iterator
from time import time

from keyheat.load.pace.arrivals import Arrivals, OpenPace
from keyheat.load.pace.schedule import DROPPED_AFTER_S
from keyheat.scenario.trace import TraceRow


class TraceSchedule:
    """The rows of one process: every `parts`-th row of the trace, sent `speed` times as fast as it was.

    The trace starts when the first user is there. A row that could not start for a second is dropped.
    """

    def __init__(self, rows: Iterator[TraceRow], *, speed: float, part: int = 0, parts: int = 1) -> None:
        self._rows = (row for number, row in enumerate(rows) if number % parts == part)
        self._speed, self._offset_s = speed, 0.0
        self._has_share = part < parts
        self._next: TraceRow | None = next(self._rows, None) if self._has_share else None
        self.taken: TraceRow | None = None  # by the arrival that began last
        self._handled = 0  # since somebody asked

    @property
    def has_share(self) -> bool:
        """Whether a part of the trace is this process's."""
        return self._has_share

    def begin(self, at_s: float) -> None:
        """The load begins."""
        self._offset_s = at_s

    @property
    def due_s(self) -> float:
        """When the next row is due, from the start of the load; infinity after the last one."""
        return float("inf") if self._next is None else self._offset_s + self._next.at_s / self._speed

    def drop(self, now_s: float) -> int:
        """Skip the rows that have been due for too long; how many they are."""
        dropped = 0
        while self.due_s < now_s - DROPPED_AFTER_S:
            dropped += 1
            self._advance()
        return dropped

    def take(self) -> float:
        """Start the row that is due: one request."""
        self.taken = self._next
        self._advance()
        return 1.0

    def settle(self, difference: float) -> None:
        """Rows are due at their times, whatever they cost."""

    def learn(self, cost: float) -> None:
        """A trace has nothing to learn."""

    def asked(self, from_s: float, to_s: float) -> float:
        """How many rows have come up since this was asked last."""
        handled, self._handled = self._handled, 0
        return float(handled)

    def _advance(self) -> None:
        self._handled += 1
        self._next = next(self._rows, None)


class TracePace(OpenPace):
    """One user's part in a trace: the row that its present task is to send."""

    def __init__(
        self, arrivals: Arrivals, schedule: TraceSchedule, *, clock: Callable[[], float] = time
    ) -> None:
        super().__init__(arrivals, clock=clock)
        self._rows = schedule
        self.row: TraceRow | None = None

    def wait(self) -> float:
        """Finish one row, and wait for the next."""
        wait_s = super().wait()
        self.row = self._rows.taken  # nobody else has run since it was taken
        return wait_s
