"""The clock of a run: the wall clock as it was when the run began, moved on by the monotonic one alone.

A wall clock may be set while a load is under way: by a person, by a service that finds it wrong, by a
machine that wakes up. Rates, durations and seconds of a run do not follow it; that it jumped is said.
"""

from collections.abc import Callable
from time import monotonic, time
from typing import Final

NOTABLE_S: Final = 1.0
"""Less is what two readings, or a clock that is slewed, differ by."""


class SteadyClock:
    """Epoch seconds that nobody sets. Signatures need the wall clock's, and take it."""

    def __init__(self, wall: Callable[[], float] = time, monotonic: Callable[[], float] = monotonic) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._apart_s = wall() - monotonic()

    def __call__(self) -> float:
        return self._apart_s + self._monotonic()

    @property
    def jump_s(self) -> float:
        """By how much the wall clock is now ahead of where it would be; 0.0 where that is nothing."""
        ahead_s = self._wall() - self()
        return ahead_s if abs(ahead_s) >= NOTABLE_S else 0.0


def jump_words(jump_s: float) -> str:
    """What a person should know of a wall clock that was set while a load was under way."""
    way = "forward" if jump_s > 0 else "back"
    return (
        f"the wall clock jumped {way} by {abs(jump_s):,.0f} s during the load: the run's rates and times are "
        "those of the clock as it was before, and may not fit what others measured"
    )
